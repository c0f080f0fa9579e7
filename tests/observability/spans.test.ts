import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { bytesField, numberField } from "../../src/lib/protobuf.ts";
import { SpanExporter } from "../../src/observability/otlp/exporter.ts";
import { defaultOtlp, type OtlpSettings } from "../../src/observability/otlp/settings.ts";
import type { TracedRow } from "../../src/observability/otlp/spans.ts";
import { createLogThread } from "../../src/serve/log-thread.ts";
import { readSettings } from "../../src/settings.ts";
import { type CollectedSpan, type Collector, startCollector } from "../support/collector.ts";
import { eventually as waitUntil } from "../support/eventually.ts";
import { readExposition, sumOf } from "../support/exposition.ts";
import { createTestGateway, type TestGateway, type TestGatewayOptions, workspaceKey } from "../support/gateway.ts";
import { eventually, startServer } from "../support/upstream.ts";

const open: { close(): Promise<void> }[] = [];
after(async () => {
  for (const one of open.reverse()) await one.close();
});

async function collect(...given: Parameters<typeof startCollector>): Promise<Collector> {
  const collector = await startCollector(...given);
  open.push(collector);
  return collector;
}

function otlpTo(collector: Pick<Collector, "url">, changes: Partial<OtlpSettings> = {}): OtlpSettings {
  return { ...defaultOtlp, url: `${collector.url}/v1/traces`, delayMs: 10, retryMs: 1, ...changes };
}

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

function chat(gateway: TestGateway, headers: Record<string, string> = {}, body: object = {}): Promise<Response> {
  const request = { model: "gpt-4o", messages: [{ role: "user", content: "Hello" }], ...body };
  return gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: { "x-gateway-api-key": workspaceKey, "content-type": "application/json", ...headers },
    body: JSON.stringify(request),
  });
}

/** A provider that is OpenAI for the gateway, and what was sent to it. */
async function startProvider(status = 200) {
  const received: Record<string, string | string[] | undefined>[] = [];
  const server = await startServer((request, response) => {
    received.push(request.headers);
    request.resume();
    request.on("end", () => {
      const usage = {
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 110,
        prompt_tokens_details: { cached_tokens: 40 },
        completion_tokens_details: { reasoning_tokens: 4 },
      };
      const message = { role: "assistant", content: "Secret answer sk-abcdefghijklmnopqrstuvwxyz123456" };
      const body = {
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1,
        model: "gpt-4o-2024-08-06",
        choices: [{ index: 0, message, finish_reason: "stop" }],
        usage,
      };
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  });
  open.push(server);
  const headers = { "x-gateway-provider": "openai", "x-gateway-custom-host": `${server.url}/v1` };
  return {
    received,
    port: server.port,
    headers: { ...headers, authorization: "Bearer sk-fake-provider-key-000000000000" },
  };
}

async function trace(
  options: TestGatewayOptions,
  settings: Partial<OtlpSettings>,
  run: (gateway: TestGateway) => Promise<unknown>,
): Promise<{ collector: Collector; spans: CollectedSpan[] }> {
  const collector = await collect();
  const gateway = await createTestGateway({ ...options, otlp: otlpTo(collector, settings) });
  await run(gateway);
  await gateway.close();
  return { collector, spans: collector.spans };
}

const onThread = { inFile: true, createLogWriter: createLogThread };

for (const [what, options, settings] of [
  ["binary", {}, {}],
  ["JSON", {}, { encoding: "json" }],
  ["compressed binary, from the thread", onThread, { compression: "gzip" }],
  ["compressed JSON, from the thread", onThread, { encoding: "json", compression: "gzip" }],
] as const) {
  test(`spans of a request and its call arrive as ${what}`, async () => {
    const provider = await startProvider();
    const sent = { ...provider.headers, traceparent, "x-gateway-metadata": '{"team":"harbour"}' };
    const body = { temperature: 1, max_tokens: 50, stop: ["END"], seed: 7 };
    const changes = { ...settings, headers: { "x-collector": "yes" }, resource: { "service.name": "mine" } };
    const { collector, spans } = await trace(options, changes, async (gateway) => {
      await (await chat(gateway, sent, body)).text();
    });
    assert.deepEqual(
      [collector.requests[0]?.path, collector.requests[0]?.headers["x-collector"]],
      ["/v1/traces", "yes"],
    );
    const [root, call] = spans;
    assert.equal(spans.length, 2);
    assert.ok(root && call);
    assert.deepEqual(
      [root.traceId, root.parentSpanId, root.kind, root.name, root.status, root.resource],
      [
        "0af7651916cd43dd8448eb211c80319c",
        "b7ad6b7169203331",
        2,
        "POST /v1/chat/completions",
        { code: 1, message: "200" },
        { "service.name": "mine" },
      ],
    );
    assert.match(root.spanId, /^[0-9a-f]{16}$/);
    assert.equal(root.attributes["metadata.team"], "harbour");
    assert.equal(root.attributes["http.response.status_code"], 200n);
    assert.match(String(root.attributes["gateway.organisation.id"]), /^[0-9a-f-]{36}$/);
    assert.equal(typeof root.attributes["gateway.cost.usd"], "number");
    assert.deepEqual(
      [call.traceId, call.parentSpanId, call.kind, call.name],
      [root.traceId, root.spanId, 3, "chat gpt-4o"],
    );
    assert.notEqual(call.spanId, root.spanId);
    const { "gateway.organisation.id": _, "gateway.workspace.id": __, ...attributes } = call.attributes;
    assert.deepEqual(attributes, {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.system": "openai",
      "gen_ai.request.model": "gpt-4o",
      "gen_ai.request.temperature": 1,
      "gen_ai.request.max_tokens": 50n,
      "gen_ai.request.seed": 7n,
      "gen_ai.request.stop_sequences": ["END"],
      "gen_ai.response.id": "chatcmpl-1",
      "gen_ai.response.model": "gpt-4o-2024-08-06",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 100n,
      "gen_ai.usage.output_tokens": 10n,
      "gen_ai.usage.cache_read.input_tokens": 40n,
      "gen_ai.usage.reasoning.output_tokens": 4n,
      "http.response.status_code": 200n,
      "server.address": "127.0.0.1",
      "server.port": BigInt(provider.port),
    });
    const [start, end] = [BigInt(call.startTimeUnixNano), BigInt(call.endTimeUnixNano)];
    assert.ok(BigInt(root.startTimeUnixNano) <= start && start <= end);
    assert.ok(!/Hello|Secret answer|sk-|test-workspace-key/.test(collector.requests.map(({ text }) => text).join("")));
    assert.equal(provider.received[0]?.traceparent, `00-${root.traceId}-${root.spanId}-01`);
  });
}

test("messages are in spans only on demand, masked, and never where the request keeps them out of the log", async () => {
  const provider = await startProvider();
  const { spans, collector } = await trace({}, { capturesContent: true }, async (gateway) => {
    const messages = [
      { role: "system", content: "Be brief" },
      { role: "user", content: [{ type: "text", text: "My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123" }] },
    ];
    await (await chat(gateway, provider.headers, { messages })).text();
    await (await chat(gateway, { ...provider.headers, "x-gateway-debug": "false" }, { messages })).text();
  });
  const [first, second] = spans.filter(({ kind }) => kind === 3);
  const read = (name: string) => JSON.parse(String(first?.attributes[name]));
  assert.deepEqual(read("gen_ai.input.messages")[0], {
    role: "system",
    parts: [{ type: "text", content: "Be brief" }],
  });
  assert.equal(read("gen_ai.input.messages")[1].parts[0].content, "My key is [masked]");
  assert.deepEqual(read("gen_ai.output.messages"), [
    { role: "assistant", parts: [{ type: "text", content: "Secret answer [masked]" }], finish_reason: "stop" },
  ]);
  assert.equal(second?.attributes["gen_ai.input.messages"], undefined);
  assert.ok(!/sk-|test-workspace-key/.test(collector.requests.map(({ text }) => text).join("")));
});

test("each call of a request is a span, and each guardrail", async () => {
  const [broken, working] = [await startProvider(503), await startProvider()];
  const target = ({ port }: { port: number }) => ({
    provider: "openai",
    api_key: "sk-fake-provider-key-000000000000",
    custom_host: `http://127.0.0.1:${port}/v1`,
  });
  const config = {
    strategy: { mode: "fallback" },
    targets: [target(broken), target(working)],
    before_request_hooks: [
      {
        type: "guardrail",
        id: "words",
        checks: [{ id: "default.contains", parameters: { words: ["x"], operator: "none" } }],
      },
    ],
  };
  const { spans } = await trace({}, {}, async (gateway) => {
    const response = await chat(gateway, { "x-gateway-config": JSON.stringify(config) });
    assert.equal(response.status, 200, await response.clone().text());
    await response.text();
  });
  const [root] = spans;
  const calls = spans.filter(({ kind }) => kind === 3);
  assert.deepEqual(
    calls.map(({ status, attributes }) => [
      status.code,
      attributes["error.type"],
      attributes["gen_ai.usage.input_tokens"],
    ]),
    [
      [2, "503", undefined],
      [1, undefined, 100n],
    ],
  );
  const hooks = spans.filter(({ name }) => name.startsWith("gateway.guardrail"));
  assert.equal(hooks[0]?.attributes["gateway.guardrail.phase"], "input");
  assert.equal(hooks[0]?.events[0]?.attributes["gateway.guardrail.check.id"], "default.contains");
  assert.ok(spans.slice(1).every(({ parentSpanId }) => parentSpanId === root?.spanId));
  assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
});

for (const [what, options, settings] of [
  ["binary", {}, {}],
  ["JSON from the thread", onThread, { encoding: "json" }],
] as const) {
  test(`guardrails that run after the response are spans of its trace, as ${what}`, async () => {
    const provider = await startProvider();
    const contains = (words: string[]) => ({ "default.contains": { words, operator: "none" }, async: true });
    const config = JSON.stringify({
      input_guardrails: [{ "default.contains": { words: ["x"], operator: "none" } }, contains(["Hello"])],
      output_guardrails: [contains(["nothing of this"])],
    });
    const { spans } = await trace(options, settings, async (gateway) => {
      const response = await chat(gateway, { ...provider.headers, traceparent, "x-gateway-config": config });
      assert.equal(response.status, 200, await response.clone().text());
      await response.text();
    });
    const root = spans.find(({ kind }) => kind === 2);
    const hooks = spans.filter(({ name }) => name.startsWith("gateway.guardrail"));
    assert.deepEqual(
      hooks
        .map(({ attributes: of, events }) => [
          of["gateway.guardrail.async"],
          of["gateway.guardrail.phase"],
          of["gateway.guardrail.verdict"],
          events[0]?.attributes["gateway.guardrail.check.id"],
        ])
        .sort(),
      [
        [false, "input", true, "default.contains"],
        [true, "input", false, "default.contains"],
        [true, "output", true, "default.contains"],
      ],
    );
    for (const { traceId, parentSpanId } of hooks) {
      assert.deepEqual([traceId, parentSpanId], ["0af7651916cd43dd8448eb211c80319c", root?.spanId]);
    }
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
    assert.equal(spans.length, 5);
  });
}

test("spans and metrics say how the cache served a request", async () => {
  const provider = await startProvider();
  const config = JSON.stringify({ cache: { mode: "simple", max_age: 60 } });
  const seen = new Map<unknown, number>();
  let metrics = "";
  const { spans } = await trace({ metrics: { isOpen: true } }, {}, async (gateway) => {
    const sent = { ...provider.headers, "x-gateway-config": config };
    for (let count = 0; count < 2; count++) await (await chat(gateway, sent)).text();
    await waitUntil("both requests are counted", async () => {
      metrics = await (await gateway.fetch("/metrics")).text();
      return metrics.includes('cacheStatus="HIT"');
    });
  });
  for (const { attributes } of spans) {
    const status = attributes["gateway.cache_status"];
    if (status !== undefined) seen.set(status, (seen.get(status) ?? 0) + 1);
  }
  assert.deepEqual(Object.fromEntries(seen), { MISS: 1, HIT: 1 });
  assert.match(metrics, /request_count\{[^}]*cacheStatus="MISS"[^}]*\} 1/);
});

test("a trace id that is a UUID is used without hyphens, any other one as its digest; failures have the status error", async () => {
  const uuid = "123e4567-e89b-12d3-a456-426614174000";
  const { spans } = await trace({}, {}, async (gateway) => {
    const echo = { "x-gateway-provider": "echo" };
    await (await chat(gateway, { ...echo, "x-gateway-trace-id": uuid })).text();
    await (await chat(gateway, { ...echo, "x-gateway-trace-id": "my trace", "x-gateway-echo-status": "429" })).text();
  });
  const roots = spans.filter(({ kind }) => kind === 2);
  const digest = createHash("sha256").update("my trace").digest("hex").slice(0, 32);
  assert.deepEqual(
    roots.map(({ traceId, status }) => [traceId, status]),
    [
      [uuid.replaceAll("-", ""), { code: 1, message: "200" }],
      [digest, { code: 2, message: "429" }],
    ],
  );
});

test("traceparent and tracestate go to the provider as they came where this is wanted, and only valid ones", async () => {
  const provider = await startProvider();
  const gateway = await createTestGateway({ forwardsTraceparent: true });
  open.push(gateway);
  for (const headers of [{ traceparent, tracestate: "a=1" }, {}, { traceparent: "00-0-0-0", tracestate: "a=1" }]) {
    await (await chat(gateway, { ...provider.headers, ...headers } as Record<string, string>)).text();
  }
  assert.deepEqual(
    provider.received.map((headers) => [headers.traceparent, headers.tracestate]),
    [
      [traceparent, "a=1"],
      [undefined, undefined],
      [undefined, undefined],
    ],
  );
});

test("a provider gets the gateway's span as parent, its flags and tracestate as they came", async () => {
  const provider = await startProvider();
  const gateway = await createTestGateway();
  open.push(gateway);
  const span = "00f067aa0ba902b7";
  for (const flags of ["00", "01"]) {
    const sent = { traceparent: traceparent.replace(/01$/, flags), tracestate: "a=1,b=2", "x-gateway-span-id": span };
    await (await chat(gateway, { ...provider.headers, ...sent })).text();
  }
  assert.deepEqual(
    provider.received.map((headers) => [headers.traceparent, headers.tracestate]),
    ["00", "01"].map((flags) => [`00-0af7651916cd43dd8448eb211c80319c-${span}-${flags}`, "a=1,b=2"]),
  );
});

/** A row on its way to a collector. */
function rowOf(id: string, contents: TracedRow["contents"] = {}): TracedRow {
  const details = {
    id: `01J00000000000000000${id.padStart(6, "0")}`,
    organisation_id: "o",
    workspace_id: null,
    api_key_id: "",
    status: 200,
    provider: null,
    model: null,
    trace_id: "t",
    method: "POST",
    path: "/v1/chat/completions",
    operation: "chat",
    span_id: null,
    parent_span_id: null,
    span_name: null,
    metadata: {},
    stream: false,
    duration_ms: 12,
    first_byte_ms: null,
    upstream_ms: null,
    upstream_url: null,
    upstream_calls: 0,
    usage: null,
    cost: 0,
    cost_currency: "USD",
    priced: true,
    error: null,
  } as const;
  return { details, measures: null, index: 0, contents };
}

function exporterTo(collector: Pick<Collector, "url">, changes: Partial<OtlpSettings> = {}) {
  const warnings: string[] = [];
  const exporter = new SpanExporter(otlpTo(collector, changes), {
    outbound: (url, { origin: _, ...init }) => fetch(url, { ...init, redirect: "manual" } as RequestInit),
    warn: (message) => warnings.push(message),
    now: Date.now,
    providerNames: {},
    random: () => 0.5,
  });
  const read = (name: string) => sumOf(readExposition(exporter.toText()), name);
  return { exporter, warnings, read };
}

for (const status of [429, 502, 503, 504]) {
  test(`a collector that responds with ${status} gets the same spans again`, async () => {
    const collector = await collect((attempt) => (attempt < 3 ? { status } : { status: 200 }));
    const { exporter, warnings, read } = exporterTo(collector);
    exporter.add([rowOf("1"), rowOf("2")]);
    await eventually(() => read("gateway_otlp_spans_exported_total") === 2, "the spans arrive");
    assert.equal(collector.requests.length, 3);
    assert.deepEqual([read("gateway_otlp_failures_total"), read("gateway_otlp_requests_dropped_total")], [2, 0]);
    assert.equal(warnings.length, 1);
    await exporter.close();
  });
}

const partialJson = '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too\\nold"}}';
const partialBinary = new Uint8Array(bytesField(1, [...numberField(1, 2), ...bytesField(2, "too\nold")]));
for (const [name, body, contentType, rejected] of [
  ["JSON", partialJson, "application/json", 2],
  ["Protocol Buffers", partialBinary, "application/x-protobuf", 2],
  ["JSON with a number", '{"partialSuccess":{"rejectedSpans":2,"errorMessage":"too\\nold"}}', "application/json", 2],
  ["more than were sent", '{"partialSuccess":{"rejectedSpans":"99","errorMessage":"too old"}}', "application/json", 3],
  ["a warning alone", '{"partialSuccess":{"errorMessage":"too old"}}', "application/json", 0],
] as const) {
  test(`spans that a collector rejects in a response with 200 are counted and reported once: ${name}`, async () => {
    const collector = await collect(() => ({ status: 200, headers: { "content-type": contentType }, body }));
    const { exporter, warnings, read } = exporterTo(collector, { maxBatch: 3 });
    exporter.add(["1", "2", "3"].map((id) => rowOf(id)));
    await eventually(() => collector.requests.length === 1, "the spans arrive");
    exporter.add(["4", "5", "6"].map((id) => rowOf(id)));
    await exporter.close();
    assert.equal(collector.requests.length, 2);
    const counts = ["exported", "rejected"].map((kind) => read(`gateway_otlp_spans_${kind}_total`));
    assert.deepEqual(counts, [6 - 2 * rejected, 2 * rejected]);
    assert.deepEqual([read("gateway_otlp_failures_total"), read("gateway_otlp_requests_dropped_total")], [0, 0]);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", /too.old/);
  });
}

for (const body of [
  "",
  "{",
  '{"partialSuccess":7}',
  "x".repeat(200_000),
  '{"partialSuccess":{"rejectedSpans":"-1"}}',
]) {
  test(`a response with 200 that says nothing means that all were taken: ${body.slice(0, 40)}`, async () => {
    const collector = await collect(() => ({ status: 200, body }));
    const { exporter, warnings, read } = exporterTo(collector);
    exporter.add([rowOf("1")]);
    await exporter.close();
    assert.deepEqual([read("gateway_otlp_spans_exported_total"), warnings.length], [1, 0]);
  });
}

test("the pause before a retry is the one that retry-after asks for", async () => {
  const collector = await collect((attempt) =>
    attempt === 1 ? { status: 429, headers: { "retry-after": "0" } } : { status: 200 },
  );
  // without the header, the pause would be 30 seconds
  const { exporter, read } = exporterTo(collector, { retryMs: 600_000 });
  exporter.add([rowOf("1")]);
  await eventually(() => read("gateway_otlp_spans_exported_total") === 1, "the span arrives");
  await exporter.close();
});

for (const status of [302, 400, 401, 500]) {
  test(`spans that a collector refuses with ${status} are dropped and counted`, async () => {
    const collector = await collect(() => ({ status, headers: { location: "/elsewhere" } }));
    const { exporter, read } = exporterTo(collector);
    exporter.add([rowOf("1")]);
    await exporter.close();
    assert.equal(read("gateway_otlp_requests_dropped_total"), 1);
    assert.equal(collector.requests.length, 1);
  });
}

test("memory is bounded while the collector hangs, and drops are counted", async () => {
  const collector = await collect(() => ({ status: 200, hangs: true }));
  const { exporter, read } = exporterTo(collector, { maxWaiting: 10, maxBatch: 4, timeoutMs: 60_000 });
  for (let index = 0; index < 100; index++) exporter.add([rowOf(String(index))]);
  await eventually(() => collector.requests.length === 1, "the first batch is sent");
  assert.equal(read("gateway_otlp_waiting_requests"), 10);
  assert.equal(read("gateway_otlp_requests_dropped_total"), 90);
  await collector.close();
  await exporter.close();
});

test("memory is bounded by size too", async () => {
  const { exporter, read } = exporterTo({ url: "http://127.0.0.1:1" }, { delayMs: 600_000 });
  const long = "x".repeat(1024 * 1024);
  for (let index = 0; index < 100; index++) exporter.add([rowOf(String(index), { "gen_ai.input.messages": long })]);
  assert.ok(read("gateway_otlp_waiting_requests") <= 16);
  assert.ok(read("gateway_otlp_requests_dropped_total") >= 84);
  await exporter.close();
});

test("a gateway whose collector is away serves, and shows the dropped spans in its metrics", async () => {
  const otlp = otlpTo({ url: "http://127.0.0.1:1" });
  const gateway = await createTestGateway({ otlp, metrics: { isOpen: true } });
  for (let count = 0; count < 3; count++) {
    assert.equal((await chat(gateway, { "x-gateway-provider": "echo" })).status, 200);
  }
  for (;;) {
    const families = readExposition(await (await gateway.fetch("/metrics")).text());
    if (sumOf(families, "gateway_otlp_requests_dropped_total") === 3) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await gateway.close();
  assert.ok(gateway.warnings.some((warning) => warning.startsWith("Cannot send spans")));
});

test("readSettings() reads the variables of OpenTelemetry, and the other names for them", () => {
  const { otlp } = readSettings({
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector.internal:4318/",
    OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Bearer%20fake,x-team=a",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
    OTEL_EXPORTER_OTLP_TIMEOUT: "2000",
    OTEL_BSP_MAX_QUEUE_SIZE: "100",
    OTEL_SERVICE_NAME: "edge",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test,service.name=other",
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "span_only",
  }).gateway;
  assert.deepEqual(otlp, {
    ...defaultOtlp,
    url: "http://collector.internal:4318/v1/traces",
    headers: { authorization: "Bearer fake", "x-team": "a" },
    encoding: "json",
    compression: "gzip",
    timeoutMs: 2_000,
    maxWaiting: 100,
    maxBatch: 100,
    resource: { "deployment.environment.name": "test", "service.name": "edge" },
    capturesContent: true,
  });
  const other = { OTEL_PUSH_ENABLED: "true", OTEL_ENDPOINT: "https://c.example.com" };
  assert.equal(readSettings(other).gateway.otlp?.url, "https://c.example.com/v1/traces");
  const whole = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://c.example.com/in" };
  assert.equal(readSettings(whole).gateway.otlp?.url, "https://c.example.com/in");
  for (const off of [{}, { ...other, OTEL_PUSH_ENABLED: "false" }, { ...whole, OTEL_SDK_DISABLED: "true" }]) {
    assert.equal(readSettings(off).gateway.otlp, undefined);
  }
});

for (const environment of [
  { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" },
  { OTEL_PUSH_ENABLED: "true" },
  { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
  { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_EXPORTER_OTLP_HEADERS: "no value" },
  { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_EXPORTER_OTLP_HEADERS: "a=b%0Ac" },
  { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_EXPORTER_OTLP_COMPRESSION: "br" },
]) {
  test(`readSettings() refuses ${JSON.stringify(environment)}`, () => {
    assert.throws(() => readSettings(environment), /OTEL_/);
  });
}
