// What Mistral, Cohere, xAI, Groq, Cerebras and servers of open models take, by request.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isObject } from "../../src/lib/json.ts";
import type { Transport } from "../../src/lib/outbound.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { type Members, objectsOf } from "./client.ts";

let gateway: TestGateway;
let sent: Members[] = [];
let answer: (body: Members, url: string) => Response;
before(async () => {
  const send: Transport["send"] = async (url, { body }) => {
    const given: Members = JSON.parse(String(body));
    sent.push(given);
    return answer(given, url);
  };
  gateway = await createTestGateway({ transport: { send, sendChecked: send } });
});
after(() => gateway.close());

const said = { role: "assistant", content: "Done" };
const enough = (_body: Members, url: string) =>
  url.includes("cohere")
    ? Response.json({
        id: "c",
        finish_reason: "COMPLETE",
        message: { ...said, content: [{ type: "text", text: "Done" }] },
      })
    : Response.json({ id: "c", created: 1, choices: [{ index: 0, message: said, finish_reason: "stop" }] });

/** Sends a request; what reached the provider, and what was reported as left out. */
async function ask(path: string, provider: string, body: object, headers: Members = {}) {
  sent = [];
  answer ??= enough;
  const response = await gateway.fetch(path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": provider,
      authorization: "Bearer fake-provider-key",
      "anthropic-version": "2023-06-01",
      ...(headers as Record<string, string>),
    },
    body: JSON.stringify(body),
  });
  const dropped = response.headers.get("x-gateway-dropped-params");
  return { response, upstream: sent[0] ?? {}, dropped: dropped === null ? [] : dropped.split(/,\s*/) };
}

const chat = "/v1/chat/completions";
const hello = { role: "user", content: "Hello" };
const tool = { type: "function", function: { name: "read", parameters: { type: "object", properties: {} } } };

/** Model, the effort that is asked for, and what is sent; a change is reported. */
const efforts: readonly (readonly [provider: string, model: string, asked: string, sent: string | undefined])[] = [
  ["mistral-ai", "mistral-small-2603", "low", "high"],
  ["mistral-ai", "mistral-small-2603", "none", "none"],
  ["mistral-ai", "mistral-medium-3-5", "xhigh", "high"],
  ["mistral-ai", "mistral-large-2411", "high", undefined],
  ["mistral-ai", "codestral-2508", "low", undefined],
  ["mistral-ai", "magistral-medium-2509", "high", undefined],
  ["groq", "openai/gpt-oss-120b", "xhigh", "high"],
  ["groq", "openai/gpt-oss-120b", "none", "low"],
  ["groq", "openai/gpt-oss-20b", "minimal", "low"],
  ["groq", "qwen/qwen3.8-27b", "high", "default"],
  ["groq", "qwen/qwen3-32b", "none", "none"],
  ["groq", "qwen/qwen3-32b", "default", "default"],
  ["groq", "llama-3.3-70b-versatile", "high", undefined],
  ["groq", "moonshotai/kimi-k2-instruct", "low", undefined],
  ["cerebras", "gpt-oss-120b", "max", "high"],
  ["cerebras", "qwen-3.8-27b", "xhigh", "high"],
  ["cerebras", "qwen-3.8-27b", "none", "none"],
  ["cerebras", "llama-3.3-70b", "high", undefined],
  ["x-ai", "grok-4", "high", undefined],
  ["x-ai", "grok-4-0709", "high", undefined],
  ["x-ai", "grok-4-fast-reasoning", "low", undefined],
  ["x-ai", "grok-4-1-fast-reasoning", "low", undefined],
  ["x-ai", "grok-4-1-fast-non-reasoning", "low", undefined],
  ["x-ai", "grok-code-fast-1", "high", undefined],
  ["x-ai", "grok-3", "high", undefined],
  ["x-ai", "grok-3-mini", "medium", "low"],
  ["x-ai", "grok-4.3", "none", "none"],
  ["x-ai", "grok-4.3", "xhigh", "high"],
  ["x-ai", "grok-4.5", "none", "low"],
  ["x-ai", "grok-4.5", "xhigh", "high"],
  ["x-ai", "grok-4.7", "xhigh", "xhigh"],
  ["x-ai", "grok-4.7", "max", "xhigh"],
];

for (const [provider, model, asked, wanted] of efforts) {
  test(`the effort ${asked} for ${model} at ${provider} is sent as ${wanted ?? "nothing"}`, async () => {
    answer = enough;
    const { upstream, dropped } = await ask(chat, provider, { model, messages: [hello], reasoning_effort: asked });
    assert.equal(upstream.reasoning_effort, wanted);
    // a word of the host for the same level is no change
    assert.equal(dropped.includes("reasoning_effort"), wanted !== asked);
  });
}

test("thinking that is turned off in Messages is turned off where models think by default", async () => {
  answer = enough;
  const off = async (provider: string, model: string) => {
    const body = { model, max_tokens: 100, thinking: { type: "disabled" }, messages: [hello] };
    const { upstream, dropped } = await ask("/v1/messages", provider, body);
    assert.deepEqual(dropped, []);
    return [upstream.reasoning_effort, upstream.thinking];
  };
  assert.deepEqual(await off("groq", "qwen/qwen3.8-27b"), ["none", undefined]);
  assert.deepEqual(await off("cerebras", "qwen-3.8-27b"), ["none", undefined]);
  assert.deepEqual(await off("x-ai", "grok-4.3"), ["none", undefined]);
  assert.deepEqual(await off("mistral-ai", "mistral-small-2603"), ["none", undefined]);
  assert.deepEqual(await off("cohere", "command-a-reasoning-08-2025"), [undefined, { type: "disabled" }]);
  // models that do not think are not asked
  assert.deepEqual(await off("groq", "llama-3.3-70b-versatile"), [undefined, undefined]);
  assert.deepEqual(await off("cohere", "command-a-03-2025"), [undefined, undefined]);
});

test("a budget of Messages reaches hosts of efforts as an effort, and is not reported as left out", async () => {
  answer = enough;
  const body = { max_tokens: 32_000, thinking: { type: "enabled", budget_tokens: 20_000 }, messages: [hello] };
  for (const [provider, model] of [
    ["mistral-ai", "mistral-small-2603"],
    ["groq", "openai/gpt-oss-120b"],
    ["x-ai", "grok-4.5"],
  ] as const) {
    const { upstream, dropped } = await ask("/v1/messages", provider, { ...body, model });
    assert.deepEqual([upstream.reasoning_effort, upstream.thinking, dropped], ["high", undefined, []]);
  }
  const thinker = await ask("/v1/messages", "cohere", { ...body, model: "command-a-reasoning-08-2025" });
  assert.deepEqual(thinker.upstream.thinking, { type: "enabled", token_budget: 20_000 });
  const planner = await ask("/v1/messages", "cohere", { ...body, model: "command-a-03-2025" });
  assert.equal(planner.upstream.thinking, undefined);
  assert.ok(planner.dropped.includes("reasoning_effort"), planner.dropped.join());
});

const call = (id: string, name = "read") => ({ id, type: "function", function: { name, arguments: "{}" } });

test("an instruction in mid conversation becomes the user's for Mistral, at its place", async () => {
  answer = enough;
  const messages = [
    { role: "user", content: "Read it" },
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_01", name: "read", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_01", content: "done" }] },
    { role: "system", content: [{ type: "text", text: "Be brief." }] },
  ];
  const body = { model: "mistral-small-2603", max_tokens: 100, system: "Help.", messages };
  const { upstream } = await ask("/v1/messages", "mistral-ai", body, {
    "anthropic-beta": "mid-conversation-system-2026-04-07",
  });
  assert.deepEqual(
    objectsOf(upstream.messages).map(({ role }) => role),
    ["system", "user", "assistant", "tool", "user"],
  );
  const developer = [hello, { role: "assistant", content: "Hi" }, { role: "developer", content: "Be brief." }, hello];
  const other = await ask(chat, "mistral-ai", { model: "mistral-large-2411", messages: developer });
  assert.deepEqual(
    objectsOf(other.upstream.messages).map(({ role }) => role),
    ["user", "assistant", "user", "user"],
  );
});

test("ids of calls have nine letters and digits at Mistral, differ from each other, and are the same in every turn", async () => {
  answer = enough;
  const ids = ["toolu_01AbC", "toolu_01AbD", "call_1", "abcDEF123"];
  const messages = [
    hello,
    { role: "assistant", content: null, tool_calls: ids.map((id) => call(id)) },
    ...ids.map((id) => ({ role: "tool", tool_call_id: id, content: "done" })),
  ];
  const idsOf = async () => {
    const { upstream } = await ask(chat, "mistral-ai", { model: "mistral-large-2411", messages, tools: [tool] });
    const [, assistant, ...results] = objectsOf(upstream.messages);
    const called = objectsOf(assistant?.tool_calls).map(({ id }) => String(id));
    assert.deepEqual(
      results.map(({ tool_call_id: id }) => id),
      called,
    );
    return called;
  };
  const first = await idsOf();
  for (const id of first) assert.match(id, /^[a-zA-Z0-9]{9}$/);
  assert.equal(new Set(first).size, ids.length);
  assert.equal(first[3], "abcDEF123");
  assert.deepEqual(await idsOf(), first);
});

/** A response of Mistral that repeats a begun answer, streamed in these pieces or whole. */
function repeating(pieces: readonly string[]): (body: Members) => Response {
  return ({ stream }) => {
    const head = { id: "m", created: 1, model: "mistral-small-2603" };
    if (stream !== true) {
      const message = { role: "assistant", content: pieces.join("") };
      return Response.json({ ...head, choices: [{ index: 0, message, finish_reason: "stop" }] });
    }
    const chunks = [
      ...pieces.map((content) => ({ delta: { content }, finish_reason: null })),
      { delta: { content: "" }, finish_reason: "stop" },
    ].map((choice) => `data: ${JSON.stringify({ ...head, choices: [{ index: 0, ...choice }] })}\n\n`);
    return new Response(`${chunks.join("")}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
  };
}

/** What a response of Messages says, streamed or whole. */
function textsIn(text: string): string {
  if (!text.startsWith("event:")) {
    const { content }: { content: { text: string }[] } = JSON.parse(text);
    return content.map((block) => block.text).join("");
  }
  return [...text.matchAll(/"type":"text_delta","text":("(?:[^"\\]|\\.)*")/g)]
    .map(([, one]) => JSON.parse(one ?? ""))
    .join("");
}

for (const [title, pieces] of [
  ["repeats it in small pieces", ["{", '"a', '": ', "1}"]],
  ["repeats it in one piece with more", ['{"a": 1}']],
  ["does not repeat it", [" 1}"]],
  ["begins in the same way and goes on in another", ['{"', 'b": 1}']],
] as const) {
  for (const stream of [false, true]) {
    test(`a begun answer is continued by Mistral, which ${title}: the client gets what is new, ${stream ? "streamed" : "whole"}`, async () => {
      answer = repeating(pieces);
      const begun = { role: "assistant", content: '{"a": ' };
      const body = { model: "mistral-small-2603", max_tokens: 100, stream, messages: [hello, begun] };
      const { response, upstream } = await ask("/v1/messages", "mistral-ai", body);
      assert.deepEqual(objectsOf(upstream.messages).at(-1), { ...begun, prefix: true });
      const whole = pieces.join("");
      const text = await response.text();
      const wanted = whole.startsWith('{"a": ') ? "1}" : whole;
      assert.equal(textsIn(text), wanted);
    });
  }
}

test("a prefix that the caller sets itself is Mistral's own field, and its answer is returned as it is", async () => {
  answer = repeating(['{"a": 1}']);
  const begun = { role: "assistant", content: '{"a": ', prefix: true };
  const { response } = await ask(chat, "mistral-ai", { model: "mistral-small-2603", messages: [hello, begun] });
  const { choices }: { choices: { message: Members }[] } = JSON.parse(await response.text());
  assert.equal(choices[0]?.message.content, '{"a": 1}');
});

for (const stream of [false, true]) {
  test(`an answer that the client begins is continued by Mistral on Vertex AI too, ${stream ? "streamed" : "whole"}`, async () => {
    answer = repeating(['{"a": ', "1}"]);
    const begun = { role: "assistant", content: '{"a": ' };
    const place = { "x-gateway-vertex-project-id": "p", "x-gateway-vertex-region": "europe-west4" };
    const body = { model: "mistralai.mistral-small-2603", max_tokens: 100, stream, messages: [hello, begun] };
    const { response, upstream } = await ask("/v1/messages", "vertex-ai", body, place);
    assert.deepEqual(objectsOf(upstream.messages).at(-1), { ...begun, prefix: true });
    assert.equal(textsIn(await response.text()), "1}");
  });
}

const root = { anyOf: [{ properties: { a: { type: "string" } } }, { properties: { b: { type: "string" } } }] };

for (const [provider, model] of [
  ["mistral-ai", "mistral-small-2603"],
  ["cohere", "command-a-03-2025"],
  ["x-ai", "grok-4.5"],
  ["groq", "openai/gpt-oss-120b"],
  ["cerebras", "gpt-oss-120b"],
] as const) {
  test(`long names and schemas with alternatives at their root reach ${provider} in a form that it takes`, async () => {
    answer = enough;
    const name = `mcp__server__${"long_".repeat(20)}name`;
    const tools = [{ name, description: "Reads.", input_schema: { type: "object", ...root } }];
    const { upstream } = await ask("/v1/messages", provider, { model, max_tokens: 100, messages: [hello], tools });
    const [declared] = objectsOf(upstream.tools).map((one) => one.function);
    assert.ok(isObject(declared) && isObject(declared.parameters));
    assert.match(String(declared.name), /^[a-zA-Z0-9_-]{1,64}$/);
    assert.deepEqual(declared.parameters, {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" } },
    });
  });

  test(`a name of more than 1,024 characters is refused before ${provider} is called`, async () => {
    answer = enough;
    const long = { type: "function", function: { name: "n".repeat(1_025) } };
    const body = { model, messages: [hello], tools: [tool, long] };
    const { response, upstream } = await ask(chat, provider, body);
    const { error }: { error: Members } = JSON.parse(await response.text());
    assert.deepEqual([response.status, error.param, upstream], [400, "tools.1.function.name", {}]);
    const calls = [call("a"), call("b", "n".repeat(1_025))];
    const earlier = [hello, { role: "assistant", content: null, tool_calls: calls }];
    const second = await ask(chat, provider, { model, messages: earlier });
    const refused: { error: Members } = JSON.parse(await second.response.text());
    assert.equal(refused.error.param, "messages.1.tool_calls.1.function.name");
  });
}

test("calls without a text carry an empty one to xAI", async () => {
  answer = enough;
  const messages = [
    hello,
    { role: "assistant", content: null, tool_calls: [call("a")] },
    { role: "tool", tool_call_id: "a", content: "done" },
  ];
  const { upstream, dropped } = await ask(chat, "x-ai", { model: "grok-4.5", messages, tools: [tool] });
  assert.deepEqual([objectsOf(upstream.messages)[1]?.content, dropped], ["", []]);
});

test("fields that reasoning models of xAI refuse are left out and reported", async () => {
  answer = enough;
  const fields = { presence_penalty: 0.5, frequency_penalty: 0.5, stop: ["x"] };
  for (const model of ["grok-4.5", "grok-code-fast-1", "grok-next"]) {
    const { upstream, dropped } = await ask(chat, "x-ai", { model, messages: [hello], ...fields });
    for (const name of Object.keys(fields)) assert.equal(upstream[name], undefined);
    assert.deepEqual(dropped.toSorted(), Object.keys(fields).toSorted());
  }
});

test("Groq gets no names of messages, and reasoning of earlier turns only for models that reason", async () => {
  answer = enough;
  const messages = [
    { ...hello, name: "ada" },
    { role: "assistant", content: "Hi", reasoning_content: "They greet." },
    { role: "user", content: "And?" },
  ];
  const reasoner = await ask(chat, "groq", { model: "openai/gpt-oss-120b", messages });
  assert.deepEqual(reasoner.upstream.messages, [
    hello,
    { role: "assistant", content: "Hi", reasoning: "They greet." },
    messages[2],
  ]);
  assert.deepEqual(reasoner.dropped, ["messages.name"]);
  const other = await ask(chat, "groq", { model: "llama-3.3-70b-versatile", messages });
  assert.deepEqual(other.upstream.messages, [hello, { role: "assistant", content: "Hi" }, messages[2]]);
  assert.deepEqual(other.dropped.toSorted(), ["messages.name", "messages.reasoning_content"]);
});

test("Qwen's reasoning is asked for apart from the text, unless the caller says how", async () => {
  answer = enough;
  const formatOf = async (provider: string, fields: object) => {
    const model = provider === "groq" ? "qwen/qwen3.8-27b" : "qwen-3.8-27b";
    return (await ask(chat, provider, { model, messages: [hello], ...fields })).upstream.reasoning_format;
  };
  for (const provider of ["groq", "cerebras"]) {
    assert.equal(await formatOf(provider, {}), "parsed");
    assert.equal(await formatOf(provider, { reasoning_format: "hidden" }), "hidden");
  }
  assert.equal(await formatOf("groq", { include_reasoning: false }), undefined);
});

test("the plan that a model of Cohere makes of its calls is its reasoning, and is sent back as its plan", async () => {
  answer = () =>
    Response.json({
      id: "c",
      finish_reason: "TOOL_CALL",
      message: { role: "assistant", tool_plan: "I read it first.", tool_calls: [call("read_1")] },
      usage: { tokens: { input_tokens: 1, output_tokens: 1 } },
    });
  const model = "command-a-03-2025";
  const tools = [{ name: "read", input_schema: { type: "object", properties: {} } }];
  const first = await ask("/v1/messages", "cohere", { model, max_tokens: 100, messages: [hello], tools });
  const { content }: { content: Members[] } = JSON.parse(await first.response.text());
  assert.deepEqual(
    content.map(({ type, thinking }) => [type, thinking]),
    [
      ["thinking", "I read it first."],
      ["tool_use", undefined],
    ],
  );
  const messages = [
    hello,
    { role: "assistant", content },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "read_1", content: "done" }] },
  ];
  const second = await ask("/v1/messages", "cohere", { model, max_tokens: 100, messages, tools });
  const [, assistant] = objectsOf(second.upstream.messages);
  assert.deepEqual(assistant, { role: "assistant", tool_plan: "I read it first.", tool_calls: [call("read_1")] });
  // a model that thinks gets its thinking back
  const third = await ask("/v1/messages", "cohere", {
    model: "command-a-reasoning-08-2025",
    max_tokens: 100,
    messages,
    tools,
  });
  assert.deepEqual(objectsOf(third.upstream.messages)[1]?.content, [
    { type: "thinking", thinking: "I read it first." },
  ]);
});

test("Mistral's models that think get their thinking back, the others only the text", async () => {
  answer = enough;
  const messages = [hello, { role: "assistant", content: "Hi", reasoning_content: "They greet." }, hello];
  const thinker = await ask(chat, "mistral-ai", { model: "mistral-small-2603", messages });
  assert.deepEqual(objectsOf(thinker.upstream.messages)[1]?.content, [
    { type: "thinking", thinking: [{ type: "text", text: "They greet." }], closed: true },
    { type: "text", text: "Hi" },
  ]);
  const other = await ask(chat, "mistral-ai", { model: "mistral-large-2411", messages });
  assert.equal(objectsOf(other.upstream.messages)[1]?.content, "Hi");
  assert.deepEqual(other.dropped, ["messages.reasoning_content"]);
});

test("members that only OpenAI's answers have do not go back to hosts that refuse them", async () => {
  answer = enough;
  const own = { refusal: null, annotations: [], audio: null, function_call: null };
  const messages = [hello, { role: "assistant", content: "Hi", ...own }, hello];
  for (const [provider, model] of [
    ["groq", "llama-3.3-70b-versatile"],
    ["mistral-ai", "mistral-large-2411"],
    ["cerebras", "llama-3.3-70b"],
  ] as const) {
    const { upstream, dropped } = await ask(chat, provider, { model, messages });
    assert.deepEqual(objectsOf(upstream.messages)[1], { role: "assistant", content: "Hi" }, provider);
    assert.deepEqual(dropped, [], provider);
  }
});

test("chats of OpenAI's clients to an open model at their own server have what its chat template takes", async () => {
  answer = enough;
  const host = { "x-gateway-custom-host": "https://vllm.example/v1" };
  const broken = { id: "call_00000000000000000000001", type: "function", function: { name: "read", arguments: '{"a' } };
  const messages = [
    hello,
    { role: "developer", content: "Be brief" },
    { role: "assistant", content: null, tool_calls: [broken] },
    { role: "tool", tool_call_id: broken.id, content: "done" },
  ];
  const model = "mistralai/Mistral-Small-3.2-24B-Instruct-2506";
  const { upstream, dropped } = await ask(
    chat,
    "openai",
    { model, messages, tools: [tool], reasoning_effort: "max" },
    host,
  );
  const sentMessages = objectsOf(upstream.messages);
  assert.deepEqual(
    sentMessages.map(({ role }) => role),
    ["user", "assistant", "tool"],
  );
  assert.equal(sentMessages[0]?.content, "Hello\n\nBe brief");
  const [made] = objectsOf(sentMessages[1]?.tool_calls);
  assert.match(String(made?.id), /^[a-zA-Z0-9]{9}$/);
  assert.equal(sentMessages[2]?.tool_call_id, made?.id);
  assert.deepEqual(made?.function, { name: "read", arguments: '{"invalid_arguments":"{\\"a"}' });
  assert.equal(upstream.reasoning_effort, "high");
  assert.deepEqual(dropped, ["reasoning_effort", "messages.tool_calls.arguments"]);
  // a model that no table knows gets the chat as it came
  const other = await ask(chat, "openai", { model: "our-own-model", messages, tools: [tool] }, host);
  assert.deepEqual(other.upstream.messages, messages);
});

test("calls of Gemini at OpenRouter have Google's placeholder where a client dropped their details", async () => {
  answer = enough;
  const call = { id: "call_1", type: "function", function: { name: "read", arguments: "{}" } };
  const made = { role: "assistant", content: null, tool_calls: [call] };
  const messages = [hello, made, { role: "tool", tool_call_id: "call_1", content: "done" }];
  const model = "google/gemini-3.1-pro-preview";
  const placeholder = {
    type: "reasoning.encrypted",
    id: "call_1",
    data: "skip_thought_signature_validator",
    format: "google-gemini-v1",
    index: 0,
  };
  const { upstream } = await ask(chat, "openrouter", { model, messages, tools: [tool] });
  assert.deepEqual(objectsOf(upstream.messages)[1], { ...made, reasoning_details: [placeholder] });
  // details that came back stay
  const own = { type: "reasoning.encrypted", id: "call_1", data: "sealed", format: "google-gemini-v1", index: 0 };
  const complete = [hello, { ...made, reasoning_details: [own] }, messages[2]];
  const second = await ask(chat, "openrouter", { model, messages: complete, tools: [tool] });
  assert.deepEqual(objectsOf(second.upstream.messages)[1]?.reasoning_details, [own]);
  // other vendors' models demand none
  const third = await ask(chat, "openrouter", { model: "openai/gpt-5.4", messages, tools: [tool] });
  assert.equal(objectsOf(third.upstream.messages)[1]?.reasoning_details, undefined);
});

test("several instructions at the beginning are one for a chat template that takes one", async () => {
  answer = enough;
  const messages = [{ role: "system", content: "Be brief" }, { role: "developer", content: "No jokes" }, hello];
  const model = "mistralai/Mistral-Small-3.2-24B-Instruct-2506";
  const host = { "x-gateway-custom-host": "https://vllm.example/v1" };
  const { upstream } = await ask(chat, "openai", { model, messages }, host);
  assert.deepEqual(upstream.messages, [{ role: "system", content: "Be brief\n\nNo jokes" }, hello]);
});

for (const [provider, model, isTaken] of [
  ["google", "gemini-3.8-flash", false],
  ["google", "gemini-3.1-pro-preview", true],
  ["anthropic", "claude-opus-4-8", false],
  ["anthropic", "claude-sonnet-4-6", false],
  ["anthropic", "claude-haiku-4-5", true],
  ["vertex-ai", "gemini-3.8-flash", false],
  ["bedrock", "anthropic.claude-sonnet-4-6", false],
] as const) {
  test(`${model} at ${provider} ${isTaken ? "continues an answer" : "is asked to continue an answer"} that a client begins`, async () => {
    answer = () => Response.json({ error: { message: "enough" } }, { status: 400 });
    const messages = [hello, { role: "assistant", content: "Sure:" }];
    const settings = {
      "x-gateway-vertex-project-id": "fake-project",
      "x-gateway-vertex-region": "us-east5",
      "x-gateway-aws-region": "us-east-1",
    };
    const { upstream } = await ask(chat, provider, { model, messages, max_tokens: 100 }, settings);
    const turns = objectsOf(upstream.messages ?? upstream.contents);
    assert.equal(turns.at(-1)?.role === "user", !isTaken);
    assert.equal(JSON.stringify(turns.at(-1)).includes("Continue from where you left off."), !isTaken);
  });
}

test("tokens of functions are counted with the schemas that Gemini takes", async () => {
  answer = () => Response.json({ totalTokens: 7 });
  const tools = [
    { name: "draw", input_schema: { anyOf: [{ type: "object", properties: { side: { type: "number" } } }] } },
  ];
  const body = { model: "gemini-3.1-pro-preview", messages: [hello], tools };
  const { upstream } = await ask("/v1/messages/count_tokens", "google", body);
  const text = JSON.stringify(upstream);
  assert.ok(text.includes('"side"'), text);
  assert.ok(!text.includes("anyOf"), text);
});

test("a Gemini session that another provider served has what Google takes", async () => {
  answer = () =>
    Response.json({ candidates: [{ content: { role: "model", parts: [{ text: "Done" }] }, finishReason: "STOP" }] });
  const functionCall = { name: "read", args: {} };
  const functionResponse = { name: "read", response: { output: "ok" } };
  const contents = [
    { role: "user", parts: [{ text: "Hello" }] },
    { role: "model", parts: [{ functionCall, thoughtSignature: "c2lnbmVk" }, { text: "" }] },
    { role: "user", parts: [{ functionResponse }, { text: "Go on" }] },
  ];
  const path = (model: string) => `/v1beta/models/${model}:generateContent`;
  const strict = await ask(path("gemini-3.8-flash"), "google", { contents });
  assert.deepEqual(strict.upstream.contents, [
    contents[0],
    { role: "model", parts: [{ functionCall, thoughtSignature: "c2lnbmVk" }] },
    { role: "user", parts: [{ functionResponse }] },
    { role: "user", parts: [{ text: "Go on" }] },
  ]);
  const older = await ask(path("gemini-3.1-pro-preview"), "google", { contents });
  assert.deepEqual(objectsOf(older.upstream.contents)[2], contents[2]);
});

test("references to tools that Claude's client found are text for other models", async () => {
  answer = enough;
  const messages = [
    hello,
    { role: "assistant", content: [{ type: "tool_use", id: "call_1", name: "find", input: {} }] },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "call_1",
          content: [{ type: "tool_reference", tool_name: "mcp__time__now" }],
        },
      ],
    },
  ];
  const tools = ["find", "mcp__time__now"].map((name) => ({ name, input_schema: { type: "object" } }));
  const { upstream, dropped } = await ask("/v1/messages", "groq", {
    model: "llama-3.3-70b-versatile",
    max_tokens: 100,
    messages,
    tools,
  });
  assert.equal(objectsOf(upstream.messages).at(-1)?.content, "Found the tool mcp__time__now");
  assert.deepEqual(dropped, []);
});
