import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fixture } from "../conformance/suite.ts";
import {
  chat,
  createTestGateway,
  type HeaderChanges,
  helloBody,
  readJson,
  requestHeaders,
  waitForLog,
} from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport });
after(() => gateway.close());

function answerWith(name: string, status = 200): void {
  const type = name.endsWith(".sse") ? "text/event-stream" : "application/json";
  wire.answer = () => new Response(fixture("anthropic", name), { status, headers: { "content-type": type } });
}

const ask = (body: object = helloBody, headers: HeaderChanges = {}) =>
  chat(gateway, body, { "x-gateway-provider": "anthropic", authorization: "Bearer sk-ant-api-test", ...headers });
const sent = (...names: readonly string[]) => names.map((name) => wire.init?.headers[name]);

test("anthropic gets the caller's key in x-api-key and the default version", async () => {
  answerWith("chat.json");
  const response = await ask();
  assert.equal(response.status, 200, await response.clone().text());
  assert.equal(wire.url, "https://api.anthropic.com/v1/messages");
  assert.deepEqual(sent("x-api-key", "authorization", "anthropic-version", "anthropic-beta"), [
    "sk-ant-api-test",
    undefined,
    "2023-06-01",
    undefined,
  ]);
});

test("anthropic gets login tokens as bearer tokens", async () => {
  answerWith("chat.json");
  await ask(helloBody, { authorization: "Bearer sk-ant-oat01-test" });
  assert.deepEqual(sent("x-api-key", "authorization", "anthropic-beta"), [
    undefined,
    "Bearer sk-ant-oat01-test",
    "oauth-2025-04-20",
  ]);
});

test("anthropic gets version and betas from plain headers, settings, body and features, each once", async () => {
  answerWith("chat.json");
  const content = [{ type: "file", file: { file_id: "file_1" } }];
  const body = { model: "m", messages: [{ role: "user", content }], anthropic_beta: "c, a", anthropic_version: "2" };
  await ask(body, { "anthropic-beta": "a,b", "x-gateway-anthropic-beta": "d,b" });
  assert.deepEqual(sent("anthropic-version", "anthropic-beta"), ["2", "a,b,c,files-api-2025-04-14,d"]);
  await ask(body, { "anthropic-version": "3" });
  assert.deepEqual(sent("anthropic-version", "anthropic-beta"), ["3", "c,a,files-api-2025-04-14"]);
  await ask(body, { "anthropic-version": "3", "x-gateway-anthropic-version": "4" });
  assert.deepEqual(sent("anthropic-version"), ["4"]);
  await ask();
  assert.deepEqual(sent("anthropic-version", "anthropic-beta"), ["2023-06-01", undefined]);
});

test("other providers do not get Anthropic's headers", async () => {
  wire.answer = () => Response.json({ choices: [] });
  await ask(helloBody, { "x-gateway-provider": "openai", "anthropic-beta": "a", "anthropic-version": "3" });
  assert.deepEqual(sent("anthropic-version", "anthropic-beta"), [undefined, undefined]);
});

test("anthropic passthrough keeps the client's version and betas", async () => {
  wire.answer = () => Response.json({ input_tokens: 1 });
  const headers = { "x-gateway-provider": "anthropic", authorization: "Bearer sk-ant-api-test" };
  const post = (more: HeaderChanges) =>
    gateway.fetch("/v1/messages/batches", {
      method: "POST",
      headers: requestHeaders({ ...headers, ...more }),
      body: "{}",
    });
  assert.equal((await post({ "anthropic-version": "2023-01-01", "anthropic-beta": "a" })).status, 200);
  assert.equal(wire.url, "https://api.anthropic.com/v1/messages/batches");
  assert.deepEqual(sent("x-api-key", "anthropic-version", "anthropic-beta"), ["sk-ant-api-test", "2023-01-01", "a"]);
  await post({});
  assert.deepEqual(sent("anthropic-version", "anthropic-beta"), ["2023-06-01", undefined]);
});

test("anthropic responses name the provider; usage is logged and dropped params are reported", async () => {
  answerWith("chat.json");
  const trace = crypto.randomUUID();
  const response = await ask({ ...helloBody, seed: 1, top_logprobs: 2 }, { "x-gateway-trace-id": trace });
  const body = await readJson<{ provider: string; choices: { message: { content: string } }[] }>(response);
  assert.deepEqual([body.provider, body.choices[0]?.message.content], ["anthropic", "The harbour opens at six."]);
  assert.equal(response.headers.get("x-gateway-dropped-params"), "seed,top_logprobs");
  const row = await waitForLog(gateway, trace);
  assert.deepEqual(row.usage, {
    input_tokens: 2066,
    output_tokens: 11,
    total_tokens: 2077,
    cached_tokens: 2048,
    reasoning_tokens: 0,
    cache_write_tokens: 0,
    audio_input_tokens: 0,
    audio_output_tokens: 0,
  });
});

test("anthropic streams end with usage and [DONE], and both are logged", async () => {
  answerWith("stream.sse");
  const trace = crypto.randomUUID();
  const body = { ...helloBody, stream: true, stream_options: { include_usage: true } };
  const response = await ask(body, { "x-gateway-trace-id": trace });
  const events = (await response.text()).trim().split("\n\n");
  assert.equal(events.at(-1), "data: [DONE]");
  const trailer = JSON.parse(events.at(-2)?.slice(6) ?? "");
  assert.deepEqual([trailer.choices, trailer.usage.total_tokens, trailer.provider], [[], 2462, "anthropic"]);
  const row = await waitForLog(gateway, trace);
  assert.deepEqual([row.usage?.input_tokens, row.usage?.output_tokens], [2450, 12]);
});

for (const [name, status, message] of [
  ["error-400.json", 400, "anthropic error: fixture: max_tokens is missing"],
  ["error-529.json", 529, "anthropic error: Overloaded"],
  ["stream-error-first.sse", 529, "anthropic error: Overloaded"],
] as const) {
  test(`anthropic's recorded ${name} becomes status ${status}`, async () => {
    answerWith(name, name.endsWith(".sse") ? 200 : status);
    const response = await ask({ ...helloBody, stream: true });
    const { error } = await readJson<{ error: { message: string; type: string } }>(response);
    assert.deepEqual([response.status, error.message], [status, message]);
    assert.equal(error.type, status === 400 ? "invalid_request_error" : "overloaded_error");
  });
}

test("anthropic overload inside a stream becomes an error event without [DONE]", async () => {
  answerWith("stream-error.sse");
  const text = await (await ask({ ...helloBody, stream: true })).text();
  assert.match(text, /Half a sen/);
  assert.match(text, /"message":"anthropic error: Overloaded","type":"overloaded_error"/);
  assert.doesNotMatch(text, /\[DONE\]/);
});

test("claude-platform-aws is called in its region with the workspace", async () => {
  answerWith("chat.json");
  const named = { "x-gateway-provider": "claude-platform-aws" };
  assert.equal((await ask(helloBody, named)).status, 200);
  assert.equal(wire.url, "https://aws-external-anthropic.us-east-1.api.aws/v1/messages");
  await ask(helloBody, {
    ...named,
    "x-gateway-aws-region": "eu-west-1",
    "x-gateway-anthropic-aws-workspace-id": "wrkspc_test",
    "x-gateway-anthropic-beta": "a",
  });
  assert.equal(wire.url, "https://aws-external-anthropic.eu-west-1.api.aws/v1/messages");
  assert.deepEqual(sent("x-api-key", "anthropic-workspace-id", "anthropic-version", "anthropic-beta"), [
    "sk-ant-api-test",
    "wrkspc_test",
    "2023-06-01",
    "a",
  ]);
  for (const region of ["evil.example/", "a.b", "A"]) {
    const response = await ask(helloBody, { ...named, "x-gateway-aws-region": region });
    assert.equal(response.status, 400);
  }
});
