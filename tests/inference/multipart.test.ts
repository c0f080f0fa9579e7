import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { readSettings } from "../../src/settings.ts";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway, upstreamHeaders, waitForLog, workspaceKey } from "../support/gateway.ts";
import { formOf, post, receivedForm, sound } from "../support/media.ts";
import { configHeader, targetOf } from "../support/routed.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let gateway: TestGateway;
let upstream: RecordingUpstream;
let failures = 0;
const maxForm = 26 * 1024 * 1024;

before(async () => {
  gateway = await createTestGateway({ limits: { formBodyBytes: maxForm } });
  upstream = await startRecordingUpstream((_request, response) => {
    const failing = failures-- > 0;
    response.writeHead(failing ? 500 : 200, { "content-type": "application/json" });
    response.end(
      JSON.stringify(failing ? { error: { message: "no" } } : { text: "hello", usage: { input_tokens: 4 } }),
    );
  });
});
beforeEach(() => {
  failures = 0;
  upstream.requests.length = 0;
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const path = "/audio/transcriptions";
const wav = ["talk.wav", "audio/wav", [0, 13, 10, 45, 45, 255]];
const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Bytes of a form with a file first, and its content type. */
function rawForm(file: Uint8Array, fields: Record<string, string> = { model: "whisper-1" }) {
  const boundary = "----formBoundary7MA4YWxk";
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\nContent-Type: audio/mpeg\r\n\r\n`;
  const rest = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const body = Buffer.concat([Buffer.from(head), file, Buffer.from(`\r\n${rest.join("")}--${boundary}--\r\n`)]);
  return { body: new Uint8Array(body), type: `multipart/form-data; boundary=${boundary}` };
}

/** A body that arrives in chunks of odd sizes. */
function inPieces(bytes: Uint8Array, sizes: readonly number[]): ReadableStream<Uint8Array> {
  let position = 0;
  let turn = 0;
  return new ReadableStream({
    pull(controller) {
      if (position >= bytes.length) return controller.close();
      const size = sizes[turn++ % sizes.length] ?? 1;
      controller.enqueue(bytes.slice(position, position + size));
      position += size;
    },
  });
}

test("a form is sent upstream unchanged, with its boundary", async () => {
  const { body, type } = rawForm(Uint8Array.of(1, 2, 3));
  const response = await post(gateway, path, body, { ...upstreamHeaders(upstream), "content-type": type });
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { text: "hello", usage: { input_tokens: 4 } });
  const [request] = upstream.requests;
  assert.equal(request?.path, "/v1/audio/transcriptions");
  assert.equal(request.headers["content-type"], type);
  assert.deepEqual(new Uint8Array(request.body), body);
  assert.equal(request.headers.authorization, "Bearer upstream-credential");
});

test("the log has the fields of a form, and no bytes of its file", async () => {
  const headers = { ...upstreamHeaders(upstream), "x-gateway-trace-id": "form-log" };
  await (await post(gateway, path, formOf({ file: sound(), model: "m-1" }), headers)).text();
  const row = await waitForLog(gateway, "form-log");
  assert.deepEqual([row.operation, row.model, row.usage?.input_tokens], ["transcribe", "m-1", 4]);
  assert.deepEqual(row.request.body, {
    file: { filename: "talk.wav", content_type: "audio/wav", bytes: 6 },
    model: "m-1",
  });
});

test("parameters of a config make a new form", async () => {
  const config = targetOf(upstream, {
    override_params: { model: "other", temperature: 0.5, include: ["logprobs"] },
    default_params: { language: "de" },
    drop_params: ["prompt"],
  });
  const form = formOf({
    file: sound(),
    prompt: "names",
    model: "m",
    "timestamp_granularities[]": ["word", "segment"],
    "chunking_strategy[type]": "server_vad",
  });
  const headers = { "x-gateway-provider": null, ...configHeader(config) };
  const response = await post(gateway, path, form, headers);
  assert.equal(response.status, 200);
  assert.deepEqual(receivedForm(upstream.requests[0]!), [
    ["file", wav],
    ["model", "other"],
    ["timestamp_granularities[]", "word"],
    ["timestamp_granularities[]", "segment"],
    ["chunking_strategy[type]", "server_vad"],
    ["language", "de"],
    ["temperature", "0.5"],
    ["include[]", "logprobs"],
  ]);
});

test("a retry and a fallback send the same form again", async () => {
  failures = 2;
  const config = {
    strategy: { mode: "fallback" },
    targets: [targetOf(upstream, { retry: { attempts: 1 } }), targetOf(upstream)],
  };
  const { body, type } = rawForm(randomBytes(400_000));
  const headers = { "x-gateway-provider": null, ...configHeader(config), "content-type": type };
  const response = await post(gateway, path, body, headers);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("x-gateway-last-used-option-index"), "config.targets[1]");
  assert.deepEqual(
    upstream.requests.map((request) => digest(request.body)),
    [digest(body), digest(body), digest(body)],
  );
});

test("a fallback skips a provider without the operation", async () => {
  const config = {
    strategy: { mode: "fallback" },
    targets: [{ provider: "anthropic", api_key: "k" }, targetOf(upstream)],
  };
  const headers = { "x-gateway-provider": null, ...configHeader(config) };
  const response = await post(gateway, path, formOf({ file: sound(), model: "m" }), headers);
  assert.equal(response.status, 200);
  assert.equal(upstream.requests.length, 1);
});

test("conditions can use the fields of a form", async () => {
  const condition = { query: { "params.model": { $eq: "gpt-4o-transcribe" } }, then: "right" };
  const config = {
    strategy: { mode: "conditional", conditions: [condition], default: "wrong" },
    targets: [
      { name: "wrong", provider: "anthropic", api_key: "k" },
      { name: "right", ...targetOf(upstream) },
    ],
  };
  const headers = { "x-gateway-provider": null, ...configHeader(config) };
  const response = await post(gateway, path, formOf({ file: sound(), model: "gpt-4o-transcribe" }), headers);
  assert.equal(response.status, 200, await response.text());
});

for (const [how, provider] of [
  ["held", "groq"],
  ["that flows through", "openai"],
] as const) {
  test(`25 MB in odd chunks arrive as they were sent: a form ${how}`, async () => {
    const { body, type } = rawForm(randomBytes(25 * 1024 * 1024));
    const config = { ...targetOf(upstream), provider, ...(how === "held" && { retry: { attempts: 1 } }) };
    const headers = { "x-gateway-provider": null, ...configHeader(config), "content-type": type };
    const stream = inPieces(body, [1, 7, 65_537, 3, 131_071, 999_983]);
    const response = await post(gateway, path, stream, headers);
    assert.equal(response.status, 200, await response.clone().text());
    assert.equal(digest(upstream.requests[0]!.body), digest(body));
    assert.equal(upstream.requests[0]?.headers["content-type"], type);
  });
}

test("a boundary split at any position is found", async () => {
  const { body, type } = rawForm(Uint8Array.of(45, 45, 13, 10));
  for (let cut = 1; cut < body.length; cut += 5) {
    const headers = { ...upstreamHeaders(upstream), "x-gateway-config": null, "content-type": type };
    const stream = inPieces(body, [cut, body.length]);
    const retried = { "x-gateway-provider": null, ...configHeader(targetOf(upstream, { retry: { attempts: 1 } })) };
    const response = await post(gateway, path, stream, { ...headers, ...retried });
    assert.equal(response.status, 200, `cut at ${cut}`);
  }
});

for (const [what, config] of [
  ["held", { retry: { attempts: 1 } }],
  ["that flows through", {}],
] as const) {
  for (const isDeclared of [true, false]) {
    test(`413 for a form ${what} that is too large, its length ${isDeclared ? "declared" : "not declared"}`, async () => {
      const { body, type } = rawForm(new Uint8Array(maxForm));
      const length = isDeclared ? { "content-length": String(body.length) } : {};
      const headers = { "x-gateway-provider": null, ...configHeader(targetOf(upstream, config)), ...length };
      const response = await post(gateway, path, inPieces(body, [1 << 20]), { ...headers, "content-type": type });
      assert.equal(response.status, 413);
      assert.match(await response.text(), /exceeds the limit of 26MB/);
    });
  }
}

const broken = rawForm(Uint8Array.of(1)).body;
for (const [what, body, type, wanted] of [
  ["no file", formOf({ model: "m" }), null, /send the audio as a file named file/],
  ["no model", formOf({ file: sound() }), null, /model/],
  ["a model twice", formOf({ file: sound(), model: ["a", "b"] }), null, /model/],
  ["a temperature that is none", formOf({ file: sound(), model: "m", temperature: "warm" }), null, /temperature/],
  ["a temperature out of bounds", formOf({ file: sound(), model: "m", temperature: "2" }), null, /temperature/],
  ["a broken boundary", broken.slice(0, -20), "multipart/form-data; boundary=----formBoundary7MA4YWxk", /cut off/],
  ["another boundary", broken, "multipart/form-data; boundary=other", /begin with its boundary/],
  ["no boundary", broken, "multipart/form-data", /multipart\/form-data/],
  ["JSON", { model: "m", file: "f" }, "application/json", /multipart\/form-data/],
] as const) {
  test(`400 for a form with ${what}`, async () => {
    const headers = { ...upstreamHeaders(upstream), ...(type !== null && { "content-type": type }) };
    const response = await post(gateway, path, body, headers);
    assert.equal(response.status, 400);
    assert.match(await response.text(), wanted);
    assert.equal(upstream.requests.length, 0);
  });
}

test("415 for a form with a content coding", async () => {
  const { body, type } = rawForm(Uint8Array.of(1));
  const headers = { ...upstreamHeaders(upstream), "content-type": type, "content-encoding": "gzip" };
  assert.equal((await post(gateway, path, body, headers)).status, 415);
});

for (const size of [10, 1_000_000]) {
  test(`400 unsupported_endpoint for a provider without the operation: ${size} bytes`, async () => {
    const { body, type } = rawForm(randomBytes(size));
    const headers = { "x-gateway-provider": "anthropic", authorization: "Bearer k", "content-type": type };
    const response = await post(gateway, path, inPieces(body, [65_536]), headers);
    assert.equal(response.status, 400);
    assert.match(await response.text(), /"unsupported_endpoint"/);
  });
}

test("MAX_FORM_SIZE_IN_MB bounds forms", () => {
  assert.equal(readSettings({ MAX_FORM_SIZE_IN_MB: "7" }).gateway.limits?.formBodyBytes, 7 * 1024 * 1024);
  assert.throws(() => readSettings({ MAX_FORM_SIZE_IN_MB: "0" }), /MAX_FORM_SIZE_IN_MB/);
});

test("passthrough gets the form as it came", async () => {
  const { body, type } = rawForm(randomBytes(300_000));
  const headers = { ...upstreamHeaders(upstream), "x-gateway-provider": "passthrough", "content-type": type };
  const response = await post(gateway, path, body, headers);
  assert.equal(response.status, 200);
  assert.deepEqual(new Uint8Array(upstream.requests[0]!.body), body);
});

test("a model may name a stored provider: the reference is not sent upstream", async () => {
  const options = { key: workspaceKey };
  const configurations = { custom_host: `${upstream.url}/v1` };
  const integration = {
    name: "main",
    slug: "main-integration",
    ai_provider_id: "openai",
    key: "stored-credential-123",
  };
  const body = { ...integration, configurations, create_default_provider: false };
  await done(call(gateway, "POST /integrations", { ...options, body }));
  const provider = { name: "main", slug: "main", integration_id: "main-integration" };
  await done(call(gateway, "POST /providers", { ...options, body: provider }));
  const large = new File([new Uint8Array(randomBytes(400_000))], "talk.wav");
  for (const [file, headers] of [
    [sound(), { "x-gateway-provider": null }],
    [large, { "x-gateway-provider": "@main" }],
  ] as const) {
    upstream.requests.length = 0;
    const response = await post(gateway, path, formOf({ file, model: "@main/whisper-1" }), headers);
    assert.equal(response.status, 200);
    const [request] = upstream.requests;
    assert.equal(request?.headers.authorization, "Bearer stored-credential-123");
    assert.deepEqual(receivedForm(request).at(-1), ["model", "whisper-1"]);
  }
});
