// Forms of requests that released agents send, recorded from their packages and reduced to what matters.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createEmulatedWorld, type EmulatedWorld, type Said } from "../emulators/emulator.ts";
import { providers } from "../emulators/mod.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { objectsOf, pixel, readStream, readWhole } from "./client.ts";

let world: EmulatedWorld;
let gateway: TestGateway;
before(async () => {
  world = createEmulatedWorld(providers.flatMap(({ emulators }) => emulators));
  gateway = await createTestGateway({ transport: world.transport });
});
after(() => gateway.close());

/** Sends a request to a provider whose model then says something. */
async function ask(provider: string, path: string, body: object, said: readonly Said[] = []): Promise<Response> {
  world.requests.length = 0;
  world.refusals.length = 0;
  world.script.splice(0, world.script.length, { said: said.length > 0 ? said : [{ kind: "text", text: "Done." }] });
  const headers = {
    "content-type": "application/json",
    "x-gateway-api-key": workspaceKey,
    "x-gateway-provider": provider,
    authorization: "Bearer fake-provider-key",
    "anthropic-version": "2023-06-01",
  };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  const response = await gateway.fetch(path, init);
  assert.deepEqual(world.refusals, []);
  return response;
}

/** The body that reached the provider. */
const sent = (): Record<string, unknown> => world.requests.at(-1)?.request.body ?? {};
const served = (): string | undefined => world.requests.at(-1)?.emulator.name;
const dropped = (response: Response): string => response.headers.get("x-gateway-dropped-params") ?? "";

const user = (content: unknown) => ({ role: "user", content });
const read = {
  type: "function",
  function: { name: "read", description: "Reads.", parameters: { type: "object", properties: {} } },
};

/** A turn of Claude Code: an environment behind the question, and a note behind each result. */
const claudeCode = (signature: string) => [
  user([{ type: "text", text: "Read notes.txt" }]),
  { role: "system", content: "# Environment" },
  {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "I look.", signature },
      { type: "tool_use", id: "toolu_1", name: "Read", input: { file_path: "notes.txt" } },
    ],
  },
  user([{ type: "tool_result", tool_use_id: "toolu_1", content: "six" }]),
  { role: "system", content: [{ type: "text", text: "<total_tokens>9</total_tokens>" }] },
];

const foreign = "rs:rs_1:gAAAA-sealed";
const claudeTools = [{ name: "Read", input_schema: { type: "object", properties: {} } }];

for (const model of ["claude-opus-4-8", "claude-sonnet-4-6", "claude-opus-4-7"]) {
  test(`system turns of Claude Code and reasoning of another provider no longer break a session with ${model}`, async () => {
    const messages = claudeCode(foreign);
    const response = await ask("anthropic", "/v1/messages", { model, max_tokens: 64, messages, tools: claudeTools });
    assert.equal(response.status, 200, await response.clone().text());
    assert.equal(world.requests.length, 1, "what Claude would refuse is not sent first");
    const turns = objectsOf(sent().messages);
    const isNative = model === "claude-opus-4-8";
    const roles = isNative ? "user system assistant user system" : "user assistant user";
    assert.equal(turns.map(({ role }) => role).join(" "), roles);
    const text = JSON.stringify(turns);
    for (const part of ["# Environment", "<total_tokens>", "toolu_1"]) assert.ok(text.includes(part), part);
    assert.ok(!text.includes(foreign));
    assert.equal(dropped(response), "messages.thinking");
  });
}

test("thinking with a budget is turned off where the reasoning of the open call came from another provider", async () => {
  const [question, , call, result] = claudeCode(foreign);
  const thinking = { type: "enabled", budget_tokens: 1_024 };
  const body = { model: "claude-opus-4-5", max_tokens: 4_000, thinking, messages: [question, call, result] };
  const response = await ask("anthropic", "/v1/messages", { ...body, tools: claudeTools });
  assert.equal(response.status, 200, await response.clone().text());
  assert.equal(sent().thinking, undefined);
  assert.equal(dropped(response), "messages.thinking,thinking");
});

test("a chat client's output limit and sampling no longer make OpenAI's reasoning models refuse", async () => {
  const base = { model: "gpt-5.6", messages: [user("Hello")], max_tokens: 900 };
  const response = await ask("openai", "/v1/chat/completions", { ...base, temperature: 0, top_p: 1 });
  assert.equal(response.status, 200, await response.clone().text());
  assert.deepEqual(
    [sent().max_tokens, sent().max_completion_tokens, sent().temperature, sent().top_p],
    [undefined, 900, undefined, 1],
  );
  assert.equal(dropped(response), "temperature");
  assert.equal(served(), "OpenAI chat");
});

for (const [model, given, wanted] of [
  ["gpt-4.1", { max_tokens: 9, temperature: 0 }, { max_tokens: 9, temperature: 0 }],
  ["gpt-5.6", { reasoning_effort: "none", temperature: 0 }, { reasoning_effort: "none", temperature: 0 }],
  ["gpt-5.6", { max_tokens: 9, max_completion_tokens: 9 }, { max_completion_tokens: 9 }],
] as const) {
  test(`${model} gets ${Object.entries(given).join(" and ")} as it takes them`, async () => {
    const response = await ask("openai", "/v1/chat/completions", { model, messages: [user("Hello")], ...given });
    assert.equal(response.status, 200, await response.clone().text());
    const { model: _model, messages: _messages, ...rest } = sent();
    assert.deepEqual(rest, wanted);
    assert.equal(dropped(response), "");
  });
}

const calls: readonly Said[] = [
  { kind: "thinking", text: "I look." },
  { kind: "text", text: "Let me look." },
  { kind: "call", name: "read", arguments: { path: "notes.txt" } },
];
const opencode = { model: "gpt-5.6", max_tokens: 32_000, messages: [user("Read notes.txt")], tools: [read] };

for (const stream of [true, false]) {
  for (const isStrict of [true, false]) {
    const how = `${stream ? "streamed" : "whole"}, ${isStrict ? "strict" : "with reasoning"}`;
    test(`a chat with functions is served by the Responses API where OpenAI's chat refuses it: ${how}`, async () => {
      world.script.length = 0;
      const response = await (isStrict ? ask : askLeniently)(
        "openai",
        "/v1/chat/completions",
        { ...opencode, stream },
        calls,
      );
      assert.equal(response.status, 200, await response.clone().text());
      assert.deepEqual([served(), sent().max_output_tokens, sent().store], ["OpenAI Responses", 32_000, false]);
      assert.equal(dropped(response), "");
      const text = await response.clone().text();
      assert.equal(text.includes("I look."), !isStrict);
      const message = stream ? joinChunks(await readStream(response)) : messageOf(await readWhole(response));
      assert.deepEqual(message, {
        content: "Let me look.",
        name: "read",
        arguments: '{"path":"notes.txt"}',
        finish: "tool_calls",
      });
    });
  }
}

async function askLeniently(...given: Parameters<typeof ask>): Promise<Response> {
  const [provider, path, body, said] = given;
  const config = { provider, api_key: "fake", strict_open_ai_compliance: false };
  world.requests.length = 0;
  world.script.splice(0, world.script.length, { said: said ?? [] });
  const headers = {
    "content-type": "application/json",
    "x-gateway-api-key": workspaceKey,
    "x-gateway-config": JSON.stringify(config),
  };
  return gateway.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
}

interface SeenMessage {
  content: string;
  name: unknown;
  arguments: string;
  finish: unknown;
}

function messageOf(body: Record<string, unknown>): SeenMessage {
  const [choice] = objectsOf(body.choices);
  const message = choice?.message as {
    content: string;
    tool_calls: { function: { name: string; arguments: string } }[];
  };
  const [call] = message.tool_calls;
  return {
    content: message.content,
    name: call?.function.name,
    arguments: call?.function.arguments ?? "",
    finish: choice?.finish_reason,
  };
}

function joinChunks(chunks: readonly Record<string, unknown>[]): SeenMessage {
  const seen: SeenMessage = { content: "", name: undefined, arguments: "", finish: undefined };
  for (const choice of chunks.flatMap((chunk) => objectsOf(chunk.choices))) {
    const delta = choice.delta as {
      content?: string;
      tool_calls?: { function: { name?: string; arguments?: string } }[];
    };
    seen.content += delta.content ?? "";
    for (const { function: piece } of delta.tool_calls ?? []) {
      seen.name ??= piece.name;
      seen.arguments += piece.arguments ?? "";
    }
    seen.finish = choice.finish_reason ?? seen.finish;
  }
  return seen;
}

for (const [what, more] of [
  ["turns reasoning off", { reasoning_effort: "none" }],
  ["has no functions", { tools: undefined }],
] as const) {
  test(`a chat that ${what} stays one at OpenAI`, async () => {
    const response = await ask("openai", "/v1/chat/completions", { ...opencode, ...more });
    assert.equal(response.status, 200, await response.clone().text());
    assert.equal(served(), "OpenAI chat");
  });
}

test("what Codex says of itself reaches OpenAI's Responses API", async () => {
  const client_metadata = { session_id: "01a2" };
  const response = await ask("openai", "/v1/responses", {
    model: "gpt-5.6",
    input: "Hello",
    store: false,
    client_metadata,
  });
  assert.equal(response.status, 200, await response.clone().text());
  assert.deepEqual(sent().client_metadata, client_metadata);
});

const image = { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } };
const callOf = { id: "call_1", type: "function", function: { name: "read", arguments: "{}" } };
const shown = [
  user("Look at the picture"),
  { role: "assistant", content: "", tool_calls: [callOf] },
  { role: "tool", tool_call_id: "call_1", content: "Image read successfully" },
];

for (const [what, messages] of [
  ["that a tool gave", [...shown, user([{ type: "text", text: "Attached media from tool result:" }, image])]],
  ["of an earlier question", [user([image]), { role: "assistant", content: "A pixel." }, user("Which colour?")]],
] as const) {
  test(`an image ${what} no longer breaks a session with a model that takes none`, async () => {
    const response = await ask("deepseek", "/v1/chat/completions", {
      model: "deepseek-v4-pro",
      messages,
      tools: [read],
    });
    assert.equal(response.status, 200, await response.clone().text());
    assert.match(JSON.stringify(sent().messages), /An image was left out here/);
    assert.equal(dropped(response), "messages.image_url");
  });
}

test("a question about an image is refused before a model that takes none is called", async () => {
  const messages = [
    user("Hello"),
    { role: "assistant", content: "Hello." },
    user([{ type: "text", text: "What is it?" }, image]),
  ];
  const response = await ask("deepseek", "/v1/chat/completions", { model: "deepseek-v4-pro", messages });
  const { error } = (await readWhole(response)) as { error: { param: string; message: string } };
  assert.deepEqual([response.status, error.param], [400, "messages.2.content"]);
  assert.match(error.message, /the model takes no images/);
  assert.equal(world.requests.length, 0);
});

for (const signed of [{}, { thoughtSignature: "Z2F0ZXdheTpjYWxsOg==" }]) {
  const how = "thoughtSignature" in signed ? "a signature alone" : "nothing";
  test(`Claude at OpenRouter no longer refuses a session of which Gemini CLI sends ${how} of the reasoning back`, async () => {
    const functionCall = { id: "call_1", name: "read", args: {} };
    const contents = [
      { role: "user", parts: [{ text: "Read notes.txt" }] },
      { role: "model", parts: [{ functionCall, ...signed }] },
      { role: "user", parts: [{ functionResponse: { id: "call_1", name: "read", response: { output: "six" } } }] },
    ];
    const generationConfig = { thinkingConfig: { includeThoughts: true, thinkingLevel: "HIGH" } };
    const path = "/v1beta/models/anthropic/claude-sonnet-4.6:generateContent";
    const response = await ask("openrouter", path, { contents, generationConfig });
    assert.equal(response.status, 200, await response.clone().text());
    assert.deepEqual(sent().reasoning, { enabled: false });
    assert.match(dropped(response), /reasoning/);
    const first = await ask("openrouter", path, { contents: contents.slice(0, 1), generationConfig });
    assert.equal(first.status, 200);
    assert.deepEqual(sent().reasoning, { effort: "high" });
  });
}
