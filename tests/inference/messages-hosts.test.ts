import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import {
  createTestGateway,
  type HeaderChanges,
  readJson,
  requestHeaders,
  type TestGateway,
} from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ transport: wire.transport });
});
after(() => gateway.close());

const aws = {
  "x-gateway-aws-access-key-id": "AKIAFAKEFAKEFAKE0000",
  "x-gateway-aws-secret-access-key": "fake-secret-access-key-for-tests",
  "x-gateway-aws-region": "eu-west-3",
};
const vertex = { "x-gateway-vertex-project-id": "fake-project", authorization: "Bearer ya29.fake-access-token" };
const vertexBase = "https://us-central1-aiplatform.googleapis.com/v1/projects/fake-project/locations/us-central1";

const messages = [{ role: "user", content: "Hello" }];
const answer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 1 },
};

async function post(path: string, body: object, headers: HeaderChanges): Promise<Response> {
  const init = { method: "POST", headers: requestHeaders(headers), body: JSON.stringify(body) };
  return gateway.fetch(path, init);
}

/** The body that was sent last. */
function sentBody(): Record<string, unknown> {
  return JSON.parse(String(wire.init?.body));
}

interface Host {
  provider: string;
  model: string;
  headers: HeaderChanges;
  url: string;
  /** The body, where it differs from the request's. */
  body: object;
  /** Betas in a header; absent where the host expects them in the body. */
  betas?: string;
}

const own = { model: "claude-sonnet-4-6", max_tokens: 10, messages };

const hosts: readonly Host[] = [
  {
    provider: "anthropic",
    model: "claude-sonnet-4-6",
    headers: { authorization: "Bearer sk-ant-api-fake" },
    url: "https://api.anthropic.com/v1/messages",
    body: own,
    betas: "context-1m-2025-08-07,files-api-2025-04-14",
  },
  {
    provider: "claude-platform-aws",
    model: "claude-sonnet-4-6",
    headers: aws,
    url: "https://aws-external-anthropic.eu-west-3.api.aws/v1/messages",
    body: own,
    betas: "context-1m-2025-08-07,files-api-2025-04-14",
  },
  {
    provider: "bedrock-mantle",
    model: "anthropic.claude-sonnet-4-6",
    headers: aws,
    url: "https://bedrock-mantle.eu-west-3.api.aws/anthropic/v1/messages",
    body: { ...own, model: "anthropic.claude-sonnet-4-6" },
    betas: "context-1m-2025-08-07,files-api-2025-04-14",
  },
  {
    provider: "bedrock",
    model: "eu.anthropic.claude-sonnet-4-6-v1:0",
    headers: aws,
    url: "https://bedrock-runtime.eu-west-3.amazonaws.com/model/eu.anthropic.claude-sonnet-4-6-v1%3A0/invoke",
    body: {
      max_tokens: 10,
      messages,
      anthropic_version: "bedrock-2023-05-31",
      anthropic_beta: ["context-1m-2025-08-07"],
    },
  },
  {
    provider: "vertex-ai",
    model: "claude-sonnet-4@20250514",
    headers: vertex,
    url: `${vertexBase}/publishers/anthropic/models/claude-sonnet-4%4020250514:rawPredict`,
    body: {
      max_tokens: 10,
      messages,
      anthropic_version: "vertex-2023-10-16",
      anthropic_beta: ["context-1m-2025-08-07"],
    },
  },
];

for (const { provider, model, headers, url, body, betas } of hosts) {
  test(`${provider} receives a request to the Messages API unchanged`, async () => {
    wire.answer = () => Response.json(answer);
    const request = { ...own, model, anthropic_beta: "context-1m-2025-08-07" };
    const clientBeta = { "anthropic-beta": "files-api-2025-04-14" };
    const response = await post("/v1/messages", request, { "x-gateway-provider": provider, ...headers, ...clientBeta });
    assert.equal(response.status, 200, await response.clone().text());
    // unknown betas are not sent to a host, and reported to the caller
    const shown = response.headers.get("x-gateway-dropped-params");
    assert.equal(shown, betas === undefined ? "anthropic-beta" : null);
    assert.equal(wire.url, url);
    assert.deepEqual(sentBody(), body);
    const sent = wire.init?.headers["anthropic-beta"];
    assert.deepEqual(sent?.split(",").toSorted(), betas?.split(","));
    assert.deepEqual(await readJson(response), answer);
  });
}

interface Counter {
  provider: string;
  model: string;
  headers: HeaderChanges;
  url: string;
  answer: object;
  body: (sent: Record<string, unknown>) => void;
}

const turn = { role: "user", parts: [{ text: "Hello" }] };

const counters: readonly Counter[] = [
  {
    provider: "anthropic",
    model: "claude-sonnet-4-6",
    headers: { authorization: "Bearer sk-ant-api-fake" },
    url: "https://api.anthropic.com/v1/messages/count_tokens",
    answer: { input_tokens: 7 },
    body: (sent) => assert.deepEqual(sent, { model: "claude-sonnet-4-6", messages }),
  },
  {
    provider: "bedrock",
    model: "anthropic.claude-sonnet-4-6-v1:0",
    headers: aws,
    url: "https://bedrock-runtime.eu-west-3.amazonaws.com/model/anthropic.claude-sonnet-4-6-v1%3A0/count-tokens",
    answer: { inputTokens: 7 },
    body({ input }) {
      const { invokeModel } = input as { invokeModel: { body: string } }; // throws if it is missing
      const wanted = { messages, anthropic_version: "bedrock-2023-05-31", max_tokens: 1 };
      assert.deepEqual(JSON.parse(atob(invokeModel.body)), wanted);
    },
  },
  {
    provider: "vertex-ai",
    model: "claude-sonnet-4@20250514",
    headers: vertex,
    url: `${vertexBase}/publishers/anthropic/models/count-tokens:rawPredict`,
    answer: { input_tokens: 7 },
    body: (sent) =>
      assert.deepEqual(sent, { model: "claude-sonnet-4@20250514", messages, anthropic_version: "vertex-2023-10-16" }),
  },
  {
    provider: "vertex-ai",
    model: "gemini-2.5-flash",
    headers: vertex,
    url: `${vertexBase}/publishers/google/models/gemini-2.5-flash:countTokens`,
    answer: { totalTokens: 7 },
    body: (sent) => assert.deepEqual(sent, { contents: [turn] }),
  },
  {
    provider: "google",
    model: "gemini-3-flash",
    headers: { authorization: "Bearer fake-provider-key" },
    url: "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash:countTokens",
    answer: { totalTokens: 7 },
    body({ generateContentRequest: asked }) {
      assert.deepEqual(Reflect.get(asked as object, "contents"), [turn]); // throws if it is not an object
    },
  },
];

for (const { provider, model, headers, url, answer: counted, body } of counters) {
  test(`${provider} counts the tokens of ${model}, by Anthropic's SDK`, async () => {
    wire.answer = () => Response.json(counted);
    const client = new Anthropic({
      baseURL: "http://gateway.test",
      apiKey: null,
      maxRetries: 0,
      defaultHeaders: {
        // hosts that sign requests need no key
        authorization: null,
        ...Object.fromEntries(requestHeaders({ "x-gateway-provider": provider, ...headers })),
      },
      fetch: (input, init) => gateway.gateway.fetch(new Request(input, init)),
    });
    const { input_tokens: tokens } = await client.messages.countTokens({
      model,
      messages: [{ role: "user", content: "Hello" }],
    });
    assert.equal(wire.url, url);
    body(sentBody());
    assert.equal(tokens, 7);
  });
}

test("POST /v1/messages/count_tokens refuses a provider that cannot count", async () => {
  const response = await post(
    "/v1/messages/count_tokens",
    { model: "gpt-5.1", messages },
    { "x-gateway-provider": "openai" },
  );
  assert.equal(response.status, 400);
  const { type, error } = await readJson<{ type: string; error: { type: string; code: string } }>(response);
  assert.deepEqual([type, error.type, error.code], ["error", "invalid_request_error", "unsupported_endpoint"]);
});

for (const [name, body, param] of [
  ["no length", { model: "m", messages }, "max_tokens"],
  ["no messages", { model: "m", max_tokens: 1 }, "messages"],
  ["empty messages", { model: "m", max_tokens: 1, messages: [] }, "messages"],
  ["an unknown role", { model: "m", max_tokens: 1, messages: [{ role: "tool", content: "x" }] }, "messages.0.role"],
  ["a budget of nothing", { ...own, thinking: { type: "enabled", budget_tokens: 0 } }, "thinking.budget_tokens"],
] as const) {
  test(`${name} is refused in the shape of the API`, async () => {
    const response = await post("/v1/messages", body, {});
    assert.equal(response.status, 400);
    const { type, error } = await readJson<{ type: string; error: { type: string; param: string } }>(response);
    assert.deepEqual([type, error.type, error.param], ["error", "invalid_request_error", param]);
  });
}

test("a config falls back from a host of Claude to a chat provider, with one response shape", async () => {
  const seen: string[] = [];
  wire.answer = () => {
    seen.push(wire.url);
    if (wire.url.endsWith("/messages"))
      return Response.json({ type: "error", error: { type: "overloaded_error", message: "Busy" } }, { status: 529 });
    const message = { role: "assistant", content: "Hi" };
    const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
    return Response.json({ id: "c", model: "gpt-5.1", choices: [{ index: 0, message, finish_reason: "stop" }], usage });
  };
  const config = {
    strategy: { mode: "fallback" },
    targets: [
      { provider: "anthropic", api_key: "sk-ant-api-fake" },
      { provider: "openai", api_key: "sk-fake", override_params: { model: "gpt-5.1" } },
    ],
  };
  const headers = { "x-gateway-provider": null, "x-gateway-config": JSON.stringify(config) };
  const response = await post("/v1/messages", own, headers);
  assert.equal(response.status, 200, await response.clone().text());
  assert.deepEqual(seen, ["https://api.anthropic.com/v1/messages", "https://api.openai.com/v1/chat/completions"]);
  const { content, stop_reason, usage } = await readJson<typeof answer>(response);
  assert.deepEqual(
    [content, stop_reason, usage.input_tokens, usage.output_tokens],
    [[{ type: "text", text: "Hi" }], "end_turn", 3, 1],
  );
  assert.equal(response.headers.get("x-gateway-last-used-option-index"), "config.targets[1]");
});

for (const [name, sse, wanted] of [
  [
    "an overload before the first event",
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Busy"}}\n\n',
    529,
  ],
  ["an end before the first event", "", 502],
] as const) {
  test(`${name} as the first event of a native stream is an error response`, async () => {
    wire.answer = () => new Response(sse, { headers: { "content-type": "text/event-stream" } });
    const headers = { "x-gateway-provider": "anthropic", authorization: "Bearer sk-ant-api-fake" };
    const response = await post("/v1/messages", { ...own, stream: true }, headers);
    assert.equal(response.status, wanted);
    assert.equal((await readJson<{ type: string }>(response)).type, "error");
  });
}

test("a native stream that breaks off ends with one error event", async () => {
  const start = [
    { type: "message_start", message: { ...answer, content: [] } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
  wire.answer = () => new Response(start, { headers: { "content-type": "text/event-stream" } });
  const headers = { "x-gateway-provider": "anthropic", authorization: "Bearer sk-ant-api-fake" };
  const text = await (await post("/v1/messages", { ...own, stream: true }, headers)).text();
  assert.ok(text.startsWith(start));
  const rest = text.slice(start.length);
  assert.match(rest, /^event: error\ndata: \{"type":"error","error":\{"type":"api_error","message":"[^"]+"\}\}\n\n$/);
});

test("a request is repeated once without reasoning whose signature the host refuses", async () => {
  const bodies: Record<string, unknown>[] = [];
  wire.answer = () => {
    bodies.push(sentBody());
    if (bodies.length > 1) return Response.json(answer);
    const message = "messages.1.content.0: Invalid `signature` in `thinking` block";
    return Response.json({ type: "error", error: { type: "invalid_request_error", message } }, { status: 400 });
  };
  const call = { type: "tool_use", id: "t1", name: "tide", input: {} };
  const turns = [
    ...messages,
    { role: "assistant", content: [{ type: "thinking", thinking: "Hm.", signature: "b3RoZXI=" }, call] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "3 m" }] },
  ];
  const request = { ...own, max_tokens: 4_000, messages: turns, thinking: { type: "enabled", budget_tokens: 2_000 } };
  const headers = { "x-gateway-provider": "anthropic", authorization: "Bearer sk-ant-api-fake" };
  const response = await post("/v1/messages", request, headers);
  assert.equal(response.status, 200, await response.clone().text());
  const [first, second] = bodies;
  assert.deepEqual(first, request);
  const { thinking: _, ...rest } = request;
  assert.deepEqual(second, { ...rest, messages: [turns[0], { role: "assistant", content: [call] }, turns[2]] });
  assert.equal(response.headers.get("x-gateway-dropped-params"), "messages.thinking,thinking");
});
