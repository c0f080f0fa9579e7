// What hosts of the Responses API refuse of requests in OpenAI's form, and what reaches them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Transport } from "../../src/lib/outbound.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { type Members, objectsOf } from "./client.ts";

let gateway: TestGateway;
let sent: Members[] = [];
let answer: (body: Members) => Response;
before(async () => {
  const send: Transport["send"] = async (_url, { body }) => {
    const given: Members = JSON.parse(String(body));
    sent.push(given);
    return answer(given);
  };
  gateway = await createTestGateway({ transport: { send, sendChecked: send } });
});
after(() => gateway.close());

const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
const whole = { id: "resp_1", object: "response", created_at: 1, model: "m", status: "completed", usage };
const respond = (output: readonly Members[]): Response =>
  Response.json({ ...whole, output, error: null, incomplete_details: null });
const done: Members = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Done", annotations: [] }],
};

/** Sends a request; what reached the provider, and what was reported as left out. */
async function ask(path: string, provider: string, body: object) {
  sent = [];
  const response = await gateway.fetch(path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": provider,
      authorization: "Bearer fake-provider-key",
      "anthropic-version": "2023-06-01",
    },
    body: JSON.stringify(body),
  });
  const dropped = response.headers.get("x-gateway-dropped-params");
  const answered: Members = JSON.parse(await response.text());
  return { response, answered, dropped: dropped === null ? [] : dropped.split(/,\s*/) };
}

const responses = "/v1/responses";
const hello = { type: "message", role: "user", content: "Hello" };

for (const [provider, model, asked, expected] of [
  ["x-ai", "grok-4.5", "xhigh", "high"],
  ["x-ai", "grok-4-1-fast-reasoning", "low", undefined],
  ["groq", "openai/gpt-oss-120b", "minimal", "low"],
  ["groq", "qwen/qwen3.8-27b", "high", "default"],
  ["groq", "llama-3.3-70b-versatile", "high", undefined],
  ["openai", "gpt-5.1", "xhigh", "xhigh"],
] as const) {
  test(`Responses at ${provider}: ${model} gets ${expected ?? "no effort"} for ${asked}`, async () => {
    answer = () => respond([done]);
    const { dropped } = await ask(responses, provider, { model, input: [hello], reasoning: { effort: asked } });
    assert.deepEqual(sent[0]?.reasoning, expected === undefined ? undefined : { effort: expected });
    assert.deepEqual(dropped, expected === asked ? [] : ["reasoning.effort"]);
  });
}

const patch = {
  type: "custom",
  name: "apply_patch",
  format: { type: "grammar", syntax: "lark", definition: "start: /.+/" },
};
const group = {
  type: "namespace",
  name: "mcp__pages",
  description: "Pages.",
  tools: [{ type: "function", name: "search", parameters: { type: "object", properties: {} } }],
};

for (const [provider, model] of [
  ["x-ai", "grok-4.5"],
  ["groq", "openai/gpt-oss-120b"],
  ["openrouter", "openai/gpt-5.4"],
] as const) {
  test(`Codex's groups and free text reach ${provider} as functions, and their calls come back as they were offered`, async () => {
    answer = ({ tools }) =>
      respond(
        objectsOf(tools).map(({ name }, index) => ({
          type: "function_call",
          id: `fc_${index}`,
          call_id: `call_${index}`,
          name,
          arguments: name === "apply_patch" ? '{"input":"*** Begin"}' : "{}",
          status: "completed",
        })),
      );
    const { answered } = await ask(responses, provider, { model, input: [hello], tools: [patch, group] });
    assert.deepEqual(
      objectsOf(sent[0]?.tools).map(({ type, name }) => [type, name]),
      [
        ["function", "apply_patch"],
        ["function", "mcp__pages__search"],
      ],
    );
    assert.deepEqual(
      objectsOf(answered.output).map(({ type, name, namespace, input }) => [type, name, namespace, input]),
      [
        ["custom_tool_call", "apply_patch", undefined, "*** Begin"],
        ["function_call", "search", "mcp__pages", undefined],
      ],
    );
  });
}

/** A host that opens no seal. */
const refuseSeals = (message: string) => (body: Members) =>
  objectsOf(body.input).some(({ type }) => type === "reasoning")
    ? Response.json({ error: { message, code: "invalid_encrypted_content" } }, { status: 400 })
    : respond([done]);

for (const [provider, model, message] of [
  ["openai", "gpt-5.6", "The encrypted content gAAA...Rg== could not be verified."],
  ["x-ai", "grok-4.5", "Could not decode the compaction blob. Ensure it is unmodified from the compact response."],
  ["openrouter", "openai/gpt-5.4", "The encrypted content for item rs_1 could not be verified."],
] as const) {
  test(`reasoning that another host sealed is left out after ${provider} refused it`, async () => {
    answer = refuseSeals(message);
    const call = { type: "function_call", call_id: "call_1", name: "read", arguments: "{}" };
    const output = { type: "function_call_output", call_id: "call_1", output: "ok" };
    const sealed = { type: "reasoning", summary: [], encrypted_content: "sealed-elsewhere" };
    const input = [hello, sealed, { ...call, id: "fc_1" }, output];
    const { response, dropped } = await ask(responses, provider, { model, input });
    assert.equal(response.status, 200);
    assert.deepEqual(
      sent.map((body) => body.input),
      [input, [hello, call, output]],
    );
    assert.deepEqual(dropped, ["input.reasoning"]);
  });
}

test("reasoning of another account is left out of chats that the Responses API serves", async () => {
  answer = refuseSeals("The encrypted content gAAA...Rg== could not be verified.");
  const tools = [{ name: "read", input_schema: { type: "object", properties: {} } }];
  const messages = [
    { role: "user", content: "Hello" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "rs:rs_1:sealed-elsewhere" },
        { type: "text", text: "Hi" },
      ],
    },
    { role: "user", content: "Go on" },
  ];
  const thinking = { type: "enabled", budget_tokens: 2_000 };
  const body = { model: "gpt-5.6", max_tokens: 4_000, messages, tools, thinking };
  const { response, dropped } = await ask("/v1/messages", "openai", body);
  assert.equal(response.status, 200);
  assert.deepEqual(
    sent.map(({ input }) => objectsOf(input).map(({ type }) => type)),
    [
      ["message", "reasoning", "message", "message"],
      ["message", "message", "message"],
    ],
  );
  assert.ok(dropped.includes("messages.thinking"));
});

test("content that Codex writes as null is not sent to hosts that refuse it", async () => {
  answer = () => respond([done]);
  const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" };
  await ask(responses, "x-ai", { model: "grok-4.5", input: [hello, { ...reasoning, content: null }] });
  assert.deepEqual(sent[0]?.input, [hello, reasoning]);
});
