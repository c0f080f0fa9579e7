import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import type { Database } from "../../src/db/client.ts";
import { answerLine, startBatchProvider } from "../support/batch-provider.ts";
import { chatLine, runLines, waitForBatch } from "../support/batches.ts";
import { call, done } from "../support/control.ts";
import { endingRows } from "../support/cost-endings.ts";
import {
  type BillItem,
  type CannedResponse,
  type CostRow,
  cachedNanos,
  cachedUsage,
  chatAnswer,
  requestRows,
} from "../support/cost-rows.ts";
import { toolRows } from "../support/cost-tools.ts";
import {
  createTestGateway,
  listLogs,
  requestHeaders,
  type ShownLog,
  type TestGateway,
  waitForLog,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";
import { eventually, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { createSocketHost } from "../support/websocket-host.ts";
import { handshakeHeaders, startSocketUpstream } from "../support/websocket-upstream.ts";

let gateway: TestGateway;
let database: Database;
let upstream: RecordingUpstream;
/** Responses to the calls of the current request. */
let answers: CannedResponse[] = [];
/** End the connections of responses that break off. */
const breaking: (() => void)[] = [];
/** Policies that count each row of the table by itself, by what they count. */
const policies = new Map<string, string>();

async function respond(response: ServerResponse): Promise<void> {
  const next = answers.length > 1 ? answers.shift() : answers[0];
  assert.ok(next, "an upstream was called that has no response");
  const { status = 200, type = "application/json", body, then = "ends" } = next;
  response.on("error", () => {});
  response.writeHead(status, { "content-type": type });
  const text = typeof body === "string" ? body : JSON.stringify(body);
  if (then === "ends") return void response.end(text);
  response.write(text, () => {
    if (then !== "breaks") return;
    const destroy = () => void response.destroy();
    breaking.push(destroy);
    // a response that is held back begins only after it broke
    setTimeout(destroy, 300);
  });
}

before(async () => {
  upstream = await startRecordingUpstream((_, response) => respond(response));
  gateway = await createTestGateway({ inFile: true, batches: { pauseMs: 0, lookEveryMs: 5, statusCheckMs: 1 } });
  database = await gateway.openFile();
  const members = {
    workspace_id: "default",
    conditions: [{ key: "provider", value: "*" }],
    group_by: [{ key: "metadata.row" }],
  };
  for (const [counts, route, limit] of [
    ["requests", "POST /policies/rate-limits", { type: "requests", unit: "rpw", value: 1_000_000 }],
    ["tokens", "POST /policies/usage-limits", { type: "tokens", credit_limit: 1e12 }],
    ["nanos", "POST /policies/usage-limits", { type: "cost", credit_limit: 1e6 }],
  ] as const) {
    const { id } = await done(call<{ id: string }>(gateway, route, { body: { ...members, ...limit } }));
    policies.set(id, counts);
  }
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** What the stored counters of a row hold. */
async function readCounters(row: string): Promise<Record<string, number>> {
  const sql = "SELECT limit_id, sum(used) AS used FROM limit_counters WHERE bucket = ? GROUP BY limit_id";
  const { rows } = await database.read({ sql, args: [`metadata.row:${row}`] });
  const counters: Record<string, number> = { requests: 0, tokens: 0, nanos: 0 };
  for (const { limit_id, used } of rows) {
    const [, counts = ""] = [...policies].find(([id]) => String(limit_id).includes(id)) ?? [];
    counters[counts] = Number(used);
  }
  return counters;
}

/** The sum of a bill, in nano-dollars. */
const sumOf = (bill: readonly BillItem[]): number => bill.reduce((sum, [count, each]) => sum + count * each, 0);

function headersOf({ provider = "openai", headers = {}, form }: CostRow, id: string): Headers {
  const all = requestHeaders({
    "x-gateway-provider": provider,
    "x-gateway-trace-id": id,
    "x-gateway-metadata": JSON.stringify({ row: id }),
    authorization: "Bearer upstream-key",
    ...(provider !== null && provider !== "echo" && { "x-gateway-custom-host": `${upstream.url}/v1` }),
  });
  for (const [name, value] of Object.entries(headers)) all.set(name, value.replaceAll("$UPSTREAM", upstream.url));
  if (form) all.delete("content-type");
  return all;
}

function bodyOf({ body, form }: CostRow): string | FormData {
  if (!form) return JSON.stringify(body);
  const data = new FormData();
  for (const [name, value] of Object.entries(form)) data.set(name, value);
  data.set("file", new Blob(["sound"]), "a.mp3");
  return data;
}

/** Reads the response, or leaves after its first bytes. */
async function receive(response: Response, leaves: boolean): Promise<void> {
  if (!leaves) return void (await response.arrayBuffer());
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
}

/** Makes the request of a row of the table, and returns its log row. */
async function run(row: CostRow, id: string): Promise<ShownLog> {
  answers = [...row.answers];
  const init = { method: "POST", headers: headersOf(row, id), body: bodyOf(row) };
  const response = await gateway.fetch(row.path, init);
  // once it began, the rest of what was written arrives
  for (const destroy of breaking.splice(0)) setTimeout(destroy, 20);
  const { status = 200, leaves = false } = row;
  assert.equal(response.status, status, status === response.status ? "" : await response.text());
  await receive(response, leaves);
  return waitForLog(gateway, id);
}

for (const [index, row] of [...requestRows, ...endingRows, ...toolRows].entries()) {
  test(`the cost of ${row.name}`, async () => {
    const { bill, nanos, units, tokens, requests = 1, status = 200, rowStatus = status, estimated } = row;
    assert.equal(sumOf(bill), nanos ?? 0, "the bill of the table adds up");
    const id = `row-${index}`;
    const log = await run(row, id);
    const counted = await readCounters(id);
    const { cost, cost_currency: currency } = log;
    const [listed] = (await listLogs(gateway, `trace_id=${id}`)).data;
    assert.deepEqual([listed?.cost, listed?.cost_currency, listed?.priced], [cost, currency, cost !== null]);
    if (row.isSum) assert.equal(Reflect.get(log, "price_source"), undefined);
    assert.deepEqual(
      {
        status: log.status,
        cost,
        currency,
        units: Object(log.usage).units,
        estimated: Reflect.get(log, "estimated"),
        ...counted,
      },
      {
        status: rowStatus,
        cost: nanos === null ? null : nanos / 1e7,
        currency: "USD",
        units,
        estimated,
        requests,
        tokens,
        nanos: nanos ?? 0,
      },
    );
  });
}

test("the cost of a completed prompt", async () => {
  const options = { key: workspaceKey };
  const configurations = { custom_host: `${upstream.url}/v1` };
  const integration = {
    name: "prompts",
    slug: "prompts-integration",
    ai_provider_id: "openai",
    key: "fake-credential-1",
  };
  const rest = { configurations, create_default_provider: true, default_provider_slug: "prompts-provider" };
  await done(call(gateway, "POST /integrations", { ...options, body: { ...integration, ...rest } }));
  const { data } = await done(call<{ data: { id: string }[] }>(gateway, "GET /collections", options));
  const prompt = {
    name: "p",
    collection_id: data[0]?.id ?? "",
    string: '[{"role":"user","content":"Hello there"}]',
    parameters: {},
    virtual_key: "prompts-provider",
    model: "gpt-4o",
  };
  const { slug } = await done(call<{ slug: string }>(gateway, "POST /prompts", { ...options, body: prompt }));
  answers = [chatAnswer(cachedUsage)];
  const id = "prompt";
  const headers = requestHeaders({
    "x-gateway-provider": null,
    "x-gateway-trace-id": id,
    "x-gateway-metadata": JSON.stringify({ row: id }),
  });
  const response = await gateway.fetch(`/v1/prompts/${slug}/completions`, {
    method: "POST",
    headers,
    body: '{"variables":{}}',
  });
  assert.equal(response.status, 200, await response.text());
  assert.equal((await waitForLog(gateway, id)).cost, cachedNanos / 1e7);
  assert.deepEqual(await readCounters(id), { requests: 1, tokens: 110, nanos: cachedNanos });
});

test("the cost of a batch the gateway runs is that of its lines", async () => {
  answers = [chatAnswer(cachedUsage), { status: 400, body: { error: { message: "no" } } }];
  const id = "batch";
  const options = {
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    "x-gateway-metadata": { row: id },
    authorization: "Bearer upstream-key",
  };
  const lines = ["a", "b"].map((line) => chatLine(line, "Hello", { model: "gpt-4o" })).join("\n");
  const begun = await runLines(gateway, lines, { gateway_options: options });
  const batch = await waitForBatch(gateway, begun.id);
  assert.deepEqual([batch.cost, batch.usage?.total_tokens], [cachedNanos / 1e7, 110]);
  const rows = await waitForLogs(gateway, `trace_id=${begun.id}&limit=100`, 2);
  assert.deepEqual(rows.map(({ cost }) => cost).sort(), [0, cachedNanos / 1e7]);
  assert.deepEqual(await readCounters(id), { requests: 2, tokens: 110, nanos: cachedNanos });
});

test("the cost of a batch the provider runs is half that of its lines", async () => {
  const provider = await startBatchProvider();
  try {
    provider.contents.set("file-out", answerLine("a", 200, { model: "gpt-4o-2024-08-06", usage: cachedUsage }));
    provider.contents.set("file-err", answerLine("b", 400, { error: { message: "no" } }));
    const ended = { status: "completed", output_file_id: "file-out", error_file_id: "file-err" };
    Object.assign(provider.batch, ended, { request_counts: { total: 2, completed: 1, failed: 1 } });
    const lines = ["a", "b"].map((line) => chatLine(line, "Hello", { model: "gpt-4o" })).join("\n");
    const id = "collected";
    const gateway_options = { ...provider.options, "x-gateway-metadata": { row: id } };
    const options = { completion_window: "24h", gateway_options };
    const batch = await waitForBatch(gateway, (await runLines(gateway, lines, options)).id);
    // 60 tokens at 1.25 dollars, 40 at 0.625 and 10 at 5
    const bill: BillItem[] = [
      [60, 1_250],
      [40, 625],
      [10, 5_000],
    ];
    assert.equal(sumOf(bill), 150_000);
    assert.deepEqual([batch.status, batch.cost, batch.usage?.total_tokens], ["completed", 150_000 / 1e7, 110]);
    // requests of the gateway itself, the last one first: the results are two files
    const reads = ["retrieveFileContent", "retrieveBatch", "getBatchOutput", "retrieveBatch"];
    const own = [...reads, "createBatch", "uploadFile"];
    const rows = await waitForLogs(gateway, `trace_id=${batch.id}&limit=100`, own.length + 1);
    assert.deepEqual(
      rows.map(({ operation }) => operation),
      ["collectBatch", ...own],
    );
    const costs = rows.filter(({ cost }) => cost !== 0).map(({ operation, cost }) => [operation, cost]);
    assert.deepEqual(costs, [["collectBatch", 150_000 / 1e7]]);
    assert.deepEqual(await readCounters(id), { requests: 2 + own.length, tokens: 110, nanos: 150_000 });
  } finally {
    await provider.close();
  }
});

/** 100 tokens of input, half of them from a cache, 80 of them audio; 35 of output, 30 of them audio. */
const spokenUsage = {
  total_tokens: 135,
  input_tokens: 100,
  output_tokens: 35,
  input_token_details: {
    text_tokens: 20,
    audio_tokens: 80,
    cached_tokens: 50,
    cached_tokens_details: { text_tokens: 10, audio_tokens: 40 },
  },
  output_token_details: { text_tokens: 5, audio_tokens: 30 },
};

test("the cost of a realtime session is that of its responses", async () => {
  const event = JSON.stringify({ type: "response.done", response: { id: "r", usage: spokenUsage } });
  const sockets = await startSocketUpstream({
    open(socket) {
      socket.send(event);
      socket.send(event);
    },
  });
  try {
    const id = "session";
    const host = createSocketHost();
    const headers = {
      ...handshakeHeaders,
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `${sockets.url}/v1`,
      "x-gateway-trace-id": id,
      "x-gateway-metadata": JSON.stringify({ row: id }),
      authorization: "Bearer upstream-key",
    };
    await gateway.fetch("/v1/realtime?model=gpt-realtime", { headers }, { upgrade: host.upgrade });
    await eventually(() => host.heard.length === 2, "both responses");
    host.leave({ code: 1000, reason: "" });
    // text 4, audio 32, both 0.40 from a cache, text 16 and audio 64 dollars
    const bill: BillItem[] = [
      [10, 4_000],
      [40, 32_000],
      [10, 400],
      [40, 400],
      [5, 16_000],
      [30, 64_000],
    ];
    assert.equal(sumOf(bill), 3_340_000);
    const row = await waitForLog(gateway, id);
    assert.deepEqual([row.status, row.cost, row.usage?.total_tokens], [101, 6_680_000 / 1e7, 270]);
    assert.deepEqual(await readCounters(id), { requests: 1, tokens: 270, nanos: 6_680_000 });
  } finally {
    await sockets.close();
  }
});
