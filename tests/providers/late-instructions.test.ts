import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestGateway, requestHeaders } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport, checksAnswers: false });
after(() => gateway.close());
wire.answer = () =>
  Response.json({
    id: "m",
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text: "Yes" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 3, output_tokens: 2 },
  });

type Members = Readonly<Record<string, unknown>>;

/** The request that Claude gets for a request to a route. */
async function sentFor(
  path: string,
  body: object,
): Promise<{ system: unknown; messages: { role: string; content: unknown }[] }> {
  const headers = requestHeaders({ "x-gateway-provider": "anthropic", authorization: "Bearer fake" });
  const response = await gateway.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(response.status, 200, await response.text());
  return JSON.parse(String(wire.init?.body));
}
const rolesOf = async (model: string, messages: readonly Members[]) => {
  const { system, messages: turns } = await sentFor("/v1/chat/completions", { model, messages });
  return [system === undefined ? "" : "system", ...turns.map(({ role }) => role)].filter((role) => role !== "");
};

const begin = { role: "system", content: "Be brief." };
const user = { role: "user", content: "Hello" };
const answer = { role: "assistant", content: "Hi" };
const late = { role: "developer", content: "Use French." };
const call = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
};
const result = { role: "tool", tool_call_id: "a", content: "1" };
const picture = { role: "system", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] };

const newModels = ["claude-opus-4-8", "claude-fable-5", "claude-sonnet-5", "claude-opus-9-1"];
const oldModels = ["claude-opus-4-7", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-3-7-sonnet-latest"];

for (const [name, messages, native, asUser] of [
  ["behind the user", [begin, user, late], "system user system", "system user user"],
  [
    "before an answer",
    [begin, user, late, answer, user],
    "system user system assistant user",
    "system user user assistant user",
  ],
  ["behind the results of calls", [user, call, result, late], "user assistant user system", "user assistant user"],
  ["twice", [user, late, late], "user system", "user user user"],
  ["behind an answer", [user, answer, late, user], "user assistant user user", "user assistant user user"],
  ["between two messages of the user", [user, late, user], "user user user", "user user user"],
  [
    "between the results of calls",
    [user, call, result, late, { ...result }],
    "user assistant user",
    "user assistant user",
  ],
  ["that is no text", [user, picture], "user user", "user user"],
  [
    "behind an empty message",
    [{ role: "user", content: "" }, late, answer, user],
    "user assistant user",
    "user assistant user",
  ],
] as const) {
  test(`an instruction ${name} stays at its place, natively from Claude 4.8 on`, async () => {
    for (const model of newModels) assert.equal((await rolesOf(model, messages)).join(" "), native, model);
    for (const model of oldModels) assert.equal((await rolesOf(model, messages)).join(" "), asUser, model);
  });
}

test("two instructions at one place are one turn, with what marks them for the cache", async () => {
  const marked = { ...late, cache_control: { type: "ephemeral" } };
  const { system, messages } = await sentFor("/v1/chat/completions", {
    model: "claude-opus-4-8",
    messages: [begin, user, late, marked],
  });
  assert.deepEqual(system, [{ type: "text", text: "Be brief." }]);
  assert.deepEqual(messages.at(-1), {
    role: "system",
    content: [
      { type: "text", text: "Use French." },
      { type: "text", text: "Use French.", cache_control: { type: "ephemeral" } },
    ],
  });
});

test("instructions in the input of the Responses API stay natively too", async () => {
  const { messages } = await sentFor("/v1/responses", {
    model: "claude-opus-4-8",
    instructions: "Be brief.",
    input: [user, { role: "developer", content: "Use French." }],
  });
  assert.deepEqual(
    messages.map(({ role }) => role),
    ["user", "system"],
  );
});

test("native messages are forwarded as they came", async () => {
  const messages = [user, { role: "system", content: "Use French." }];
  const sent = await sentFor("/v1/messages", { model: "claude-opus-4-8", max_tokens: 5, messages });
  assert.deepEqual(sent.messages, messages);
});
