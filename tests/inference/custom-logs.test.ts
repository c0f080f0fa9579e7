import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import {
  adminKey,
  createTestGateway,
  listLogs,
  type ShownLog,
  type TestGateway,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
});
after(() => gateway.close());

interface Receipt {
  status: string;
  log_ids: string[];
}

const completion = {
  object: "chat.completion",
  model: "gpt-4o-mini-2024-07-18",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 },
};
const asked = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hello" }] };
const plain = {
  request: {
    url: "https://api.openai.com/v1/chat/completions",
    provider: "openai",
    method: "post",
    headers: { "x-note": "n" },
    body: asked,
  },
  response: { status: 200, headers: { "x-answer": "a" }, body: completion, response_time: 1_234 },
};

const post = (body: unknown, headers: Record<string, string> = {}) =>
  call<Receipt>(gateway, "POST /logs", { key: workspaceKey, body, headers });
const detail = (id: string) =>
  done<ShownLog & { metrics: Record<string, unknown> }>(call(gateway, `GET /logs/${id}`, { key: workspaceKey }));

/** Writes entries and returns their rows with contents. */
async function rowsOf(body: unknown, headers: Record<string, string> = {}) {
  const { status, log_ids } = await done(post(body, headers));
  assert.equal(status, "success");
  const [first = ""] = log_ids;
  const traces = new Set<string>();
  for (const id of log_ids) {
    const until = performance.now() + 60_000;
    while ((await call(gateway, `GET /logs/${id}`, { key: workspaceKey })).status !== 200) {
      assert.ok(performance.now() < until, `no row ${id}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    traces.add(id);
  }
  assert.equal(traces.size, log_ids.length, first);
  return Promise.all(log_ids.map(detail));
}

test("a reported request gets a row with its tokens, its price and its contents", async () => {
  const metadata = { traceId: "t-1", spanId: "s-1", spanName: "step", parentSpanId: "p-1", team: "harbour", tries: 2 };
  const [row] = await rowsOf({ ...plain, metadata });
  assert.ok(row);
  const {
    trace_id,
    span_id,
    span_name,
    parent_span_id,
    provider,
    model,
    status,
    duration_ms,
    metadata: pairs,
  } = Object(row);
  assert.deepEqual([trace_id, span_id, span_name, parent_span_id], ["t-1", "s-1", "step", "p-1"]);
  assert.deepEqual([provider, model, status, duration_ms], ["openai", "gpt-4o-mini", 200, 1_234]);
  assert.deepEqual([pairs.team, pairs.tries], ["harbour", "2"]);
  assert.deepEqual(row.request.body, asked);
  assert.deepEqual(row.response.body, completion);
  assert.deepEqual([row.request.headers["x-note"], row.response.headers["x-answer"]], ["n", "a"]);
  assert.deepEqual(
    [row.metrics.source, row.metrics.request_method, row.metrics.request_url],
    ["custom", "POST", "/v1/chat/completions"],
  );
  // 1,000 input tokens at 0.15 and 500 output tokens at 0.60 dollars per million
  assert.equal(row.cost, 0.045);
  assert.deepEqual([row.usage?.input_tokens, row.usage?.output_tokens], [1_000, 500]);
});

test("strings are read as JSON, and a text of events as the response they add up to", async () => {
  const chunk = {
    object: "chat.completion.chunk",
    id: "c",
    model: "m",
    choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }],
  };
  const usage = {
    object: "chat.completion.chunk",
    id: "c",
    model: "m",
    choices: [],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  };
  const events = `data: ${JSON.stringify(chunk)}\n\ndata: ${JSON.stringify(usage)}\n\ndata: [DONE]\n\n`;
  const packed = {
    request: JSON.stringify({ ...plain.request, body: JSON.stringify(asked) }),
    response: { ...plain.response, body: events, streamingMode: true },
  };
  const [row] = await rowsOf(packed);
  assert.deepEqual(row?.request.body, asked);
  assert.deepEqual([row?.stream, row?.usage?.total_tokens], [true, 4]);
  assert.equal(Reflect.get(Object(row?.response.body), "object"), "chat.completion");
});

test("entries without ids share the trace of the header, or start one each", async () => {
  const shared = await rowsOf([plain, plain], { "x-gateway-trace-id": "shared" });
  assert.deepEqual(
    shared.map((row) => row.trace_id),
    ["shared", "shared"],
  );
  const single = await rowsOf([plain, plain]);
  assert.deepEqual(
    single.map((row) => row.trace_id),
    single.map((row) => row.id),
  );
});

test("a failed request costs nothing, and its status defaults to 200", async () => {
  const [failed, unstated] = await rowsOf([
    { ...plain, response: { ...plain.response, status: 500 } },
    { ...plain, response: { body: "text" } },
  ]);
  assert.deepEqual([failed?.status, failed?.cost], [500, 0]);
  assert.deepEqual([unstated?.status, unstated?.response.body], [200, "text"]);
});

test("credentials in the address, the headers and the bodies are not stored", async () => {
  const key = "custom-credential-0123456789";
  const [row] = await rowsOf({
    request: {
      ...plain.request,
      url: `https://user:${key}@api.example.test/v1/x?key=${key}#${key}`,
      headers: { authorization: `Bearer ${key}`, "x-api-key": key },
      body: { api_key: key, note: `say ${key}` },
    },
    response: { ...plain.response, headers: { "set-cookie": key }, body: { clientSecret: key } },
  });
  const database = await gateway.openFile();
  const { rows } = await database.read({
    sql: "SELECT details, content FROM log_batches LEFT JOIN log_bodies USING (seq)",
  });
  assert.ok(!JSON.stringify([row, rows]).includes(key));
  assert.equal(row?.upstream_url, "https://api.example.test/v1/x");
});

test("a row is masked and left out as the rules of logging say", async () => {
  const [quiet] = await rowsOf(plain, { "x-gateway-debug": "false" });
  assert.deepEqual([quiet?.request.body, quiet?.response.body, quiet?.status], [null, null, 200]);
  const [hidden] = await rowsOf(plain, { "x-gateway-sensitive-headers": "X-Note" });
  assert.match(hidden?.request.headers["x-note"] ?? "", /^hmac:/);
});

test("reported rows count toward limits only where the header asks for it", async () => {
  const { data } = await done<{ data: { id: string }[] }>(call(gateway, "GET /admin/workspaces"));
  const policy = {
    name: "Tokens",
    conditions: [{ key: "workspace_id", value: data[0]?.id }],
    group_by: [{ key: "api_key" }],
    type: "tokens",
    credit_limit: 100_000,
    workspace_id: data[0]?.id,
  };
  const { id } = await done<{ id: string }>(call(gateway, "POST /policies/usage-limits", { body: policy }));
  const used = async () => {
    const { data: entities } = await done<{ data: { current_usage: number }[] }>(
      call(gateway, `GET /policies/usage-limits/${id}/entities?workspace_id=${data[0]?.id}`),
    );
    return entities.reduce((sum, { current_usage }) => sum + current_usage, 0);
  };
  await rowsOf(plain);
  assert.equal(await used(), 0);
  await rowsOf([plain, plain], { "x-gateway-override-service-log-usage": "true" });
  const until = performance.now() + 60_000;
  while ((await used()) !== 3_000) {
    assert.ok(performance.now() < until, `${await used()} tokens`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});

for (const [name, last, param] of [
  ["no response body", { ...plain, response: {} }, "299.response.body"],
  ["metadata with objects", { ...plain, metadata: { a: {} } }, "metadata"],
  ["a long span id", { ...plain, metadata: { spanId: "x".repeat(257) } }, "metadata.spanId"],
] as const) {
  test(`of 300 entries nothing is stored or counted if the last has ${name}`, async () => {
    const before = (await listLogs(gateway, "limit=100&ai_model=refused-model")).data.length;
    const entry = { ...plain, request: { ...plain.request, body: { ...asked, model: "refused-model" } } };
    const headers = { "x-gateway-override-service-log-usage": "true" };
    const refused = await post([...Array.from({ length: 299 }, () => entry), last], headers);
    assert.deepEqual([refused.status, Reflect.get(Object(Reflect.get(refused.body, "error")), "param")], [400, param]);
    // rows are stored in order: with this one, those before it would be too
    await rowsOf(plain);
    assert.equal((await listLogs(gateway, "limit=100&ai_model=refused-model")).data.length, before);
  });
}

for (const [name, body, param] of [
  ["no request", { response: plain.response }, "request"],
  ["no url", { ...plain, request: { body: {} } }, "request.url"],
  ["no response body", { ...plain, response: { status: 200 } }, "response.body"],
  ["a status of 99", { ...plain, response: { ...plain.response, status: 99 } }, "response.status"],
  ["a negative time", { ...plain, response: { ...plain.response, response_time: -1 } }, "response.response_time"],
  ["a list of headers", { ...plain, request: { ...plain.request, headers: [] } }, "request.headers"],
  ["metadata that is a text", { ...plain, metadata: "x" }, "metadata"],
  ["metadata with objects", { ...plain, metadata: { a: {} } }, "metadata"],
  ["a long trace id", { ...plain, metadata: { traceId: "x".repeat(257) } }, "metadata.traceId"],
  ["one bad entry of two", [plain, { ...plain, response: {} }], "1.response.body"],
] as const) {
  test(`${name} is refused with 400, and nothing is stored`, async () => {
    const before = (await listLogs(gateway, "limit=100")).data.length;
    const { status, body: answer } = await post(body);
    assert.deepEqual(
      [status, Reflect.get(Object(Reflect.get(answer, "error")), "param")],
      [400, param],
      JSON.stringify(answer),
    );
    assert.equal((await listLogs(gateway, "limit=100")).data.length, before);
  });
}

test("too many entries, none, or no object are refused", async () => {
  for (const body of [[], Array(1_001).fill(plain), 1, "text"])
    assert.match(await refusal(post(body) as never), /^400/);
});

test("an admin key, and a key without the scopes, may not report requests", async () => {
  assert.equal((await call(gateway, "POST /logs", { key: adminKey, body: plain })).status, 403);
  const made = await done<{ key: string }>(
    call(gateway, "POST /api-keys/workspace/service", {
      key: workspaceKey,
      body: { name: "Reader", scopes: ["logs.list"] },
    }),
  );
  assert.equal((await call(gateway, "POST /logs", { key: made.key, body: plain })).status, 403);
});

test("reported rows are found by the filters of the list", async () => {
  await rowsOf({ ...plain, metadata: { traceId: "found", fleet: "north" } });
  const rows = await waitForLogs(gateway, "trace_id=found&metadata.fleet=north&model=gpt-4o-mini&operation=custom");
  assert.equal(rows.length, 1);
});

test("a reported request with more than 256 headers is refused: engines take seconds to index thousands", async () => {
  const headersOf = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, "v"]));
  const reported = (count: number) => ({ ...plain, request: { ...plain.request, headers: headersOf(count) } });
  const { status, body } = await post(reported(257));
  assert.equal(status, 400);
  assert.match(JSON.stringify(body), /must have at most 256 headers/);
  await rowsOf(reported(256));
});

test("a reported stream with an event longer than streams may have is refused", async () => {
  const body = `data: "${"x".repeat(4 * 1024 * 1024)}"\n\n`;
  const refused = await post({ ...plain, response: { body } });
  assert.equal(refused.status, 400);
  assert.match(JSON.stringify(refused.body), /an event of more than 4194304 bytes/);
});

test("a reported stream is assembled from all its events, however many pieces it is read in", async () => {
  const piece = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\r\n\r\n`;
  const text = Array.from({ length: 2_000 }, (_, index) => piece(`${index} `)).join("");
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const end = `data: ${JSON.stringify({ model: "gpt-4o-mini", choices: [], usage })}\r\n\r\ndata: [DONE]\r\n\r\n`;
  const [row] = await rowsOf({ ...plain, response: { body: text + end } });
  assert.deepEqual([row?.usage?.input_tokens, row?.usage?.output_tokens], [3, 4]);
  assert.ok(JSON.stringify(row?.response.body).includes("0 1 2 3 4"));
  assert.ok(JSON.stringify(row?.response.body).includes("1998 1999 "));
});
