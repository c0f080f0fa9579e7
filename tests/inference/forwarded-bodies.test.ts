import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { deflateSync, gzipSync } from "node:zlib";
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
  return gateway.gateway.fetch(new Request(`http://gateway.test${path}`, init));
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

test("a chunked body with a repeated field is not taken for one of its values", async () => {
  const text = `{"tools":${JSON.stringify(denied.tools)},"tools":[]}`;
  const config = { input_guardrails: [{ ...check, uninspected: "deny" }] };
  const answer = await send("/v1/conversations", chunked(toBytes(text)), { isChunked: true }, config);
  await answer.text();
  assert.equal(answer.status, 200, "as a body of known size");
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

test("a compressed body that expands without end, or is damaged, is forwarded unread", async () => {
  for (const bytes of [new Uint8Array(gzipSync(new Uint8Array(4_000_000))), toBytes("not gzip")]) {
    const answer = await send(
      "/v1/conversations",
      bytes,
      { headers: { "content-encoding": "gzip" } },
      { input_guardrails: [check] },
    );
    assert.equal(answer.status, 200, await answer.text());
  }
});
