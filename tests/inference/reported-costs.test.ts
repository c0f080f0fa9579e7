import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type HeaderChanges, requestHeaders, waitForLog, workspaceKey } from "../support/gateway.ts";
import { createRedirectingTransport } from "../support/redirected.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const tokens = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
/** The usage of the next responses. */
let usage: unknown;
/** They are streams. */
let isStream = false;
/** A model with a listed price that requests name in place of one without. */
let listed: string | undefined;

const content = 'The "usage": {"cost": 9} is text';
const chunk = (more: object) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, ...more })}\n\n`;

/** Answers of the upstream's paths. */
function answerOf(path: string): { type: string; text: string } {
  const model = listed ?? "vendor/model-1";
  if (path.endsWith("/responses")) {
    const item = {
      id: "m",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: content, annotations: [] }],
    };
    const response = {
      id: "r",
      object: "response",
      created_at: 1,
      status: "completed",
      error: null,
      incomplete_details: null,
      model,
      output: [item],
      usage,
    };
    const events = `event: response.completed\ndata: ${JSON.stringify({ type: "response.completed", sequence_number: 0, response })}\n\n`;
    return isStream
      ? { type: "text/event-stream", text: events }
      : { type: "application/json", text: JSON.stringify(response) };
  }
  const message = { role: "assistant", content };
  const whole = {
    id: "c",
    object: "chat.completion",
    created: 1,
    model,
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage,
  };
  if (!isStream) return { type: "application/json", text: JSON.stringify(whole) };
  const text = [
    chunk({ model, choices: [{ index: 0, delta: message, finish_reason: null }] }),
    chunk({ model, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
    chunk({ model, choices: [], usage }),
    "data: [DONE]\n\n",
  ].join("");
  return { type: "text/event-stream", text };
}

const upstream = await startRecordingUpstream(({ path }, response) => {
  const { type, text } = answerOf(path);
  response.writeHead(200, { "content-type": type });
  response.end(text);
});
const gateway = await createTestGateway({ transport: createRedirectingTransport(() => upstream.url) });
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  usage = { ...tokens, cost: 0.0123 };
  isStream = false;
  listed = undefined;
});

const messages = [{ role: "user", content: "Hello" }];
const contents = [{ role: "user", parts: [{ text: "Hello" }] }];
const model = "vendor/model-1";

/** Requests to the upstream, by route. */
const requests: Readonly<Record<string, { path: string; streamPath?: string; body: object }>> = {
  chat: { path: "/v1/chat/completions", body: { model, messages } },
  messages: { path: "/v1/messages", body: { model, messages, max_tokens: 50 } },
  responses: { path: "/v1/responses", body: { model, input: "Hello" } },
  gemini: {
    path: `/v1beta/models/${model}:generateContent`,
    streamPath: `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    body: { contents },
  },
  forwarded: { path: "/v1/proxy/chat/completions", body: { model, messages } },
};

async function send(name: string, headers: HeaderChanges = {}) {
  const { path, streamPath, body } = requests[name] ?? { path: "", body: {} };
  const named = (text: string) => text.replaceAll(model, listed ?? model);
  const target = named(isStream ? (streamPath ?? path) : path);
  const response = await gateway.fetch(target, {
    method: "POST",
    headers: requestHeaders({
      "x-gateway-provider": "openrouter",
      "x-gateway-custom-host": `${upstream.url}/api`,
      authorization: "Bearer upstream-credential",
      ...headers,
    }),
    body: named(JSON.stringify(isStream && streamPath === undefined ? { ...body, stream: true } : body)),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const row = await waitForLog(gateway, response.headers.get("x-gateway-trace-id") ?? "");
  return { text, priced: [row.cost, row.priced, row.price_source], row };
}

for (const name of Object.keys(requests)) {
  for (const streamed of [false, true]) {
    test(`the cost that a provider reports is the cost of ${name}, ${streamed ? "streamed" : "whole"}`, async () => {
      isStream = streamed;
      const { priced, row } = await send(name);
      assert.deepEqual(priced, [1.23, true, "provider"]);
      assert.equal(row.usage?.total_tokens, 110);
      usage = tokens;
      assert.deepEqual((await send(name)).priced, [null, false, undefined], "the next response reports none");
    });
  }
}

for (const streamed of [false, true]) {
  test(`a strict response has no cost, ${streamed ? "streamed" : "whole"}, and another one has it`, async () => {
    isStream = streamed;
    assert.doesNotMatch((await send("chat")).text, /"cost":0/);
    const strict = "x-gateway-strict-open-ai-compliance";
    const open = await send("chat", { [strict]: "false" });
    if (!streamed) assert.match(open.text, /"cost":0\.0123/);
    assert.deepEqual(open.priced, [1.23, true, "provider"]);
  });
}

for (const cost of [-1, "0.5", null, 1e300, 10_001, true, {}, [1]]) {
  test(`a cost of ${JSON.stringify(cost)} is ignored`, async () => {
    usage = { ...tokens, cost };
    assert.deepEqual((await send("chat")).priced, [null, false, undefined]);
    isStream = true;
    assert.deepEqual((await send("messages")).priced, [null, false, undefined]);
  });
}

/** Requests go to the provider's own host, which is the upstream here. */
const atOwnHost = { "x-gateway-custom-host": null };

test("a reported cost of 0 is a cost, and the smallest part is a nano-dollar", async () => {
  usage = { ...tokens, cost: 0 };
  for (const name of Object.keys(requests)) {
    isStream = false;
    assert.deepEqual((await send(name, atOwnHost)).priced, [0, true, "provider"], name);
    isStream = true;
    assert.deepEqual((await send(name, atOwnHost)).priced, [0, true, "provider"], name);
  }
  isStream = false;
  usage = { ...tokens, cost: 0.0000000125 };
  assert.deepEqual((await send("chat")).priced, [0.0000013, true, "provider"]);
});

for (const name of Object.keys(requests)) {
  for (const streamed of [false, true]) {
    test(`a custom host cannot lower the cost of ${name} by its report, ${streamed ? "streamed" : "whole"}`, async () => {
      isStream = streamed;
      listed = "anthropic/claude-sonnet-4.5";
      usage = tokens;
      const [price] = (await send(name)).priced;
      assert.ok(typeof price === "number" && price > 0, String(price));
      for (const cost of [0, 1e-9, price / 200]) {
        usage = { ...tokens, cost };
        assert.deepEqual((await send(name)).priced, [price, true, "list"], String(cost));
        // the provider itself may charge less than it lists
        assert.equal((await send(name, atOwnHost)).priced[2], "provider", String(cost));
      }
      usage = { ...tokens, cost: 0.5 };
      assert.deepEqual((await send(name)).priced, [50, true, "provider"]);
      listed = undefined;
      usage = { ...tokens, cost: 0 };
      assert.deepEqual((await send(name)).priced, [null, false, undefined], "0 is no price of a model without one");
    });
  }
}

test("what another provider charges for the account's own key is added", async () => {
  usage = { ...tokens, cost: 0.001, is_byok: true, cost_details: { upstream_inference_cost: 0.02 } };
  assert.deepEqual((await send("chat")).priced, [2.1, true, "provider"]);
  usage = { ...tokens, cost: 0.001, is_byok: true, cost_details: { upstream_inference_cost: null } };
  assert.deepEqual((await send("chat")).priced, [null, false, undefined]);
  usage = { ...tokens, cost: 0.001, is_byok: false, cost_details: { upstream_inference_cost: 0.02 } };
  assert.deepEqual((await send("chat")).priced, [0.1, true, "provider"]);
});

test("a provider that does not report costs is priced by the list", async () => {
  const { priced } = await send("chat", { "x-gateway-provider": "openai" });
  assert.deepEqual(priced, [null, false, undefined]);
});

test("a price of the integration itself comes before the reported cost, and a listed price behind it", async () => {
  const options = { key: workspaceKey };
  const body = {
    name: "router",
    slug: "router",
    ai_provider_id: "openrouter",
    key: "fake-stored-credential-1234567890",
    configurations: { custom_host: `${upstream.url}/api` },
    create_default_provider: true,
    default_provider_slug: "router",
  };
  await done(call(gateway, "POST /integrations", { ...options, body }));
  const pricing = { type: "static", pay_as_you_go: { request_token: { price: 0.01 }, response_token: { price: 0.1 } } };
  const models = [{ slug: model, enabled: true, is_custom: true, pricing_config: pricing }];
  await done(call(gateway, "PUT /integrations/router/models", { ...options, body: { models } }));
  const stored = { "x-gateway-provider": "@router", "x-gateway-custom-host": null, authorization: null };
  assert.deepEqual((await send("chat", stored)).priced, [2, true, "integration"]);
});
