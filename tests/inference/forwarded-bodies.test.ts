import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, before, beforeEach, test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { createTestGateway, requestHeaders, type TestGateway } from "../support/gateway.ts";
import { createPacedStream } from "../support/paced-stream.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let upstream: RecordingUpstream;
let gateway: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream((_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  gateway = await createTestGateway({ checksAnswers: false });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  upstream.requests.length = 0;
});

const check = { "default.requestParametersCheck": { tools: { blockedTypes: ["function"] } }, deny: true };
const denied = { model: "m", tools: [{ type: "function", function: { name: "f" } }] };
const allowed = { model: "m", tools: [] };
const paths = [
  "/v1/messages/batches",
  "/v1/conversations",
  "/v1/conversations/c/items",
  "/v1/proxy/chat/completions",
  "/v1/proxy/v1/chat/completions",
  "/v1/proxy/openai/deployments/d/chat/completions",
  "/v1/some/other/path",
];

type Bytes = Uint8Array<ArrayBuffer>;
const toBytes = (text: string): Bytes => new TextEncoder().encode(text);

/** A body whose size is not announced. */
function chunked(bytes: Bytes, size = 7): ReadableStream<Bytes> {
  let at = 0;
  return new ReadableStream<Bytes>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}

interface Form {
  headers?: Record<string, string | null>;
  encode?(bytes: Bytes): Bytes;
  isChunked?: boolean;
}

/** Spellings of one body. */
const forms: Readonly<Record<string, Form>> = {
  "in one piece": {},
  "in chunks": { isChunked: true },
  "in chunks, after blanks": {
    isChunked: true,
    encode: (bytes) => toBytes(`\r\n   ${new TextDecoder().decode(bytes)}`),
  },
  "without a content type": { headers: { "content-type": null } },
  "with another content type": { isChunked: true, headers: { "content-type": "application/octet-stream" } },
  "in gzip": { headers: { "content-encoding": "gzip" }, encode: (bytes) => new Uint8Array(gzipSync(bytes)) },
  "in gzip and chunks": {
    isChunked: true,
    headers: { "content-encoding": "GZIP" },
    encode: (bytes) => new Uint8Array(gzipSync(bytes)),
  },
  "in deflate": { headers: { "content-encoding": "deflate" }, encode: (bytes) => new Uint8Array(deflateSync(bytes)) },
};

function send(
  path: string,
  body: BodyInit,
  { headers = {}, isChunked = false }: Form,
  config?: object,
  to = gateway,
): Promise<Response> {
  const all = requestHeaders({
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    authorization: "Bearer upstream-credential",
    ...(config && { "x-gateway-config": JSON.stringify(config) }),
    ...headers,
  });
  if (!isChunked && body instanceof Uint8Array) all.set("content-length", String(body.length));
  const init = { method: "POST", headers: all, body, duplex: "half" as const };
  return to.gateway.fetch(new Request(`http://gateway.test${path}`, init));
}

for (const [name, form] of Object.entries(forms)) {
  test(`a guardrail of a config reads a forwarded body ${name}`, async () => {
    for (const path of paths) {
      for (const [value, status] of [
        [denied, 446],
        [allowed, 200],
      ] as const) {
        const plain = toBytes(JSON.stringify(value));
        const bytes = form.encode?.(plain) ?? plain;
        const body = form.isChunked ? chunked(bytes) : bytes;
        const answer = await send(path, body, form, { input_guardrails: [check] });
        assert.equal(answer.status, status, `${path} ${await answer.text()}`);
        const [received] = upstream.requests.splice(0);
        assert.deepEqual(received && new Uint8Array(received.body), status === 200 ? bytes : undefined, path);
      }
    }
  });
}

const repeated = toBytes(`{"tools":${JSON.stringify(denied.tools)},"tools":[]}`);
const utf16 = new Uint8Array([
  0xff,
  0xfe,
  ...new Uint8Array(new Uint16Array(Array.from(JSON.stringify(denied), (one) => one.charCodeAt(0))).buffer),
]);
const expanding = new Uint8Array(gzipSync(toBytes(JSON.stringify({ ...denied, input: " ".repeat(30_000_000) }))));
const compressed = { headers: { "content-encoding": "gzip" } };

/** Bodies whose fields may be read differently by the provider, or are not read here: their form, and what the refusal says. */
const unread: Readonly<Record<string, [bytes: Bytes, form: Form, because: RegExp]>> = {
  "that repeats a field": [repeated, {}, /the body, which repeats a field/],
  "that repeats a field, in chunks": [repeated, { isChunked: true }, /the body, which repeats a field/],
  "that repeats a field, without a content type": [
    repeated,
    { headers: { "content-type": null } },
    /which repeats a field/,
  ],
  "that repeats a field in a long object": [
    toBytes(`{"input":"${"x".repeat(400_000)}",${new TextDecoder().decode(repeated).slice(1)}`),
    {},
    /which repeats a field/,
  ],
  "in br": [
    new Uint8Array(brotliCompressSync(JSON.stringify(denied))),
    { headers: { "content-encoding": "br" } },
    /neither gzip nor deflate/,
  ],
  "in two codings": [
    new Uint8Array(gzipSync(gzipSync(JSON.stringify(denied)))),
    { headers: { "content-encoding": "gzip, gzip" } },
    /neither gzip nor deflate/,
  ],
  "in UTF-16": [utf16, {}, /which is not JSON that the gateway can read/],
  "that is cut off": [toBytes('{"tools":[{"type":"function"'), {}, /which is not JSON/],
  "that is damaged": [toBytes("not gzip"), compressed, /which is damaged/],
  "that expands without end": [expanding, compressed, /which is damaged, or too large once it is decoded/],
};

for (const [name, [bytes, form, because]] of Object.entries(unread)) {
  test(`a guardrail of a config that denies refuses a forwarded body ${name}`, async () => {
    for (const path of ["/v1/conversations", "/v1/proxy/chat/completions"]) {
      const ask = (hooks?: object) => send(path, form.isChunked ? chunked(bytes, 4_000) : bytes, form, hooks);
      const refusal = await ask({ input_guardrails: [check] });
      const { error, hook_results } = (await refusal.json()) as Record<string, { message: string }>;
      assert.equal(refusal.status, 446, path);
      assert.match(String(error?.message), because);
      assert.match(JSON.stringify(hook_results), /Cannot read the body of this request, so the guardrail blocks it/);
      assert.equal(upstream.requests.length, 0);
      // whoever allows it, whoever only reports, and whoever reads nothing of the body lets it pass
      for (const hooks of [
        { input_guardrails: [{ ...check, uninspected: "allow" }] },
        { input_guardrails: [{ ...check, deny: false }] },
        { input_guardrails: [{ "default.allowedRequestTypes": { allowedTypes: ["proxy"] }, deny: true }] },
        undefined,
      ]) {
        const answer = await ask(hooks);
        assert.equal(answer.status, 200, `${path} ${JSON.stringify(hooks)} ${await answer.text()}`);
        assert.deepEqual(new Uint8Array(upstream.requests.splice(0)[0]?.body ?? []), bytes, path);
      }
    }
  });
}

for (const [name, form] of Object.entries(forms)) {
  test(`a guardrail of a config reads a forwarded body above 256 KiB ${name}`, async () => {
    // random, so that it is long in gzip too
    const input = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000)))
      .toString("base64")
      .repeat(8);
    for (const path of ["/v1/conversations", "/v1/proxy/chat/completions"]) {
      for (const [value, status] of [
        [denied, 446],
        [allowed, 200],
      ] as const) {
        const plain = toBytes(JSON.stringify({ input, ...value }));
        const bytes = form.encode?.(plain) ?? plain;
        const body = form.isChunked ? chunked(bytes, 30_000) : bytes;
        const answer = await send(path, body, form, { input_guardrails: [check] });
        assert.equal(answer.status, status, `${path} ${await answer.text()}`);
        const [received] = upstream.requests.splice(0);
        assert.deepEqual(received && new Uint8Array(received.body), status === 200 ? bytes : undefined, path);
      }
    }
  });
}

test("a forwarded body above the limit of JSON bodies is refused where a guardrail must read it", async () => {
  const small = await createTestGateway({ checksAnswers: false, limits: { jsonBodyBytes: 300_000 } });
  try {
    const bytes = toBytes(JSON.stringify({ input: "x".repeat(400_000), ...denied }));
    const ask = (config?: object, form: Form = {}, start = "") =>
      send(
        "/v1/conversations",
        form.isChunked
          ? chunked(toBytes(start + new TextDecoder().decode(bytes)), 30_000)
          : toBytes(start + new TextDecoder().decode(bytes)),
        form,
        config,
        small,
      );
    const refusal = await ask({ input_guardrails: [check] });
    assert.equal(refusal.status, 446);
    assert.match(await refusal.text(), /the body, which is larger than 300000 bytes/);
    assert.equal((await ask({ input_guardrails: [check] }, { isChunked: true })).status, 413);
    assert.equal(upstream.requests.length, 0);
    // data that is no JSON object has no fields
    for (const isChunked of [false, true]) {
      const answer = await ask(
        { input_guardrails: [check] },
        { isChunked, headers: { "content-type": "audio/wav" } },
        "RIFF",
      );
      assert.equal(answer.status, 200, await answer.text());
    }
    assert.equal((await ask({ input_guardrails: [{ ...check, uninspected: "allow" }] })).status, 200);
    assert.equal((await ask(undefined)).status, 200);
  } finally {
    await small.close();
  }
});

test("a chunked body that is not JSON is forwarded while it comes", async () => {
  const paced = createPacedStream();
  paced.send("first");
  const answer = send("/v1/proxy/audio", paced.body as BodyInit, {
    isChunked: true,
    headers: { "content-type": "audio/wav" },
  });
  const until = performance.now() + 10_000;
  while (upstream.connections === 0 && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(upstream.connections > 0, "the provider was called before the body ended");
  paced.send(" second");
  paced.end();
  assert.equal((await answer).status, 200);
  assert.equal(upstream.requests[0]?.text, "first second");
});

test("a long chunked JSON body is forwarded whole", async () => {
  const bytes = toBytes(JSON.stringify({ model: "m", input: "é".repeat(400_000) }));
  const answer = await send("/v1/conversations", chunked(bytes, 65_000), { isChunked: true });
  assert.equal(answer.status, 200);
  assert.equal(upstream.requests[0]?.text, new TextDecoder().decode(bytes));
});

test("a small chunked body is repeated as one of known size", async () => {
  const config = { retry: { attempts: 1, on_status_codes: [503] } };
  let calls = 0;
  const failing = await startRecordingUpstream((_, response) => {
    response.writeHead(calls++ === 0 ? 503 : 200, { "content-type": "application/json" }).end("{}");
  });
  try {
    const headers = { "x-gateway-custom-host": `${failing.url}/v1` };
    const answer = await send("/v1/conversations", chunked(toBytes("{}")), { isChunked: true, headers }, config);
    assert.deepEqual([answer.status, calls], [200, 2]);
  } finally {
    await failing.close();
  }
});
