import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Budget } from "../../src/lib/budget.ts";
import { bytesField, numberField, readFields as readWithin } from "../../src/lib/protobuf.ts";
import { call, done } from "../support/control.ts";
import { createTestGateway, type ShownLog, type TestGateway, waitForLog, workspaceKey } from "../support/gateway.ts";

const readFields = (bytes: Uint8Array) => readWithin(bytes, new Budget({ source: "upstream", what: "the answer" }));

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

async function send(body: Uint8Array | string, type: string, headers: Record<string, string> = {}) {
  const sent = { "content-type": type, "x-gateway-api-key": workspaceKey, ...headers };
  // the DOM types want bytes that are not shared between threads; these are not
  const init = { method: "POST", headers: sent, body: body as BodyInit };
  return gateway.gateway.fetch(new Request("http://gateway.test/v1/otel/v1/traces", init));
}

async function gzip(bytes: Uint8Array | string): Promise<Uint8Array> {
  const stream = new Response(bytes as BodyInit).body?.pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

let count = 0;
const newTrace = () => (++count).toString(16).padStart(32, "a");
// in nanoseconds, its nearest number is in the millisecond before
const start = nextInexact(Date.now() - 60_000);
/** The next time whose nanoseconds no number holds, so that their quotient is too small. */
function nextInexact(ms: number): number {
  let next = ms;
  while (Math.trunc(Number(`${next}000000`) / 1e6) === next) next++;
  return next;
}
const nanos = (ms: number) => `${ms}000000`;

const texts = {
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": "openai",
  "gen_ai.request.model": "gpt-4o-mini",
  "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
  "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"Ahoy"}]}]',
  "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Hello sailor"}]}]',
  "user.id": "ada",
};
const counts = { "gen_ai.usage.input_tokens": 1_000, "gen_ai.usage.output_tokens": 500 };

const jsonSpan = (traceId: string, changes: object = {}) => ({
  traceId,
  spanId: "00f067aa0ba902b7",
  parentSpanId: "00f067aa0ba902b6",
  name: "chat gpt-4o-mini",
  kind: 3,
  startTimeUnixNano: nanos(start),
  endTimeUnixNano: nanos(start + 250),
  attributes: [
    ...Object.entries(texts).map(([key, stringValue]) => ({ key, value: { stringValue } })),
    ...Object.entries(counts).map(([key, value]) => ({ key, value: { intValue: String(value) } })),
  ],
  status: {},
  ...changes,
});
const resource = { attributes: [{ key: "service.name", value: { stringValue: "harbour-agent" } }] };
const jsonBody = (...spans: object[]) => JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] });

const hexBytes = (hex: string) => [...(hex.match(/../g) ?? [])].map((pair) => Number.parseInt(pair, 16));
const pair = (key: string, value: number[]) => bytesField(9, [...bytesField(1, key), ...bytesField(2, value)]);
function fixed64(number: number, value: string): number[] {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(value), true);
  return [
    ...numberField(number, 0)
      .slice(0, 1)
      .map((tag) => tag | 1),
    ...new Uint8Array(view.buffer),
  ];
}
/** The span of `jsonSpan`, with fields nobody knows in between. */
function protobufSpan(traceId: string): number[] {
  return [
    ...bytesField(1, hexBytes(traceId)),
    ...bytesField(2, hexBytes("00f067aa0ba902b7")),
    ...bytesField(4, hexBytes("00f067aa0ba902b6")),
    ...bytesField(5, "chat gpt-4o-mini"),
    ...numberField(6, 3),
    ...bytesField(77, "from a later version"),
    ...fixed64(7, nanos(start)),
    ...fixed64(8, nanos(start + 250)),
    ...Object.entries(texts).flatMap(([key, value]) => pair(key, bytesField(1, value))),
    ...Object.entries(counts).flatMap(([key, value]) => pair(key, numberField(3, value))),
    ...bytesField(15, numberField(3, 1)),
  ];
}
function protobufBody(...spans: number[][]): Uint8Array {
  const named = bytesField(1, [...bytesField(1, "service.name"), ...bytesField(2, bytesField(1, "harbour-agent"))]);
  const scope = bytesField(
    2,
    spans.flatMap((span) => bytesField(2, span)),
  );
  return Uint8Array.from(bytesField(1, [...bytesField(1, named), ...scope]));
}

async function assertRow(traceId: string): Promise<ShownLog> {
  const row = await waitForLog(gateway, traceId);
  const { span_id, parent_span_id, span_name, duration_ms, metadata } = Object(row);
  assert.deepEqual([span_id, parent_span_id, span_name], ["00f067aa0ba902b7", "00f067aa0ba902b6", "chat gpt-4o-mini"]);
  assert.deepEqual([row.provider, row.model, row.status, row.operation], ["openai", "gpt-4o-mini", 200, "chat"]);
  assert.deepEqual([row.usage?.input_tokens, row.usage?.output_tokens, row.cost], [1_000, 500, 0.045]);
  assert.ok(Math.abs(duration_ms - 250) < 1, String(duration_ms));
  assert.equal(row.created_at, new Date(start).toISOString());
  assert.deepEqual([metadata._user, metadata["service.name"]], ["ada", "harbour-agent"]);
  assert.match(JSON.stringify(row.request.body), /Ahoy/);
  assert.match(JSON.stringify(row.response.body), /Hello sailor/);
  assert.doesNotMatch(JSON.stringify(row.request.body), /Hello sailor/);
  assert.equal(Reflect.get(row, "source"), "otel");
  return row;
}

for (const coding of ["identity", "gzip"] as const) {
  test(`a JSON span in ${coding} becomes a row, and the answer is JSON`, async () => {
    const traceId = newTrace();
    const body = jsonBody(jsonSpan(traceId));
    const answer = await send(coding === "gzip" ? await gzip(body) : body, "application/json", {
      "content-encoding": coding,
    });
    assert.deepEqual([answer.status, await answer.json()], [200, {}]);
    await assertRow(traceId);
  });

  test(`a protobuf span in ${coding} becomes a row, and the answer is protobuf`, async () => {
    const traceId = newTrace();
    const body = protobufBody(protobufSpan(traceId));
    const answer = await send(coding === "gzip" ? await gzip(body) : body, "application/x-protobuf", {
      "content-encoding": coding,
    });
    assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, "application/x-protobuf"]);
    assert.equal((await answer.arrayBuffer()).byteLength, 0);
    await assertRow(traceId);
  });
}

for (const [status, wanted] of [
  [{ code: 1 }, 200],
  [{ code: 2, message: "the mast broke" }, 500],
  [{ code: 0 }, 200],
  [{ code: "STATUS_CODE_ERROR" }, 500],
  [undefined, 200],
] as const) {
  test(`a span with status ${JSON.stringify(status)} has status ${wanted} in the log`, async () => {
    const traceId = newTrace();
    await send(jsonBody(jsonSpan(traceId, { status })), "application/json");
    const row = await waitForLog(gateway, traceId);
    assert.equal(row.status, wanted);
    assert.equal(
      row.error?.message,
      wanted === 200 ? undefined : status && "message" in status ? "the mast broke" : "The span has failed",
    );
  });
}

test("spans of other systems keep their names, spans of tools have no model", async () => {
  const [first, second] = [newTrace(), newTrace()];
  const of = (key: string, stringValue: string) => ({ attributes: [{ key, value: { stringValue } }] });
  await send(
    jsonBody(jsonSpan(first, of("gen_ai.system", "aws.bedrock")), jsonSpan(second, of("tool", "anchor"))),
    "application/json",
  );
  assert.equal((await waitForLog(gateway, first)).provider, "bedrock");
  const row = await waitForLog(gateway, second);
  assert.deepEqual(
    [row.provider, row.model, row.operation, row.cost, row.metadata.tool],
    [null, null, "otel", 0, "anchor"],
  );
});

test("spans without valid ids are rejected alone, and counted in the answer", async () => {
  const traceId = newTrace();
  const bad = [{ traceId: "short" }, { spanId: "0000000000000000" }].map((changes) => jsonSpan(newTrace(), changes));
  const answer = await send(jsonBody(jsonSpan(traceId), ...bad), "application/json");
  const { partialSuccess } = await answer.json();
  assert.deepEqual([answer.status, partialSuccess.rejectedSpans], [200, "2"]);
  assert.match(partialSuccess.errorMessage, /trace id/);
  await assertRow(traceId);
  const binary = await send(protobufBody([...bytesField(5, "no ids")]), "application/x-protobuf");
  const [partial] = [...readFields(new Uint8Array(await binary.arrayBuffer()))];
  assert.ok(partial?.kind === "bytes");
  const [rejected, message] = [...readFields(partial.value)];
  assert.deepEqual([rejected?.number, rejected?.value], [1, 1n]);
  assert.ok(message?.kind === "bytes" && new TextDecoder().decode(message.value).includes("trace id"));
});

function nested(depth: number): number[] {
  return depth === 0 ? bytesField(1, "x") : bytesField(5, bytesField(1, nested(depth - 1)));
}

test("broken and deep protobuf is refused with 400 and a status message", async () => {
  const whole = protobufBody(protobufSpan(newTrace()));
  const deep = protobufBody([...bytesField(1, hexBytes(newTrace())), ...pair("deep", nested(200))]);
  for (const body of [
    whole.subarray(0, whole.length - 3),
    Uint8Array.of(0),
    Uint8Array.of(11),
    new Uint8Array(11).fill(255),
    deep,
  ]) {
    const answer = await send(body, "application/x-protobuf");
    assert.deepEqual([answer.status, answer.headers.get("content-type")], [400, "application/x-protobuf"]);
    const fields = [...readFields(new Uint8Array(await answer.arrayBuffer()))];
    assert.deepEqual([fields[0]?.number, fields[0]?.value], [1, 3n]);
  }
});

test("every cut and every changed byte of a protobuf request is answered 200 or 400", async () => {
  const whole = protobufBody(protobufSpan(newTrace()));
  for (let at = 0; at < whole.length; at += 7) {
    const changed = Uint8Array.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 0x55;
    for (const body of [whole.subarray(0, at), changed]) {
      assert.ok([200, 400].includes((await send(body, "application/x-protobuf")).status));
    }
  }
});

for (const [name, body, type, status] of [
  ["no JSON", "{", "application/json", 400],
  ["a list", "[]", "application/json", 400],
  ["no list of spans", '{"resourceSpans":1}', "application/json", 400],
  ["another type", "x", "text/plain", 415],
  ["an empty export", "{}", "application/json", 200],
] as const) {
  test(`${name} is answered ${status}`, async () => {
    assert.equal((await send(body, type)).status, status);
  });
}

test("GET is not allowed, and a span counts only if the header asks for it", async () => {
  assert.equal((await call(gateway, "GET /otel/v1/traces", { key: workspaceKey })).status, 405);
  const traceId = newTrace();
  await send(jsonBody(jsonSpan(traceId)), "application/json", { "x-gateway-override-service-log-usage": "true" });
  const { data } = await done<{ data: ShownLog[] }>(
    call(gateway, `GET /logs?trace_id=${(await assertRow(traceId)).trace_id}`),
  );
  assert.equal(data.length, 1);
});

/** A body of one repeated message. */
function repeated(bytes: readonly number[], count: number): Uint8Array {
  const body = new Uint8Array(bytes.length * count);
  for (let at = 0; at < body.length; at += bytes.length) body.set(bytes, at);
  return body;
}

const emptyAttribute = bytesField(9, []);
for (const [name, body] of [
  ["resources without content", repeated(bytesField(1, []), 300_000)],
  ["spans without content", repeated(bytesField(1, bytesField(2, bytesField(2, []))), 100_000)],
  ["fields nobody knows", repeated(numberField(99, 1), 300_000)],
  [
    "attributes without content",
    protobufBody([...bytesField(1, hexBytes(newTrace())), ...repeated(emptyAttribute, 250_000)]),
  ],
] as const) {
  for (const coding of ["identity", "gzip"] as const) {
    test(`protobuf of ${name} in ${coding} is refused with 400 once it has more than 200,000 fields`, async () => {
      const sent = coding === "gzip" ? await gzip(body) : body;
      const answer = await send(sent, "application/x-protobuf", { "content-encoding": coding });
      assert.equal(answer.status, 400);
      const [, message] = [...readFields(new Uint8Array(await answer.arrayBuffer()))];
      assert.ok(message?.kind === "bytes");
      assert.match(new TextDecoder().decode(message.value), /more than 200000 values/);
    });
  }
}

test("protobuf spans beyond 2,048 are counted and not read", async () => {
  const unreadable = bytesField(1, bytesField(2, bytesField(2, [0])));
  const body = [...bytesField(1, bytesField(2, repeatedSpans(2_048))), ...unreadable, ...unreadable];
  const answer = await send(Uint8Array.from(body), "application/x-protobuf");
  assert.equal(answer.status, 200);
  const [partial] = [...readFields(new Uint8Array(await answer.arrayBuffer()))];
  assert.ok(partial?.kind === "bytes");
  assert.equal([...readFields(partial.value)][0]?.value, 2_050n);
});

function repeatedSpans(count: number): number[] {
  return [...repeated(bytesField(2, bytesField(5, "no ids")), count)];
}

test("attributes of a resource that many spans share take at most 16 KiB of each row", async () => {
  const [first, last] = [newTrace(), newTrace()];
  const long = { key: "long", value: { stringValue: "x".repeat(500_000) } };
  const attributes = [...resource.attributes, long, { key: "host.name", value: { stringValue: "quay" } }];
  const spans = [jsonSpan(first), ...Array.from({ length: 100 }, () => jsonSpan(newTrace())), jsonSpan(last)];
  const body = { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans }] }] };
  assert.deepEqual(await (await send(JSON.stringify(body), "application/json")).json(), {});
  const row = await waitForLog(gateway, last);
  assert.deepEqual(Object(row.request.body).resource, { "service.name": "harbour-agent", "host.name": "quay" });
});

test("JSON in the strings of a span is bounded, whatever the body holds", async () => {
  const many = `[${"1,".repeat(1_100_000)}1]`;
  const attributes = [{ key: "gen_ai.input.messages", value: { stringValue: many } }];
  const answer = await send(jsonBody(jsonSpan(newTrace(), { attributes })), "application/json");
  assert.equal(answer.status, 400);
  assert.match((await answer.json()).error.message, /strings of the report: it has more than 1000000 values/);
});
