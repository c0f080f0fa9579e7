// What Gemini and Vertex AI demand of each model, through the gateway's own APIs.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Transport } from "../../src/lib/outbound.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";

type Members = Record<string, unknown>;

let gateway: TestGateway;
let sent: { url: string; body: Members }[] = [];
let answer: () => Response;
before(async () => {
  const send: Transport["send"] = async (url, { body }) => {
    sent.push({ url: String(url), body: JSON.parse(String(body)) });
    return answer();
  };
  gateway = await createTestGateway({ transport: { send, sendChecked: send } });
});
after(() => gateway.close());

const vertex = { "x-gateway-vertex-project-id": "fake-project", "x-gateway-vertex-region": "us-east5" };

async function call(
  provider: string,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  sent = [];
  return gateway.fetch(path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": provider,
      authorization: "Bearer fake-provider-key",
      ...(provider === "vertex-ai" && vertex),
      ...headers,
    },
    body: JSON.stringify(body),
  });
}

const json = (value: unknown): Response => Response.json(value);
const candidate = (parts: readonly object[], rest: object = {}): object => ({
  candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0, ...rest }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
});
const said = () => json(candidate([{ text: "Yes." }]));
const streamOf = (...events: readonly object[]): Response =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });
const bodyOf = (): Members => sent[0]?.body ?? {};
const configOf = () => bodyOf().generationConfig as Members | undefined;
const thinkingOf = () => configOf()?.thinkingConfig;
const turnsOf = () => bodyOf().contents as { parts: Members[] }[];
const user = { role: "user", content: "Hello" };

for (const provider of ["google", "vertex-ai"]) {
  test(`${provider} gets the request not to think, whatever API it comes by`, async () => {
    answer = said;
    const off = { includeThoughts: false, thinkingBudget: 0 };
    const model = "gemini-2.5-flash";
    await call(provider, "/v1/messages", { model, max_tokens: 9, messages: [user], thinking: { type: "disabled" } });
    assert.deepEqual(thinkingOf(), off);
    await call(provider, "/v1/chat/completions", { model, messages: [user], reasoning_effort: "none" });
    assert.deepEqual(thinkingOf(), off);
    await call(provider, "/v1/chat/completions", { model, messages: [user], thinking: { type: "disabled" } });
    assert.deepEqual(thinkingOf(), off);
    await call(provider, "/v1/responses", { model, input: "Hello", reasoning: { effort: "none" } });
    assert.deepEqual(thinkingOf(), off);
    const native = {
      contents: [{ role: "user", parts: [{ text: "Hello" }] }],
      generationConfig: { thinkingConfig: { thinkingBudget: 0 } },
    };
    await call(provider, `/v1beta/models/${model}:generateContent`, native);
    assert.deepEqual(thinkingOf(), { thinkingBudget: 0 });
  });

  test(`${provider} gets the budget of an agent within the model's limits, and the change is reported`, async () => {
    answer = said;
    const body = { max_tokens: 32_000, messages: [user], thinking: { type: "enabled", budget_tokens: 31_999 } };
    for (const [model, most] of [
      ["gemini-2.5-flash", 24_576],
      ["gemini-2.5-flash-lite", 24_576],
      ["gemini-2.5-pro", 31_999],
    ] as const) {
      const response = await call(provider, "/v1/messages", { ...body, model });
      assert.deepEqual(thinkingOf(), { includeThoughts: true, thinkingBudget: most });
      const dropped = response.headers.get("x-gateway-dropped-params");
      assert.equal(dropped, most === 31_999 ? null : "thinking.budget_tokens");
    }
  });

  test(`${provider} gets a placeholder for calls without a signature from models that it does not name`, async () => {
    answer = said;
    const calls = [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }];
    const messages = [
      user,
      { role: "assistant", content: null, tool_calls: calls },
      { role: "tool", tool_call_id: "a", content: "1" },
    ];
    for (const model of ["gemini-pro-latest", "gemini-flash-latest", "gemini-4-neon", "some-tuned-model"]) {
      await call(provider, "/v1/chat/completions", { model, messages });
      const [, turn] = turnsOf();
      assert.equal(turn?.parts[0]?.thoughtSignature, "skip_thought_signature_validator", model);
    }
    await call(provider, "/v1/chat/completions", { model: "gemini-2.5-flash", messages });
    const [, turn] = turnsOf();
    assert.equal(turn?.parts[0]?.thoughtSignature, undefined);
  });

  test(`${provider} gets instructions in mid conversation at their place, after results of calls`, async () => {
    answer = said;
    const calls = [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }];
    const messages = [
      { role: "system", content: "Be brief." },
      user,
      { role: "assistant", content: null, tool_calls: calls },
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "system", content: "Be quick." },
    ];
    await call(provider, "/v1/chat/completions", { model: "gemini-2.5-flash", messages });
    const { systemInstruction } = bodyOf();
    assert.deepEqual(systemInstruction, { parts: [{ text: "Be brief." }] });
    assert.deepEqual(turnsOf().slice(2), [
      { role: "user", parts: [{ functionResponse: { name: "f", response: { output: "1" } } }] },
      { role: "user", parts: [{ text: "Be quick." }] },
    ]);
  });

  for (const reason of [
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MALFORMED_RESPONSE",
  ]) {
    test(`${provider}: ${reason} is not taken for the end of the work`, async () => {
      const faulty = candidate([], { finishReason: reason, finishMessage: "print(x)" });
      const model = "gemini-2.5-flash";
      answer = () => json(faulty);
      const whole = await call(provider, "/v1/chat/completions", { model, messages: [user] });
      assert.equal(whole.status, 502);
      assert.match(await whole.text(), new RegExp(`it ended with ${reason}`));
      answer = () => streamOf(candidate([{ text: "Let me look." }], { finishReason: undefined }), faulty);
      const streamed = await call(provider, "/v1/messages", { model, max_tokens: 9, messages: [user], stream: true });
      const events = await streamed.text();
      assert.match(events, /event: error/);
      assert.doesNotMatch(events, /end_turn/);
    });
  }

  test(`${provider}: ids of calls without an id differ from response to response`, async () => {
    const model = "gemini-2.5-flash";
    const called = candidate([{ functionCall: { name: "f", args: {} } }, { functionCall: { name: "f", args: {} } }]);
    const ids: string[] = [];
    for (const stream of [false, true, false]) {
      answer = () => (stream ? streamOf(called) : json(called));
      const response = await call(provider, "/v1/chat/completions", { model, messages: [user], stream });
      const found = (await response.text()).matchAll(/"id":"(call_[^"]+)"/g);
      ids.push(...Array.from(found, ([, id = ""]) => id));
    }
    assert.equal(ids.length, 6);
    assert.equal(new Set(ids).size, 6);
  });

  test(`${provider}: strict responses carry the signature where OpenAI's clients send it back`, async () => {
    const model = "gemini-3.1-pro-preview";
    const called = candidate([{ functionCall: { name: "f", args: {} }, thoughtSignature: "c2ln" }]);
    for (const stream of [false, true]) {
      answer = () => (stream ? streamOf(called) : json(called));
      const response = await call(provider, "/v1/chat/completions", { model, messages: [user], stream });
      const text = await response.text();
      assert.match(text, /"extra_content":\{"google":\{"thought_signature":"c2ln"\}\}/);
      assert.doesNotMatch(text, /"function":\{[^}]*thought_signature/);
    }
    answer = said;
    const calls = [
      {
        id: "a",
        type: "function",
        function: { name: "f", arguments: "{}" },
        extra_content: { google: { thought_signature: "c2ln" } },
      },
    ];
    const messages = [
      user,
      { role: "assistant", content: null, tool_calls: calls },
      { role: "tool", tool_call_id: "a", content: "1" },
    ];
    await call(provider, "/v1/chat/completions", { model, messages });
    const [, turn] = turnsOf();
    assert.equal(turn?.parts[0]?.thoughtSignature, "c2ln");
  });

  test(`${provider} gets response schemas in the form that Google documents`, async () => {
    answer = said;
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        shape: { $ref: "#/definitions/shape", description: "Beside a reference" },
        kind: { const: "a", description: "One value" },
        wrapped: { allOf: [{ $ref: "#/definitions/shape" }], title: "Wrapped" },
        flag: { const: true },
        const: { type: "string" },
      },
      definitions: { shape: { type: "object", properties: { side: { const: 1 } } } },
    };
    const response_format = { type: "json_schema", json_schema: { name: "n", schema } };
    await call(provider, "/v1/chat/completions", {
      model: "gemini-3.1-pro-preview",
      messages: [user],
      response_format,
    });
    assert.deepEqual(configOf()?.responseJsonSchema, {
      type: "object",
      properties: {
        shape: { $ref: "#/$defs/shape" },
        kind: { description: "One value", enum: ["a"] },
        wrapped: { $ref: "#/$defs/shape" },
        flag: { type: "boolean" },
        const: { type: "string" },
      },
      $defs: { shape: { type: "object", properties: { side: { enum: [1] } } } },
    });
  });

  test(`${provider} no longer gets penalties that new models refuse`, async () => {
    answer = said;
    const body = { messages: [user], presence_penalty: 0.5, frequency_penalty: 0 };
    const response = await call(provider, "/v1/chat/completions", { ...body, model: "gemini-4-neon" });
    assert.equal(configOf(), undefined);
    assert.equal(response.headers.get("x-gateway-dropped-params"), "presence_penalty");
    await call(provider, "/v1/chat/completions", { ...body, model: "gemini-2.0-flash" });
    assert.deepEqual(configOf(), { presencePenalty: 0.5, frequencyPenalty: 0 });
  });
}

test("Claude on Vertex AI no longer gets what only betas of Anthropic's own API allow", async () => {
  answer = () =>
    json({
      id: "m",
      type: "message",
      role: "assistant",
      model: "c",
      content: [],
      stop_reason: "end_turn",
      usage: {},
      input_tokens: 1,
    });
  const scoped = { type: "ephemeral", scope: "global", ttl: "1h" };
  const block = { type: "text", text: "Be brief.", cache_control: scoped };
  const body = {
    model: "claude-opus-4-8",
    max_tokens: 9,
    system: [block],
    tools: [{ name: "f", input_schema: { type: "object" }, eager_input_streaming: true, cache_control: scoped }],
    messages: [
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: [block] }] },
      { role: "system", content: "Be quick." },
    ],
  };
  const betas =
    "prompt-caching-scope-2026-01-05,mid-conversation-system-2026-04-07,fine-grained-tool-streaming-2025-05-14";
  for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
    const response = await call("vertex-ai", path, body, { "anthropic-beta": betas });
    const text = JSON.stringify(sent[0]?.body);
    assert.doesNotMatch(text, /scope|eager_input_streaming|"role":"system"|anthropic_beta/);
    assert.match(text, /\{"type":"text","text":"Be quick."\}\]\}/);
    assert.match(text, /"ttl":"1h"/);
    const dropped = response.headers.get("x-gateway-dropped-params") ?? "";
    for (const name of ["cache_control.scope", "tools.eager_input_streaming", "anthropic-beta"])
      assert.ok(dropped.includes(name));
  }
});

test("Claude on Vertex AI is fitted to what Claude takes, and open models are not", async () => {
  answer = () =>
    json({ id: "m", type: "message", role: "assistant", model: "c", content: [], stop_reason: "end_turn", usage: {} });
  const body = { messages: [user], max_tokens: 9, temperature: 0.3 };
  const response = await call("vertex-ai", "/v1/chat/completions", { ...body, model: "claude-opus-4-8" });
  assert.equal(bodyOf().temperature, undefined);
  assert.equal(response.headers.get("x-gateway-dropped-params"), "temperature");
  answer = () => json({ id: "c", object: "chat.completion", created: 1, model: "m", choices: [] });
  await call("vertex-ai", "/v1/chat/completions", { ...body, presence_penalty: 1, model: "meta.llama-4-maverick" });
  assert.deepEqual([bodyOf().temperature, bodyOf().presence_penalty], [0.3, 1]);
});
