import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import * as v from "valibot";
import { requireOperation } from "../../src/providers/core/types.ts";
import { openai } from "../../src/providers/openai/mod.ts";
import { openaiCompatible } from "../../src/providers/openai-compatible/mod.ts";
import { readWithoutReasoning } from "../../src/providers/openai-compatible/without-reasoning.ts";
import type { ChatRequest } from "../../src/schemas/chat.ts";
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

const fixture = (name: string) => readFileSync(new URL(`../fixtures/openai/${name}`, import.meta.url), "utf8");

const wire = createWire();

const own = openaiCompatible({
  slug: "own",
  baseUrl: ({ region }) => `https://${region ?? "eu"}.example.com/api`,
  settings: { prefix: "own", schema: v.object({ region: v.optional(v.string()) }) },
  operations: ["chat"],
});
const gateway = await createTestGateway({ transport: wire.transport, providers: [own] });
after(() => gateway.close());

function answerWith(status: number, name: string, headers: Record<string, string> = {}): void {
  const type = name.endsWith(".sse") ? "text/event-stream" : "application/json";
  wire.answer = () => new Response(fixture(name), { status, headers: { "content-type": type, ...headers } });
}

const ask = (body: unknown = helloBody, headers: HeaderChanges = {}) =>
  chat(gateway, body, { "x-gateway-provider": "openai", authorization: "Bearer provider-key", ...headers });

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

const requests: readonly ChatRequest[] = [
  { model: "m", messages: [{ role: "user", content: "a" }] },
  { model: "m", messages: [{ role: "user" }], stream: false, stream_options: { include_usage: false } },
  { model: "m", messages: [{ role: "user" }], stream: true },
  { model: "m", messages: [{ role: "user" }], stream: true, stream_options: null },
  { model: "m", messages: [{ role: "user" }], stream: true, stream_options: { include_usage: false, other: 1 } },
];
const plainOptions = { strict: true, drop: () => {} };
for (const request of requests) {
  test(`toUpstream() leaves ${JSON.stringify(request)} unchanged`, () => {
    const before = JSON.stringify(request);
    const { toUpstream } = requireOperation(
      openai.bind(() => null),
      "chat",
    );
    const sent = toUpstream?.(deepFreeze(structuredClone(request)), plainOptions) ?? request;
    assert.equal(JSON.stringify(request), before);
    const { stream_options: _, ...rest } = request;
    const { stream_options: options, ...sentRest } = Object(sent);
    assert.deepEqual(sentRest, rest);
    if (request.stream === true) assert.equal(options.include_usage, true, "streams are asked for their usage");
    // hosts refuse options of a stream that is not asked for
    else assert.equal(options, undefined);
  });
}

test("toUpstream() keeps other stream options", () => {
  const { toUpstream } = requireOperation(
    openai.bind(() => null),
    "chat",
  );
  assert.deepEqual(Object(toUpstream?.(requests[4] ?? { model: "", messages: [] }, plainOptions)).stream_options, {
    include_usage: true,
    other: 1,
  });
});

test("openai is called at its own URL with the caller's credential as a bearer token", async () => {
  answerWith(200, "chat.json");
  assert.equal((await ask()).status, 200);
  assert.equal(wire.url, "https://api.openai.com/v1/chat/completions");
  assert.equal(wire.init?.headers.authorization, "Bearer provider-key");
  assert.deepEqual(JSON.parse(String(wire.init?.body)), helloBody);
});

test("openai is called without a credential when the caller sends none", async () => {
  answerWith(200, "chat.json");
  await ask(helloBody, { authorization: null });
  assert.equal(wire.init?.headers.authorization, undefined);
});

test("openai settings become headers, and do not affect the next request", async () => {
  answerWith(200, "chat.json");
  await ask(helloBody, {
    "x-gateway-openai-organization": "org-1",
    "x-gateway-openai-project": "proj-1",
    "x-gateway-openai-beta": "assistants=v2",
  });
  const headers: Record<string, string> = wire.init?.headers ?? {};
  assert.deepEqual(
    [headers["openai-organization"], headers["openai-project"], headers["openai-beta"]],
    ["org-1", "proj-1", "assistants=v2"],
  );
  await ask();
  assert.deepEqual(
    Object.keys(wire.init?.headers ?? {}).filter((name) => name.startsWith("openai-")),
    [],
  );
});

for (const [path, method, body] of [
  ["/completions", "POST", { model: "m", prompt: "a" }],
  ["/embeddings", "POST", { model: "m", input: "a" }],
  ["/models", "GET", undefined],
] as const) {
  test(`openai serves ${method} ${path}`, async () => {
    wire.answer = () => Response.json({ object: "list", data: [], choices: [] });
    const init = { method, headers: requestHeaders({ "x-gateway-provider": "openai" }) };
    const response = await gateway.fetch(`/v1${path}`, { ...init, ...(body && { body: JSON.stringify(body) }) });
    assert.equal(response.status, 200, await response.text());
    assert.equal(wire.url, `https://api.openai.com/v1${path}`);
    assert.equal(wire.init?.method, method);
    assert.equal(wire.init?.body, body && JSON.stringify(body));
  });
}

test("GET /v1/models names the provider", async () => {
  wire.answer = () => Response.json({ object: "list", data: [{ id: "m", owned_by: "x" }] });
  const response = await gateway.fetch("/v1/models", { headers: requestHeaders({ "x-gateway-provider": "openai" }) });
  assert.deepEqual(await readJson(response), {
    object: "list",
    data: [{ id: "m", owned_by: "x" }],
    provider: "openai",
  });
});

for (const body of ['{"data":"none"}', '{"data":[{}]}', "{}"]) {
  test(`GET /v1/models returns 502 when the provider returns ${body}`, async () => {
    wire.answer = () => new Response(body);
    const response = await gateway.fetch("/v1/models", { headers: requestHeaders({ "x-gateway-provider": "openai" }) });
    const { error } = await readJson<{ error: { code: string } }>(response);
    assert.deepEqual([response.status, error.code], [502, "upstream_bad_answer"]);
  });
}

for (const [name, usage] of [
  [
    "chat.json",
    { input_tokens: 1240, output_tokens: 71, total_tokens: 1311, cached_tokens: 1024, reasoning_tokens: 64 },
  ],
  [
    "tool-call.json",
    { input_tokens: 182, output_tokens: 46, total_tokens: 228, cached_tokens: 0, reasoning_tokens: 0 },
  ],
  [
    "chat-logprobs.json",
    { input_tokens: 12, output_tokens: 1, total_tokens: 13, cached_tokens: 0, reasoning_tokens: 0 },
  ],
] as const) {
  test(`openai's recorded ${name} is returned unchanged, and its usage is logged`, async () => {
    answerWith(200, name, { "x-request-id": "req-1" });
    const trace = crypto.randomUUID();
    const response = await ask(helloBody, { "x-gateway-trace-id": trace });
    assert.equal(response.headers.get("x-request-id"), "req-1");
    assert.deepEqual(JSON.parse(await response.text()), JSON.parse(fixture(name)));
    const row = await waitForLog(gateway, trace);
    const unheard = { cache_write_tokens: 0, audio_input_tokens: 0, audio_output_tokens: 0 };
    assert.deepEqual(row.usage, { ...usage, ...unheard });
    assert.deepEqual(row.response.body, JSON.parse(fixture(name)));
  });
}

for (const [name, status, error] of [
  [
    "error-400.json",
    400,
    {
      message: "openai error: fixture: temperature 0.2 is not accepted by this model",
      type: "invalid_request_error",
      code: "unsupported_value",
      param: "temperature",
    },
  ],
  [
    "error-429.json",
    429,
    {
      message: "openai error: fixture: request rate too high, retry in 2 s",
      type: "requests",
      code: "rate_limit_exceeded",
      param: null,
    },
  ],
] as const) {
  test(`openai's recorded ${name} keeps its status and fields`, async () => {
    answerWith(status, name, { "retry-after": "2" });
    const response = await ask();
    assert.equal(response.status, status);
    assert.equal(response.headers.get("retry-after"), "2");
    assert.deepEqual(await readJson(response), {
      status: "failure",
      message: error.message,
      error,
      provider: "openai",
    });
  });
}

test("openaiCompatible() makes a provider with a base URL from its settings and the named operations", async () => {
  answerWith(200, "chat.json");
  assert.equal((await ask(helloBody, { "x-gateway-provider": "own" })).status, 200);
  assert.equal(wire.url, "https://eu.example.com/api/chat/completions");
  await ask(helloBody, { "x-gateway-provider": "own", "x-gateway-own-region": "us" });
  assert.equal(wire.url, "https://us.example.com/api/chat/completions");
  const init = {
    method: "POST",
    headers: requestHeaders({ "x-gateway-provider": "own" }),
    body: JSON.stringify({ model: "m", input: "a" }),
  };
  const response = await gateway.fetch("/v1/embeddings", init);
  const { error } = await readJson<{ error: { code: string; message: string } }>(response);
  assert.deepEqual([response.status, error.code], [400, "unsupported_endpoint"]);
  assert.match(error.message, /embed on own/);
});

test("openai gets unknown fields of a request", async () => {
  answerWith(200, "chat.json");
  const body = { ...helloBody, own_member: { a: [1, null] }, temperature: 1.5 };
  await ask(body);
  assert.deepEqual(JSON.parse(String(wire.init?.body)), body);
});

const thoughtful = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  unknown_member: [1],
  choices: [
    {
      index: 0,
      finish_reason: "stop",
      logprobs: null,
      message: {
        role: "assistant",
        content: "Hi",
        reasoning_content: "hidden",
        reasoning: "hidden",
        thinking: "hidden",
        reasoning_details: [{ text: "hidden" }],
        other: 1,
      },
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
};
const elsewhere: HeaderChanges = { "x-gateway-custom-host": "http://127.0.0.1:8080/v1" };
const lenient: HeaderChanges = { "x-gateway-strict-open-ai-compliance": "false" };

test("openai strict responses from a custom host contain no reasoning, and are otherwise unchanged", async () => {
  const text = JSON.stringify(thoughtful, null, 1);
  wire.answer = () => new Response(text, { headers: { "content-type": "application/json" } });
  const made = await readJson<typeof thoughtful>(await ask(helloBody, elsewhere));
  const [choice] = thoughtful.choices;
  const message = { role: "assistant", content: "Hi", other: 1 };
  assert.deepEqual(made, { ...thoughtful, choices: [{ ...choice, message }], provider: "openai" });
  assert.equal(await (await ask(helloBody, { ...elsewhere, ...lenient })).text(), text);
  assert.equal(await (await ask(helloBody)).text(), text);
  const plain = text.replaceAll(/"(?:reasoning|reasoning_content|thinking|reasoning_details)":/g, '"other_$1":');
  wire.answer = () => new Response(plain, { headers: { "content-type": "application/json" } });
  assert.equal(await (await ask(helloBody, elsewhere)).text(), plain);
});

const piece = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: "c", x: 1, choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;
const finished = `data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"total_tokens":3}}\n\n`;

test("openai strict streams from a custom host contain no reasoning; their other bytes are forwarded", async () => {
  const first = piece({ role: "assistant", reasoning: "hidden" });
  const said = piece({ content: "Hi" }).replaceAll(":", ": ");
  const both = piece({ content: " you", reasoning_content: "hidden" }, { usage: { total_tokens: 2 } });
  const silent = [piece({ thinking: "hidden" }), piece({ content: "", reasoning_details: [{ a: 1 }] })].join("");
  const text = `${first}${silent}${said}${both}${finished}data: [DONE]\n\n`;
  wire.answer = () => new Response(text, { headers: { "content-type": "text/event-stream" } });
  const streamed = { ...helloBody, stream: true };
  const kept = piece({ role: "assistant" }) + said + piece({ content: " you" }, { usage: { total_tokens: 2 } });
  assert.equal(await (await ask(streamed, elsewhere)).text(), `${kept}${finished}data: [DONE]\n\n`);
  assert.equal(await (await ask(streamed, { ...elsewhere, ...lenient })).text(), text);
  assert.equal(await (await ask(streamed)).text(), text);
});

for (const body of [{}, { choices: {} }, { choices: [1, { message: [] }, { message: null }] }, [], null]) {
  test(`readWithoutReasoning() leaves ${JSON.stringify(body)} unchanged`, () => {
    assert.equal(readWithoutReasoning(body), undefined);
  });
}
