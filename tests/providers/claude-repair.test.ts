import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createProviderRegistry } from "../../src/providers/registry.ts";
import type { ChatRequest } from "../../src/schemas/chat.ts";
import { fixture } from "../conformance/suite.ts";
import { chat, createTestGateway, readJson, waitForLog } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const sentBodies: unknown[] = [];
const gateway = await createTestGateway({
  transport: {
    send(url, init) {
      sentBodies.push(JSON.parse(String(init.body)));
      return wire.transport.send(url, init);
    },
  },
});
after(() => gateway.close());

const refusal = "messages.1.content.0: Invalid `signature` in `thinking` block";
const thought = { type: "thinking", thinking: "Six is usual.", signature: "of-another-model" };
const hidden = { type: "redacted_thinking", data: "of-another-model" };
const said = { type: "text", text: "At six." };
const question = { role: "user", content: "When does the lock open?" };
const goOn = { role: "user", content: "And close?" };
const body = {
  model: "claude-sonnet-4-5",
  messages: [question, { role: "assistant", content: "At six.", content_blocks: [thought, hidden, said] }, goOn],
};

const failing = (message: string, status = 400) =>
  Response.json({ type: "error", error: { type: "invalid_request_error", message } }, { status });

/** Answers each call with the next of these responses. */
function answerInTurn(...answers: readonly (() => Response)[]): void {
  sentBodies.length = 0;
  wire.answer = () => answers[sentBodies.length - 1]?.() ?? assert.fail("one call too many");
}

const whole = () => new Response(fixture("anthropic", "chat.json"));
const stream = () =>
  new Response(fixture("anthropic", "stream.sse"), { headers: { "content-type": "text/event-stream" } });

const ask = (given: object, trace: string) =>
  chat(gateway, given, {
    "x-gateway-provider": "anthropic",
    "x-gateway-trace-id": trace,
    authorization: "Bearer sk-ant-api-test",
  });

for (const [name, given, answer] of [
  ["a response", body, whole],
  ["a stream", { ...body, stream: true }, stream],
] as const) {
  test(`${name} with rejected thinking is retried once without it, and the retry is reported`, async () => {
    answerInTurn(() => failing(refusal), answer);
    const trace = crypto.randomUUID();
    const response = await ask(given, trace);
    assert.equal(response.status, 200, await response.clone().text());
    await response.text();
    assert.equal(response.headers.get("x-gateway-dropped-params"), "messages.thinking");
    assert.equal(response.headers.get("x-gateway-retry-attempt-count"), "0");
    const contents = sentBodies.map((sent) => Object(sent).messages[1].content);
    assert.deepEqual(contents, [[thought, hidden, said], [said]]);
    const row = await waitForLog(gateway, trace);
    assert.deepEqual([row.upstream_calls, row.dropped_params, row.status], [2, ["messages.thinking"], 200]);
  });
}

test("anthropic makes no third call after a second signature failure", async () => {
  answerInTurn(
    () => failing(refusal),
    () => failing("fixture: still not"),
  );
  const response = await ask(body, crypto.randomUUID());
  const { error } = await readJson<{ error: { message: string } }>(response);
  assert.deepEqual([response.status, error.message], [400, "anthropic error: fixture: still not"]);
  assert.equal(sentBodies.length, 2);
});

for (const [name, given, message, status] of [
  ["another error", body, "fixture: max_tokens is missing", 400],
  ["a signature error without thinking", { ...body, messages: [question] }, refusal, 400],
  ["the same words with another status", body, refusal, 403],
] as const) {
  test(`${name} is returned unchanged`, async () => {
    answerInTurn(() => failing(message, status));
    const response = await ask(given, crypto.randomUUID());
    const { error } = await readJson<{ error: { message: string; type: string } }>(response);
    assert.deepEqual([response.status, error.message], [status, `anthropic error: ${message}`]);
    assert.equal(error.type, "invalid_request_error");
    assert.equal(response.headers.get("x-gateway-dropped-params"), null);
    assert.equal(sentBodies.length, 1);
  });
}

const claudeHosts = [
  ["anthropic", {}, "claude-sonnet-4-5"],
  ["claude-platform-aws", { "aws-region": "eu-west-1" }, "claude-sonnet-4-5"],
  ["bedrock", { "aws-region": "eu-west-1" }, "anthropic.claude-sonnet-4-5-20250929-v1:0"],
  ["bedrock-mantle", { "aws-region": "eu-west-1" }, "anthropic.claude-sonnet-4-5"],
  ["vertex-ai", { "vertex-project-id": "p", "vertex-region": "global" }, "anthropic.claude-sonnet-4-5"],
  ["azure-ai", { "azure-foundry-url": "https://r.services.ai.azure.com/anthropic" }, "claude-sonnet-4-5"],
  ["databricks", { "databricks-workspace": "dbc-1" }, "databricks-claude-sonnet-4-5"],
] as const;

for (const [slug, settings, model] of claudeHosts) {
  test(`${slug} removes thinking after a rejected signature, and does not modify the request`, () => {
    const values: Readonly<Record<string, string>> = settings;
    const provider = createProviderRegistry().get(slug) ?? assert.fail(slug);
    const adapter = provider.bind((name) => values[name] ?? null).operations.chat;
    const toolCalls = [{ id: "call_1", type: "function", function: { name: "tide", arguments: "{}" } }];
    const called = { role: "assistant", content: [thought], tool_calls: toolCalls };
    const request = { ...body, model, messages: [question, { role: "assistant", content: [hidden] }, called, goOn] };
    const given: ChatRequest = structuredClone(request);
    const dropped: string[] = [];
    const options = { strict: true, drop: (member: string) => void dropped.push(member) };
    const repaired = adapter?.repair?.(given, { status: 400, message: `Errors: ${refusal}` }, options);
    assert.deepEqual(given, request);
    assert.deepEqual(repaired?.messages, [question, { ...called, content: null }, goOn]);
    assert.deepEqual(dropped, ["messages.thinking"]);
  });
}
