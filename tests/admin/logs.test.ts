import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { call } from "../support/control.ts";
import {
  adminKey,
  chat,
  createTestClock,
  createTestGateway,
  helloBody,
  insertKey,
  insertTenant,
  listLogs,
  readJson,
  type ShownLog,
  waitForLog,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";

const clock = createTestClock(Date.UTC(2026, 0, 15, 12));
const gateway = await createTestGateway({ inFile: true, clock });
after(() => gateway.close());

const database = await gateway.openFile();
const foreignKey = mintApiKey("gk").key;
const foreign = await insertTenant(database, foreignKey);
const secondKey = mintApiKey("gk").key;
const secondKeyId = await insertKey(database, secondKey);

/** One request each second, one for each value of the filters. */
const sent: readonly [trace: string, key: string, model: string, status: number][] = [
  ["a", workspaceKey, "model-a", 200],
  ["b", workspaceKey, "model-b", 200],
  ["c", secondKey, "model-a", 200],
  ["d", workspaceKey, "model-a", 429],
  ["e", foreignKey, "model-a", 200],
  ["f", workspaceKey, "model-a", 500],
  ["g", secondKey, "model%b", 200],
];
for (const [trace, key, model, status] of sent) {
  clock.advance(1_000);
  const response = await chat(
    gateway,
    { ...helloBody, model },
    {
      "x-gateway-api-key": key,
      "x-gateway-trace-id": trace,
      ...(status !== 200 && { "x-gateway-echo-status": String(status) }),
    },
  );
  assert.equal(response.status, status);
  await response.text();
}
// a refused request has no provider
clock.advance(1_000);
await (await chat(gateway, helloBody, { "x-gateway-trace-id": "h", "x-gateway-provider": null })).text();
const own = await waitForLogs(gateway, "", 7);
await waitForLogs(gateway, "", 1, foreignKey);

const traces = (rows: readonly { trace_id: string }[]) => rows.map(({ trace_id }) => trace_id).join("");

test("GET /v1/logs lists the rows of the workspace, newest first, without bodies", async () => {
  const page = await listLogs(gateway);
  assert.equal(traces(page.data), "hgfdcba");
  assert.deepEqual([page.has_more, page.next_cursor], [false, null]);
  for (const row of page.data) {
    assert.equal("request" in row, false);
    assert.equal("response" in row, false);
  }
  const ids = page.data.map(({ id }) => id);
  assert.deepEqual(ids, [...ids].sort().reverse());
});

test("GET /v1/logs shows when a request came, by the gateway's clock", () => {
  assert.equal(own.at(-1)?.created_at, "2026-01-15T12:00:01.000Z");
});

for (const [query, wanted] of [
  ["status=200", "gcba"],
  ["status=429", "d"],
  ["status=400", "h"],
  ["status=404", ""],
  ["model=model-a", "fdca"],
  ["model=model-b", "b"],
  ["model=model%25b", "g"],
  ["model=MODEL-A", ""],
  ["model=model", ""],
  ["model=model-a%00", ""],
  ["model=", ""],
  ["provider=echo", "gfdcba"],
  ["provider=openai", ""],
  ["trace_id=d", "d"],
  ["trace_id=d%27%20OR%201%3D1--", ""],
  ["trace_id=e", ""],
  [`api_key_id=${secondKeyId}`, "gc"],
  ["from=2026-01-15T12:00:04Z", "hgfd"],
  ["from=2026-01-15T12:00:04.000Z&to=2026-01-15T12:00:06.000Z", "d"],
  ["to=2026-01-15T12:00:03Z", "ba"],
  ["to=2026-01-15T13:00:03%2B01:00", "ba"],
  ["from=2026-01-16", ""],
  ["from=2026-01-15", "hgfdcba"],
  ["model=model-a&status=200", "ca"],
  [`model=model-a&status=200&api_key_id=${secondKeyId}`, "c"],
  ["limit=100", "hgfdcba"],
  ["status_code=429,400", "hd"],
  ["status_code=429&status=200", ""],
  ["trace_id=a,b,%20d", "dba"],
  ["ai_model=model-a,model-b", "fdcba"],
  ["ai_org_model=echo__model-a", "fdca"],
  ["ai_org_model=echo__model-b,openai__model-a", "b"],
  ["ai_org_model=openai__model-a", ""],
  [`api_key_ids=${secondKeyId},other`, "gc"],
  ["time_of_generation_min=2026-01-15T12:00:04Z", "hgfd"],
  ["time_of_generation_min=2026-01-15T12:00:04Z&to=2026-01-15T12:00:06Z", "d"],
  ["total_units_min=1&total_units_max=1000", "gcba"],
  ["prompt_token_min=1000000", ""],
  ["completion_token_max=0", ""],
  ["virtual_keys=none", ""],
  ["mcp_server=none", ""],
  ["mcp_tool=none", ""],
  ["configs=none", ""],
  ["prompt_slug=none", ""],
  ["span_id=none", ""],
  ["weighted_feedback_min=-10", ""],
  ["cache_status=disabled", "hgfdcba"],
  ["cache_status=HIT,SEMANTIC_MISS", ""],
  ["source=gateway", "hgfdcba"],
  ["source=console,custom", ""],
  ["metadata=%7B%7D", "hgfdcba"],
  ["metadata=%7B%22absent%22%3A1%7D", ""],
] as const) {
  test(`GET /v1/logs?${query} finds "${wanted}"`, async () => {
    assert.equal(traces((await listLogs(gateway, query)).data), wanted);
  });
}

for (const [query, name] of [
  ["limit=0", "limit"],
  ["status_code=abc", "status_code"],
  ["cost_min=x", "cost_min"],
  ["total_units_min=1.5", "total_units_min"],
  ["total_units_max=1&total_units_min=2", "total_units_max"],
  ["weighted_feedback_max=11", "weighted_feedback_max"],
  ["metadata=x", "metadata"],
  ["source=elsewhere", "source"],
  ["ai_org_model=echo", "ai_org_model"],
  [`trace_id=${"a,".repeat(1_001)}`, "trace_id"],
  ["time_of_generation_max=2025-01-01T00:00:00Z&time_of_generation_min=2026-01-01T00:00:00Z", "time_of_generation_max"],
  ["unknown=1", "unknown"],
  ["organisation_id=anything", "organisation_id"],
  ["traceid=a", "traceid"],
  ["from=2026-01-02&to=2026-01-01", "to"],
  ["from=2026-01-01&to=2026-01-01", "to"],
  ["limit=101", "limit"],
  ["limit=-1", "limit"],
  ["limit=abc", "limit"],
  ["limit=1.5", "limit"],
  ["limit=", "limit"],
  ["limit=1e2", "limit"],
  ["limit=99999999999999999999", "limit"],
  ["status=abc", "status"],
  ["status=1000", "status"],
  ["status=", "status"],
  ["from=yesterday", "from"],
  ["from=", "from"],
  ["from=1768478400000", "from"],
  ["from=2026-13-01", "from"],
  ["from=2026-02-30", "from"],
  ["to=2026-04-31T00:00:00Z", "to"],
  ["time_of_generation_min=2025-02-29T00:00:00Z", "time_of_generation_min"],
  ["from=2026-01-15T12:00", "from"],
  ["to=0000-01-01", "to"],
  ["to=12:00", "to"],
  ["cursor=", "cursor"],
  ["cursor=abc", "cursor"],
  ["cursor=01ARZ3NDEKTSV4RRFFQ69G5FAV", "cursor"],
  ["cursor=01ARZ3NDEKTSV4RRFFQ69G5FAV.AAAA", "cursor"],
  ["cursor=.", "cursor"],
] as const) {
  test(`GET /v1/logs?${query} returns 400 naming ${name}`, async () => {
    const response = await gateway.fetch(`/v1/logs?${query}`, { headers: { "x-gateway-api-key": workspaceKey } });
    const body = await readJson<{ error: { param: string; message: string } }>(response);
    assert.equal(response.status, 400);
    assert.equal(body.error.param, name);
    assert.match(body.error.message, /(?:must (?:be|not be|have)|: use) /);
  });
}

for (const limit of [1, 2, 3, 6, 7]) {
  test(`GET /v1/logs?limit=${limit} pages through every row once`, async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < 10; page++) {
      const query = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const { data, has_more, next_cursor } = await listLogs(gateway, `limit=${limit}${query}`);
      seen.push(...data.map(({ trace_id }) => trace_id));
      assert.equal(has_more, next_cursor !== null);
      if (page < Math.ceil(7 / limit) - 1) assert.equal(data.length, limit);
      cursor = next_cursor;
      if (cursor === null) break;
    }
    assert.equal(seen.join(""), "hgfdcba");
  });
}

test("GET /v1/logs pages within a filter", async () => {
  const first = await listLogs(gateway, "model=model-a&limit=2");
  assert.equal(traces(first.data), "fd");
  const second = await listLogs(gateway, `model=model-a&limit=2&cursor=${encodeURIComponent(first.next_cursor ?? "")}`);
  assert.equal(traces(second.data), "ca");
  assert.equal(second.has_more, false);
});

test("N4: GET /v1/logs refuses the cursor of another tenant, of another scope, and a changed one", async () => {
  const cursor = (await listLogs(gateway, "limit=1")).next_cursor ?? "";
  const [id, digest] = cursor.split(".");
  for (const [key, text, status] of [
    [workspaceKey, cursor, 200],
    [foreignKey, cursor, 400],
    [adminKey, cursor, 400],
    [workspaceKey, `${own.at(-1)?.id}.${digest}`, 400],
    [workspaceKey, `${id}.${digest?.slice(1)}`, 400],
  ] as const) {
    const path = `/v1/logs?cursor=${encodeURIComponent(text)}`;
    const response = await gateway.fetch(path, { headers: { "x-gateway-api-key": key } });
    assert.equal(response.status, status, await response.text());
  }
});

test("N1: GET /v1/logs shows a tenant its own rows only, whatever the query names", async () => {
  const [row] = own;
  assert.ok(row);
  for (const query of ["", "trace_id=a", `api_key_id=${row.api_key_id}`]) {
    const { data } = await listLogs(gateway, query, foreignKey);
    assert.ok(data.every(({ organisation_id }) => organisation_id === foreign.organisationId));
    assert.equal(
      data.some(({ trace_id }) => trace_id !== "e"),
      false,
    );
  }
  assert.equal(traces((await listLogs(gateway, "", foreignKey)).data), "e");
});

test("GET /v1/logs shows a key of the organisation every workspace of it, and no other organisation", async () => {
  assert.equal(traces((await listLogs(gateway, "", adminKey)).data), "hgfdcba");
});

test("N3: GET /v1/logs/{id} returns the same for foreign, unknown and malformed ids", async () => {
  const [foreignRow] = (await listLogs(gateway, "", foreignKey)).data;
  const bodies = new Set<string>();
  for (const id of [foreignRow?.id, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "nonsense", "1", own[0]?.id.toLowerCase()]) {
    const response = await gateway.fetch(`/v1/logs/${id}`, { headers: { "x-gateway-api-key": workspaceKey } });
    assert.equal(response.status, 404);
    bodies.add(await response.text());
  }
  assert.equal(bodies.size, 1);
  const seen = await gateway.fetch(`/v1/logs/${foreignRow?.id}`, { headers: { "x-gateway-api-key": foreignKey } });
  assert.equal(seen.status, 200);
});

test("GET /v1/logs/{id} shows request and response", async () => {
  const row = await waitForLog(gateway, "a");
  assert.deepEqual(row.request.body, { ...helloBody, model: "model-a" });
  assert.equal(row.request.headers["content-type"], "application/json");
  assert.equal(row.request.headers["x-gateway-trace-id"], "a");
  assert.match(JSON.stringify(row.response.body), /"content":"Hello there"/);
  assert.deepEqual([row.request.truncated, row.response.truncated], [false, false]);
  assert.deepEqual(row.usage, {
    input_tokens: 2,
    output_tokens: 2,
    total_tokens: 4,
    cached_tokens: 0,
    reasoning_tokens: 0,
    cache_write_tokens: 0,
    audio_input_tokens: 0,
    audio_output_tokens: 0,
  });
  assert.equal(row.error, null);
});

test("GET /v1/logs/{id} shows a refused request and its response", async () => {
  const row = await waitForLog(gateway, "h");
  assert.equal(row.provider, null);
  assert.equal(row.error?.code, "provider_required");
  assert.equal(Reflect.get(Object(row.response.body), "message"), row.error?.message);
});

test("L2: GET /v1/logs/{id} never shows a key", async () => {
  const { key } = mintApiKey("gk");
  const headers = {
    "x-gateway-trace-id": "with-secrets",
    authorization: "Bearer sk-provider-credential-0123456789",
    cookie: "session=cookie-value",
    "x-mine": "my-secret-value",
    "x-open": "open-value",
    "x-gateway-sensitive-headers": "X-Mine",
  };
  const body = { ...helloBody, messages: [{ role: "user", content: `my key is ${key}` }] };
  assert.equal((await chat(gateway, body, headers)).status, 200);
  const row = await waitForLog(gateway, "with-secrets");
  const shown = JSON.stringify(row);
  for (const secret of [key, workspaceKey, "sk-provider", "cookie-value", "my-secret-value"]) {
    assert.equal(shown.includes(secret), false, secret);
  }
  for (const name of ["authorization", "x-gateway-api-key", "cookie", "x-mine"]) {
    assert.match(row.request.headers[name] ?? "", /^hmac:[0-9a-f]{12}$/, name);
  }
  assert.equal(row.request.headers["x-open"], "open-value");
  assert.deepEqual(row.request.body, {
    ...body,
    messages: [{ role: "user", content: "my key is [masked]" }],
  });
});

test("L2: GET /v1/logs/{id} hides every custom header when the list of sensitive ones is broken", async () => {
  const headers = { "x-gateway-trace-id": "broken-list", "x-open": "open-value", "x-gateway-sensitive-headers": "a b" };
  assert.equal((await chat(gateway, helloBody, headers)).status, 200);
  const row = await waitForLog(gateway, "broken-list");
  assert.match(row.request.headers["x-open"] ?? "", /^hmac:/);
  assert.equal(row.request.headers["content-type"], "application/json");
});

test("J6: GET /v1/logs/{id} shows text around NUL, and the request is refused", async () => {
  const body = '{"model":"a\0b","note":"behind"}';
  assert.equal((await chat(gateway, body, { "x-gateway-trace-id": "nul" })).status, 400);
  const row = await waitForLog(gateway, "nul");
  assert.match(JSON.stringify(row.request.body), /behind/);
});

test("J6: a model name with an escaped NUL is a separate model in lists", async () => {
  const body = '{"model":"model-a\\u0000x","messages":[{"role":"user","content":"x"}]}';
  await (await chat(gateway, body, { "x-gateway-trace-id": "nul-model" })).text();
  await waitForLog(gateway, "nul-model");
  const { data } = await listLogs(gateway, "model=model-a");
  assert.equal(traces(data), "fdca");
});

test("GET /v1/logs/{id} shows a stream as the response it adds up to", async () => {
  const body = { ...helloBody, stream: true, stream_options: { include_usage: true } };
  const response = await chat(gateway, body, { "x-gateway-trace-id": "streamed", "x-gateway-echo-chunks": "4" });
  await response.text();
  const row = await waitForLog(gateway, "streamed");
  const answer = Object(row.response.body);
  assert.equal(row.stream, true);
  assert.equal(answer.object, "chat.completion");
  assert.deepEqual(answer.choices, [
    { index: 0, message: { role: "assistant", content: "Hello there" }, finish_reason: "stop" },
  ]);
  assert.equal(answer.usage.total_tokens, 4);
  assert.equal(row.usage?.total_tokens, 4);
});

for (const [name, path, key, status] of [
  ["no key", "/v1/logs", null, 401],
  ["a wrong key", "/v1/logs", "wrong-key-wrong-key", 401],
  ["no key", "/v1/logs/01ARZ3NDEKTSV4RRFFQ69G5FAV", null, 401],
] as const) {
  test(`GET ${path} returns ${status} for ${name}`, async () => {
    const headers: Record<string, string> = key === null ? {} : { "x-gateway-api-key": key };
    const response = await gateway.fetch(path, { headers });
    assert.equal(response.status, status);
  });
}

test("GET /v1/logs and /v1/logs/{id} leave no log rows", async () => {
  const before: ShownLog[] = (await listLogs(gateway, "limit=100")).data;
  await chat(gateway, helloBody, { "x-gateway-trace-id": "last" });
  await waitForLog(gateway, "last");
  const behind = (await listLogs(gateway, "limit=100")).data;
  assert.equal(behind.length, before.length + 1);
});

test("rows of versions that stored no cost are shown without one", async () => {
  await chat(gateway, helloBody, { "x-gateway-trace-id": "old" });
  assert.equal((await waitForLog(gateway, "old")).cost, 0);
  await database.write([
    `UPDATE log_batches SET details = replace(details, '"cost":0,"cost_currency":"USD",', '') WHERE details LIKE '%"trace_id":"old"%'`,
  ]);
  const [row] = (await listLogs(gateway, "trace_id=old")).data;
  assert.deepEqual([row?.cost, row?.cost_currency, row?.usage?.input_tokens], [null, "USD", 2]);
});

test("GET /v1/logs?workspace_slug= shows an admin key one workspace, and its cursors belong to it", async () => {
  const list = (query: string) => call<LogPage>(gateway, `GET /logs?${query}`, { key: adminKey });
  const first = await list("workspace_slug=default&limit=1");
  assert.equal(first.body.data.length, 1);
  const cursor = first.body.next_cursor ?? "";
  const next = await list(`workspace_slug=default&limit=1&cursor=${cursor}`);
  assert.equal(next.status, 200);
  assert.notEqual(next.body.data[0]?.id, first.body.data[0]?.id);
  assert.equal((await list(`limit=1&cursor=${cursor}`)).status, 400);
  assert.equal((await list("workspace_slug=another")).status, 403);
});

interface LogPage {
  data: { id: string }[];
  next_cursor: string | null;
}
