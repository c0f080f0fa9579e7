import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import {
  chat,
  createTestGateway,
  type HeaderChanges,
  helloBody,
  type ShownLog,
  type TestGateway,
  upstreamHeaders,
  waitForLog,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

interface Phase {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: unknown;
}
type Detail = ShownLog & {
  finalUntransformedRequest?: Phase;
  transformedRequest?: Phase;
  originalResponse?: Phase;
  metrics: Record<string, unknown>;
  request: { url: string; method: string; gatewayHeaders: Record<string, string> };
  response: { status: number; responseTime: number };
};

let gateway: TestGateway;
let upstream: RecordingUpstream;
/** What the upstream answers with. */
let answer: { status: number; body: object | string } = { status: 200, body: {} };
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  upstream = await startRecordingUpstream((_, reply) => {
    const { status, body } = answer;
    const type = typeof body === "string" ? "text/event-stream" : "application/json";
    reply.writeHead(status, { "content-type": type }).end(typeof body === "string" ? body : JSON.stringify(body));
  });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const completion = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m-answered",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-x",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 4, output_tokens: 1 },
};

let count = 0;
async function detailOf(headers: HeaderChanges, body: object = helloBody): Promise<Detail> {
  const trace = `object-${count++}`;
  await (await chat(gateway, body, { "x-gateway-trace-id": trace, ...headers })).text();
  return (await waitForLog(gateway, trace)) as Detail;
}

const over = (provider: string, params?: object) => {
  const hosted = { provider, api_key: "config-credential-1", custom_host: `${upstream.url}/v1` };
  const config = JSON.stringify({ ...hosted, ...(params && { override_params: params }) });
  return { "x-gateway-provider": null, authorization: null, "x-gateway-config": config };
};

test("a request that goes through unchanged has no further phases", async () => {
  answer = { status: 200, body: completion };
  const row = await detailOf(upstreamHeaders(upstream));
  assert.equal(row.status, 200);
  assert.deepEqual(row.request.body, helloBody);
  assert.deepEqual(
    [row.finalUntransformedRequest, row.transformedRequest, row.originalResponse],
    Array(3).fill(undefined),
  );
});

test("a converted request and response are shown as the provider saw them, credentials hidden", async () => {
  answer = { status: 200, body: message };
  const row = await detailOf(over("anthropic"), { ...helloBody, model: "claude-x", max_tokens: 7 });
  assert.equal(row.status, 200);
  const { transformedRequest: sent, originalResponse: original } = row;
  assert.deepEqual(sent?.body, JSON.parse(upstream.requests.at(-1)?.body.toString() ?? ""));
  assert.equal(sent?.url, row.upstream_url);
  assert.match(sent?.headers["x-api-key"] ?? "", /^hmac:[0-9a-f]{12}$/);
  assert.deepEqual(original?.body, message);
  assert.equal(Reflect.get(Object(row.response.body), "object"), "chat.completion");
  assert.equal(row.finalUntransformedRequest, undefined);
  assert.ok(!JSON.stringify(row).includes("config-credential-1"));
});

test("parameters of a config show in the final request, before its conversion", async () => {
  answer = { status: 200, body: message };
  const asked = { ...helloBody, model: "claude-x", max_tokens: 7 };
  const row = await detailOf(over("anthropic", { temperature: 0.25 }), asked);
  assert.deepEqual(row.request.body, asked);
  assert.deepEqual(row.finalUntransformedRequest?.body, { ...asked, temperature: 0.25 });
  assert.equal(Reflect.get(Object(row.transformedRequest?.body), "temperature"), 0.25);
});

test("what an overlay made of a request and was sent as it is shows once", async () => {
  answer = { status: 200, body: completion };
  const row = await detailOf(over("openai", { temperature: 0.25 }));
  assert.deepEqual(row.finalUntransformedRequest?.body, { ...helloBody, temperature: 0.25 });
  assert.equal(row.transformedRequest, undefined);
});

/** Events as Anthropic sends them. */
const events = [
  { type: "message_start", message: { ...message, content: [], stop_reason: null } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Ahoy sailor" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
  { type: "message_stop" },
];
const chunks = [
  {
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta: { content: "Ahoy" }, finish_reason: "stop" }],
  },
  { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage: completion.usage },
];
const toEvents = (list: readonly object[]) => list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

test("a converted stream is shown as it came and as it was sent; one that goes through, once", async () => {
  answer = { status: 200, body: toEvents(events) };
  const asked = { ...helloBody, model: "claude-x", max_tokens: 7, stream: true };
  const row = await detailOf(over("anthropic"), asked);
  assert.match(JSON.stringify(row.originalResponse?.body), /Ahoy sailor/);
  assert.doesNotMatch(JSON.stringify(row.originalResponse?.body), /chat\.completion/);
  assert.match(JSON.stringify(row.response.body), /chat\.completion/);
  answer = { status: 200, body: `${toEvents(chunks)}data: [DONE]\n\n` };
  // without the option the last event, which has the usage, does not reach the client
  for (const options of [{ stream_options: { include_usage: true } }, {}]) {
    const plain = await detailOf(upstreamHeaders(upstream), { ...helloBody, stream: true, ...options });
    assert.match(JSON.stringify(plain.response.body), /Ahoy/);
    assert.equal(plain.originalResponse, undefined);
  }
});

test("the error of a provider is shown as it came", async () => {
  answer = { status: 418, body: { type: "error", error: { type: "teapot", message: "short and stout" } } };
  const row = await detailOf(over("anthropic"), { ...helloBody, model: "claude-x", max_tokens: 7 });
  assert.equal(row.status, 418);
  assert.deepEqual(row.originalResponse?.body, answer.body);
});

test("with debug off a failed request keeps the response and the original one, nothing of the request", async () => {
  answer = { status: 418, body: { error: { message: "short and stout" } } };
  const row = await detailOf({ ...upstreamHeaders(upstream), "x-note": "hidden", "x-gateway-debug": "false" });
  assert.deepEqual(row.originalResponse?.body, answer.body);
  assert.match(JSON.stringify(row.response.body), /short and stout/);
  assert.equal(row.request.body, null);
  assert.equal(row.request.headers["x-note"], undefined);
  assert.deepEqual([row.request.url, row.request.method], ["/v1/chat/completions", "POST"]);
  assert.equal(row.request.gatewayHeaders.debug, "false");
});

test("x-gateway-ignore-service-log leaves the row without contents, also of a failure", async () => {
  answer = { status: 418, body: { error: { message: "short and stout" } } };
  const row = await detailOf({ ...upstreamHeaders(upstream), "x-gateway-ignore-service-log": "true" });
  assert.deepEqual(
    [row.status, row.request.body, row.response.body, row.originalResponse],
    [418, null, null, undefined],
  );
  assert.deepEqual(row.request.headers, {});
});

test("metrics show the figures of the row under their other names", async () => {
  answer = { status: 200, body: completion };
  const row = await detailOf({
    ...upstreamHeaders(upstream),
    "x-gateway-metadata": '{"_user":"ada","team":"harbour"}',
    "x-gateway-span-name": "step",
    "x-stainless-runtime": "node",
    "x-stainless-runtime-version": "v24.0.0",
    "x-stainless-package-version": "5.1.0",
  });
  const { metrics } = row;
  const shown = {
    id: row.id,
    is_success: true,
    response_status_code: 200,
    ai_org: "openai",
    ai_model: "echo-1",
    req_units: 3,
    res_units: 2,
    total_units: 5,
    cost_currency: "USD",
    mode: "single",
    stream_mode: 0,
    is_proxy_call: false,
    cache_status: "DISABLED",
    trace_id: row.trace_id,
    internal_trace_id: row.id,
    span_id: row.id,
    span_name: "step",
    request_url: "/v1/chat/completions",
    request_method: "POST",
    runtime: "node",
    runtime_version: "v24.0.0",
    sdk_version: "5.1.0",
    source: "gateway",
    workspace_slug: "default",
    retry_success_count: 0,
    "metadata.key": Object.keys(row.metadata),
    "metadata.value": Object.values(row.metadata),
  };
  assert.deepEqual(Object.fromEntries(Object.keys(shown).map((name) => [name, metrics[name]])), shown);
  assert.ok(Number(metrics.gateway_processing_time) <= Number(metrics.response_time));
});

test("a row names its saved config by id and version, and the mode of its root", async () => {
  const config = { strategy: { mode: "fallback" }, targets: [{ provider: "echo" }, { provider: "echo" }] };
  const self = await done<{ data: { id: string }[] }>(call(gateway, "GET /admin/workspaces"));
  const saved = await done<{ id: string; slug: string; version_id: string }>(
    call(gateway, "POST /configs", { body: { name: "Modes", config, workspace_id: self.data[0]?.id } }),
  );
  const { metrics } = await detailOf({ "x-gateway-provider": null, "x-gateway-config": saved.slug });
  assert.deepEqual(
    [metrics.mode, metrics.config, metrics.config_id, metrics.config_version_id, metrics.last_used_option_index],
    ["fallback", saved.slug, saved.id, saved.version_id, "config.targets[0]"],
  );
});

test("vectors of embeddings are not stored", async () => {
  answer = {
    status: 200,
    body: { object: "list", model: "e", data: [{ object: "embedding", index: 0, embedding: [0.123456] }] },
  };
  const headers = new Headers({ "content-type": "application/json", "x-gateway-trace-id": "vectors" });
  for (const [name, value] of Object.entries(upstreamHeaders(upstream))) if (value !== null) headers.set(name, value);
  headers.set("x-gateway-api-key", "test-workspace-key-000000");
  const body = JSON.stringify({ model: "e", input: "words to embed" });
  const sent = new Request("http://gateway/v1/embeddings", { method: "POST", headers, body });
  assert.match(await (await gateway.gateway.fetch(sent)).text(), /0\.123456/);
  const row = (await waitForLog(gateway, "vectors")) as Detail;
  assert.match(JSON.stringify(row.request.body), /words to embed/);
  const database = await gateway.openFile();
  const { rows } = await database.read({ sql: "SELECT content FROM log_bodies" });
  assert.ok(!JSON.stringify([row, rows]).includes("0.123456"));
});

test("type=hooks shows the results of guardrails alone; other queries are refused", async () => {
  const hook = {
    type: "guardrail",
    id: "words",
    checks: [{ id: "default.contains", parameters: { words: ["Hello"], operator: "any" } }],
  };
  const config = JSON.stringify({ provider: "echo", before_request_hooks: [hook] });
  const row = await detailOf({ "x-gateway-provider": null, "x-gateway-config": config });
  assert.equal(Reflect.get(row, "hook_verdict"), true);
  const {
    id,
    object,
    before_request_hooks: results,
    ...others
  } = await done<{
    id: string;
    object: string;
    before_request_hooks: { id: string; verdict: boolean }[];
  }>(call(gateway, `GET /logs/${row.id}?type=hooks&path_format=v2&created_at=2026-01-01T00:00:00Z`));
  assert.deepEqual([id, object, results[0]?.id, others], [row.id, "log_hooks", "words", { after_request_hooks: [] }]);
  for (const query of ["type=all", "path_format=v3", "created_at=yesterday", "limit=1"]) {
    const { status, body } = await call(gateway, `GET /logs/${row.id}?${query}`);
    assert.deepEqual([status, Reflect.get(Object(body.error), "param")], [400, query.split("=")[0]]);
  }
});
