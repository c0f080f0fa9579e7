import assert from "node:assert/strict";
import { after, test } from "node:test";
import { RequestMetrics } from "../../src/observability/request-metrics.ts";
import type { ObservedRow } from "../../src/observability/rows.ts";
import { defaultRequestMetrics, type MetricsOptions } from "../../src/observability/settings.ts";
import { createLogThread } from "../../src/serve/log-thread.ts";
import { readProcessStats } from "../../src/serve/process-stats.ts";
import { readSettings } from "../../src/settings.ts";
import { findSamples, type ParsedFamily, readExposition, sumOf } from "../support/exposition.ts";
import {
  adminKey,
  createTestGateway,
  type TestGateway,
  type TestGatewayOptions,
  workspaceKey,
} from "../support/gateway.ts";
import { startServer } from "../support/upstream.ts";

const gateways: TestGateway[] = [];
after(async () => {
  for (const one of gateways) await one.close();
});

async function start(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const made = await createTestGateway(options);
  gateways.push(made);
  if (options.metrics !== false) await made.fetch("/metrics", { headers: { "x-gateway-api-key": adminKey } });
  return made;
}

function chat(gateway: TestGateway, headers: Record<string, string> = {}, body: object = {}): Promise<Response> {
  const request = { model: "echo-1", messages: [{ role: "user", content: "Hello" }], ...body };
  return gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: {
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": "echo",
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify(request),
  });
}

async function read(gateway: TestGateway, headers: Record<string, string> = {}): Promise<Map<string, ParsedFamily>> {
  const response = await gateway.fetch("/metrics", { headers: { "x-gateway-api-key": adminKey, ...headers } });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  return readExposition(await response.text());
}

/** The metrics once so many requests are counted. */
async function readAt(gateway: TestGateway, requests: number): Promise<Map<string, ParsedFamily>> {
  for (;;) {
    const families = await read(gateway);
    // the thread counts rows before the queue learns that they are stored
    const isStored = sumOf(families, "gateway_log_queue_rows") === 0;
    if (isStored && sumOf(families, "request_count") >= requests) return families;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

for (const [what, options] of [
  ["in place", {}],
  ["on the thread", { inFile: true, createLogWriter: createLogThread }],
] as const) {
  test(`GET /metrics shows what was sent, counted ${what}`, async () => {
    const gateway = await start({ ...options, processStats: readProcessStats });
    for (let count = 0; count < 3; count++) await (await chat(gateway)).text();
    await (await chat(gateway, {}, { stream: true })).text();
    await (await chat(gateway, { "x-gateway-echo-status": "503" })).text();
    await (await chat(gateway, {}, { messages: "no list" })).text();
    await (await gateway.fetch("/v1/logs", { headers: { "x-gateway-api-key": "no-such-key-00000000" } })).text();
    const families = await readAt(gateway, 6);
    const counted = (labels: Record<string, string>) => sumOf(families, "request_count", labels);
    assert.equal(counted({}), 6);
    assert.equal(counted({ code: "200", stream: "0", endpoint: "chatComplete", provider: "echo", method: "POST" }), 3);
    assert.equal(counted({ code: "200", stream: "1", source: "provider" }), 1);
    assert.equal(counted({ code: "503", source: "provider" }), 1);
    assert.equal(counted({ code: "400", source: "gateway", provider: "N/A" }), 1);
    assert.equal(counted({ cacheStatus: "DISABLED", app: "gateway" }), 6);
    assert.equal(sumOf(families, "http_request_duration_seconds_count"), 6);
    assert.equal(sumOf(families, "gateway_request_duration_milliseconds_count"), 6);
    assert.equal(sumOf(families, "llm_request_duration_milliseconds_count"), 5);
    assert.equal(sumOf(families, "gateway_refused_requests_total", { code: "401" }), 1);
    assert.equal(sumOf(families, "gateway_log_rows_dropped_total"), 0);
    assert.equal(sumOf(families, "gateway_log_queue_rows"), 0);
    assert.ok(sumOf(families, "node_process_resident_memory_bytes") > 1_000_000);
    assert.equal(findSamples(families, "gateway_build_info").length, 1);
    const rows = await gateway.fetch("/v1/logs", { headers: { "x-gateway-api-key": adminKey } });
    const { data }: { data: { usage: { total_tokens: number } | null }[] } = JSON.parse(await rows.text());
    const tokens = data.reduce((sum, { usage }) => sum + (usage?.total_tokens ?? 0), 0);
    assert.ok(tokens > 0);
    assert.equal(sumOf(families, "llm_token_sum"), tokens);
    const text = JSON.stringify([...families]);
    for (const secret of [adminKey, workspaceKey, "no-such-key"]) assert.ok(!text.includes(secret));
  });
}

async function statusOf(gateway: TestGateway, headers: Record<string, string> = {}): Promise<number> {
  const response = await gateway.fetch("/metrics", { headers });
  await response.text();
  return response.status;
}

test("GET /metrics is for admin keys of the first organisation and the operator's token", async () => {
  const token = "obvious-fake-scrape-token";
  const gateway = await start({ metrics: { token } });
  assert.equal(await statusOf(gateway), 401);
  assert.equal(await statusOf(gateway, { "x-gateway-api-key": workspaceKey }), 403);
  assert.equal(await statusOf(gateway, { "x-gateway-api-key": adminKey }), 200);
  assert.equal(await statusOf(gateway, { authorization: `Bearer ${adminKey}` }), 200);
  assert.equal(await statusOf(gateway, { authorization: `Bearer ${token}` }), 200);
  assert.equal(await statusOf(gateway, { authorization: `Bearer ${token}x` }), 401);
  assert.equal(await statusOf(gateway, { "x-gateway-api-key": token }), 401);
});

test("GET /metrics is open on demand, and absent on demand", async () => {
  assert.equal(await statusOf(await start({ metrics: { isOpen: true } })), 200);
  const without = await start({ metrics: false });
  assert.equal(await statusOf(without, { "x-gateway-api-key": adminKey }), 404);
  const document = await (await without.fetch("/openapi.json")).text();
  assert.ok(!document.includes('"/metrics"'));
  assert.equal((await chat(without)).status, 200);
});

test("GET /metrics has labels that tenants choose only on demand, with their tenant and without secrets", async () => {
  const metrics: MetricsOptions = { hasModel: true, metadataKeys: ["team"], fixedLabels: { region: 'e"u\n\\' } };
  const gateway = await start({ metrics });
  const metadata = JSON.stringify({ team: 'a"b\\c', other: "unlisted", password: "hunter2-hunter2" });
  await chat(gateway, { "x-gateway-metadata": metadata });
  await chat(gateway);
  const families = await readAt(gateway, 2);
  const [sample] = findSamples(families, "request_count", { metadata_team: 'a"b\\c' });
  assert.equal(sample?.labels.model, "echo-1");
  assert.equal(sample?.labels.region, 'e"u\n\\');
  assert.match(sample?.labels.organisation_id ?? "", /^[0-9a-f-]{36}$/);
  assert.equal(sumOf(families, "request_count", { metadata_team: "N/A" }), 1);
  assert.ok(!/unlisted|hunter2/.test(JSON.stringify([...families])));
});

test("requests count from the first time somebody reads the metrics, or from the start with a token", async () => {
  const [lazy, eager] = [
    await createTestGateway(),
    await createTestGateway({ metrics: { token: "obvious-fake-token" } }),
  ];
  gateways.push(lazy, eager);
  for (const gateway of [lazy, eager]) {
    await chat(gateway);
    await gateway.fetch("/v1/logs", { headers: { "x-gateway-api-key": adminKey } });
  }
  await readAt(eager, 1);
  await read(lazy);
  await chat(lazy);
  assert.equal(sumOf(await readAt(lazy, 1), "request_count"), 1);
});

/** A row with a model of an organisation. */
function rowOf(organisation: string, model: string): ObservedRow {
  const details = {
    id: "01",
    organisation_id: organisation,
    workspace_id: null,
    api_key_id: "",
    status: 200,
    provider: "echo",
    model,
    trace_id: "01",
    method: "POST",
    path: "/v1/chat/completions",
    operation: "chat",
    span_id: null,
    parent_span_id: null,
    span_name: null,
    metadata: {},
    stream: false,
    duration_ms: 12,
    first_byte_ms: 5,
    upstream_ms: 10,
    upstream_url: null,
    upstream_calls: 1,
    usage: null,
    cost: 0.5,
    cost_currency: "USD",
    priced: true,
    error: null,
  } as const;
  return { details, measures: [5_000_000, 1, 3, 200], index: 0 };
}

test("RequestMetrics has a bounded number of series, and one organisation never takes all of them", () => {
  const metrics = new RequestMetrics({ ...defaultRequestMetrics, hasModel: true, maxSeries: 20 }, () => "chatComplete");
  for (let index = 0; index < 500; index++) metrics.add([rowOf("one", `model-${index}`)]);
  for (let index = 0; index < 5; index++) metrics.add([rowOf("two", `model-${index}`)]);
  for (let index = 0; index < 500; index++) metrics.add([rowOf(`tenant-${index}`, "m")]);
  const families = readExposition(metrics.toText());
  assert.equal(findSamples(families, "request_count").length, 20);
  assert.equal(findSamples(families, "request_count", { organisation_id: "one" }).length, 10);
  assert.equal(findSamples(families, "request_count", { organisation_id: "two" }).length, 5);
  assert.equal(sumOf(families, "request_count"), 1_005);
  const other = { organisation_id: "other", model: "other", method: "other", code: "other" };
  assert.equal(sumOf(families, "request_count", other), 986);
  assert.equal(sumOf(families, "gateway_metric_series_exceeded_total"), 986);
  assert.ok(Math.abs(sumOf(families, "llm_cost_sum") - 5.025) < 1e-9);
});

test("RequestMetrics puts times into the right buckets, and reports sizes by range", () => {
  const metrics = new RequestMetrics(defaultRequestMetrics, () => "chatComplete");
  metrics.add([rowOf("one", "m")]);
  const families = readExposition(metrics.toText());
  const upTo = (name: string, le: string) => sumOf(families, `${name}_bucket`, { le });
  assert.deepEqual(
    ["5", "10", "30"].map((le) => upTo("llm_request_duration_milliseconds", le)),
    [0, 1, 1],
  );
  assert.deepEqual(
    ["1", "2"].map((le) => upTo("gateway_request_duration_milliseconds", le)),
    [0, 1],
  );
  assert.deepEqual(
    ["2", "5"].map((le) => upTo("llm_last_byte_diff_duration_milliseconds", le)),
    [0, 1],
  );
  assert.equal(sumOf(families, "http_request_duration_seconds_sum"), 0.012);
  assert.equal(sumOf(families, "request_count", { payloadSizeRange: "2-5MB" }), 1);
});

test("the gateway pushes its metrics, and a last time when it closes", async () => {
  const pushed: { path: string; authorization: string | undefined; text: string }[] = [];
  const server = await startServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece) => (text += piece));
    request.on("end", () => {
      pushed.push({ path: `${request.method} ${request.url}`, authorization: request.headers.authorization, text });
      response.writeHead(200).end();
    });
  });
  const { gateway: settings } = readSettings({
    PROMETHEUS_PUSH_ENABLED: "true",
    PROMETHEUS_GATEWAY_URL: `${server.url}/below/`,
    PROMETHEUS_GATEWAY_AUTH: "user:password",
    SERVICE_NAME: "my app",
  });
  const gateway = await createTestGateway({ metrics: settings.metrics ?? false });
  await (await chat(gateway)).text();
  await gateway.close();
  await server.close();
  const last = pushed.at(-1);
  assert.match(last?.path ?? "", /^PUT \/below\/metrics\/job\/my%20app\/instance\/[0-9a-f-]{36}$/);
  assert.equal(last?.authorization, "Basic dXNlcjpwYXNzd29yZA==");
  assert.equal(sumOf(readExposition(last?.text ?? ""), "request_count", { app: "my app" }), 1);
});

for (const [environment, message] of [
  [{ PROMETHEUS_PUSH_ENABLED: "true" }, /PROMETHEUS_GATEWAY_URL and PROMETHEUS_GATEWAY_AUTH must be set/],
  [{ PROMETHEUS_PUSH_ENABLED: "true", PROMETHEUS_GATEWAY_URL: "https://push.example.com" }, /PROMETHEUS_GATEWAY_AUTH/],
  [
    { PROMETHEUS_PUSH_ENABLED: "true", PROMETHEUS_GATEWAY_URL: "push.example.com", PROMETHEUS_GATEWAY_AUTH: "a:b" },
    /PROMETHEUS_GATEWAY_URL/,
  ],
  [{ METRICS_TOKEN: "short" }, /METRICS_TOKEN/],
  [{ PROMETHEUS_HISTOGRAM_BUCKETS: "1,1" }, /PROMETHEUS_HISTOGRAM_BUCKETS/],
  [{ PROMETHEUS_HTTP_DURATION_BUCKETS: "1,x" }, /PROMETHEUS_HTTP_DURATION_BUCKETS/],
  [{ PROMETHEUS_EXTRA_LABELS: "model=x" }, /PROMETHEUS_EXTRA_LABELS/],
  [
    { PROMETHEUS_INCLUDE_METADATA_LABELS: "true", PROMETHEUS_LABELS_METADATA_ALLOWED_KEYS: "a-b,a_b" },
    /PROMETHEUS_LABELS_METADATA_ALLOWED_KEYS/,
  ],
] as const) {
  test(`readSettings() refuses ${JSON.stringify(environment)}`, () => {
    assert.throws(() => readSettings(environment), message);
  });
}

test("readSettings() reads settings of metrics", () => {
  const { metrics } = readSettings({
    METRICS_OPEN: "true",
    PROMETHEUS_HISTOGRAM_BUCKETS: "1, 5.5",
    PROMETHEUS_INCLUDE_MODEL_LABEL: "true",
    PROMETHEUS_LABELS_METADATA_ALLOWED_KEYS: "team",
    PROMETHEUS_EXTRA_LABELS: "region=eu",
    NODE_ENV: "production",
  }).gateway;
  assert.ok(metrics);
  assert.deepEqual(metrics.millisecondsBuckets, [1, 5.5]);
  assert.deepEqual([metrics.isOpen, metrics.hasModel, metrics.metadataKeys], [true, true, []]);
  assert.deepEqual(metrics.fixedLabels, { app: "gateway", env: "production", region: "eu" });
  assert.equal(readSettings({ ENABLE_PROMETHEUS: "false" }).gateway.metrics, false);
});
