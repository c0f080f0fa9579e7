import assert from "node:assert/strict";
import { test } from "node:test";
import { readStrings, writeStrings } from "../../src/guardrails/strings/bodies.ts";
import type { Body, Phase, RequestType, Scope } from "../../src/guardrails/types.ts";

/** Strings of a body, and how they are found. */
interface Case {
  name: string;
  requestType: RequestType;
  body: Body;
  /** By scope; `last` where only one is given. */
  strings: readonly string[] | Partial<Record<Scope, readonly string[]>>;
  phase?: Phase;
}

const before: Phase = "beforeRequestHook";
const after: Phase = "afterRequestHook";

/** A call of a function in a chat. */
const call = (given: string) => ({ id: "c", type: "function", function: { name: "f", arguments: given } });

const requests: readonly Case[] = [
  {
    name: "a chat",
    requestType: "chatComplete",
    body: {
      messages: [
        { role: "system", content: "rules" },
        { role: "user", content: "first" },
        { role: "assistant", content: "answer", tool_calls: [call('{"a":1}')] },
        {
          role: "user",
          content: [{ type: "text", text: "one" }, { type: "image_url" }, { type: "text", text: "two" }],
        },
      ],
    },
    strings: {
      last: ["one", "two"],
      user: ["first", "one", "two"],
      all: ["rules", "first", "answer", '{"a":1}', "one", "two"],
    },
  },
  {
    name: "a chat that ends with results of tools",
    requestType: "chatComplete",
    body: {
      messages: [
        { role: "user", content: "ask" },
        { role: "tool", content: "old" },
        { role: "assistant", content: null, tool_calls: [call("{}"), call("{}")] },
        { role: "tool", content: "one" },
        { role: "tool", content: [{ type: "text", text: "two" }] },
      ],
    },
    strings: { last: ["one", "two"], user: ["ask"], all: ["ask", "old", "{}", "{}", "one", "two"] },
  },
  {
    name: "a chat whose last message follows results of tools",
    requestType: "chatComplete",
    body: {
      messages: [
        { role: "tool", content: "result" },
        { role: "user", content: "next" },
      ],
    },
    strings: { last: ["next"] },
  },
  {
    name: "calls of the older form and of custom tools",
    requestType: "chatComplete",
    body: {
      messages: [
        { role: "assistant", function_call: { name: "f", arguments: "older" } },
        { role: "assistant", tool_calls: [{ type: "custom", custom: { name: "f", input: "free" } }] },
      ],
    },
    strings: { last: ["free"], all: ["older", "free"] },
  },
  { name: "a chat without messages", requestType: "chatComplete", body: {}, strings: [] },
  { name: "a chat of other things", requestType: "chatComplete", body: { messages: [7, null, "x"] }, strings: [] },
  { name: "a prompt", requestType: "complete", body: { prompt: "say" }, strings: ["say"] },
  { name: "prompts", requestType: "complete", body: { prompt: ["one", "two"] }, strings: ["one", "two"] },
  { name: "a prompt of tokens", requestType: "complete", body: { prompt: [1, 2] }, strings: [] },
  {
    name: "messages",
    requestType: "messages",
    body: {
      system: [{ type: "text", text: "rules" }],
      messages: [
        { role: "user", content: "first" },
        { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: { a: "x", b: [1, "y"] } }] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "found" }] },
            { type: "tool_result", tool_use_id: "u", content: "plain" },
            { type: "text", text: "go on" },
          ],
        },
      ],
    },
    strings: {
      last: ["found", "plain", "go on"],
      user: ["first", "found", "plain", "go on"],
      all: ["first", "x", "y", "found", "plain", "go on", "rules"],
    },
  },
  {
    name: "a request for a response, its input a text",
    requestType: "createModelResponse",
    body: { input: "ask", instructions: "rules" },
    strings: { last: ["ask"], user: ["ask"], all: ["ask", "rules"] },
  },
  {
    name: "a request for a response, its input items",
    requestType: "createModelResponse",
    body: {
      instructions: "rules",
      input: [
        { role: "user", content: "first" },
        { type: "message", role: "user", content: [{ type: "input_text", text: "one" }, { type: "input_image" }] },
        { type: "function_call", name: "f", arguments: '{"a":1}' },
        { type: "function_call_output", call_id: "c", output: "found" },
        { type: "function_call_output", call_id: "d", output: [{ type: "input_text", text: "parts" }] },
        { type: "custom_tool_call", name: "g", input: "free" },
        { type: "reasoning", summary: [{ type: "summary_text", text: "thought" }] },
      ],
    },
    strings: {
      last: ["first", "one", '{"a":1}', "found", "parts", "free", "thought"],
      user: ["first", "one"],
      all: ["first", "one", '{"a":1}', "found", "parts", "free", "thought", "rules"],
    },
  },
  {
    name: "turns of the Gemini API",
    requestType: "generateContent",
    body: {
      systemInstruction: { parts: [{ text: "rules" }] },
      contents: [
        { role: "user", parts: [{ text: "first" }] },
        { role: "model", parts: [{ functionCall: { name: "f", args: { a: "x" } } }] },
        { role: "user", parts: [{ functionResponse: { name: "f", response: { b: "y" } } }, { text: "go on" }] },
      ],
    },
    strings: {
      last: ["y", "go on"],
      user: ["first", "y", "go on"],
      all: ["first", "x", "y", "go on", "rules"],
    },
  },
  {
    name: "turns of the Gemini API, in its other spelling",
    requestType: "generateContent",
    body: {
      system_instruction: { parts: { text: "rules" } },
      contents: [{ parts: [{ function_call: { name: "f", args: "x" } }, { function_response: { response: ["y"] } }] }],
    },
    strings: { last: ["x", "y"], user: ["x", "y"], all: ["x", "y", "rules"] },
  },
  {
    name: "one turn and one part of the Gemini API, in no list",
    requestType: "generateContent",
    body: { contents: { parts: { text: "ask" } } },
    strings: { last: ["ask"], user: ["ask"], all: ["ask"] },
  },
  { name: "an input to embed", requestType: "embed", body: { input: "say" }, strings: ["say"] },
  {
    name: "inputs to embed",
    requestType: "embed",
    body: { input: ["one", { text: "two" }, { image: "data:" }] },
    strings: ["one", "two"],
  },
  { name: "tokens to embed", requestType: "embed", body: { input: [[1], [2]] }, strings: [] },
  {
    name: "an input to embed of the Gemini API",
    requestType: "embed",
    body: { content: { parts: [{ text: "one" }] } },
    strings: ["one"],
  },
  {
    name: "inputs to embed of the Gemini API",
    requestType: "embed",
    body: { requests: [{ content: { parts: [{ text: "one" }] } }, { content: { parts: { text: "two" } } }] },
    strings: ["one", "two"],
  },
  { name: "what is passed on unread", requestType: "proxy", body: { input: "x", messages: ["y"] }, strings: [] },
];

const answers: readonly Case[] = [
  {
    name: "a chat's choices",
    requestType: "chatComplete",
    body: {
      choices: [
        { index: 0, message: { role: "assistant", content: "one" } },
        { index: 1, message: { role: "assistant", content: null, tool_calls: [call('{"a":1}')] } },
        { index: 2, message: { role: "assistant", content: [{ type: "text", text: "parts" }] } },
      ],
    },
    strings: ["one", '{"a":1}', "parts"],
  },
  {
    name: "a chat's message with the blocks it is made of",
    requestType: "chatComplete",
    body: {
      choices: [
        {
          message: {
            content: "one two",
            reasoning_content: "hm",
            content_blocks: [
              { type: "thinking", thinking: "hm", signature: "s" },
              { type: "text", text: "one " },
              { type: "text", text: "two" },
            ],
          },
        },
      ],
    },
    strings: ["one two", "hm"],
  },
  {
    name: "a chat's message with blocks of their own",
    requestType: "chatComplete",
    body: {
      choices: [
        {
          message: {
            content: "one",
            content_blocks: [
              { type: "text", text: "other" },
              { type: "thinking", thinking: "hm" },
            ],
          },
        },
      ],
    },
    strings: ["one", "other", "hm"],
  },
  {
    name: "choices of a prompt",
    requestType: "complete",
    body: { choices: [{ text: "a" }, { text: "b" }] },
    strings: ["a", "b"],
  },
  {
    name: "messages",
    requestType: "messages",
    body: {
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "one" },
        { type: "tool_use", id: "t", name: "f", input: { a: { b: "deep" } } },
      ],
    },
    strings: ["hm", "one", "deep"],
  },
  {
    name: "a response",
    requestType: "createModelResponse",
    body: {
      output: [
        { type: "reasoning", summary: [{ type: "summary_text", text: "thought" }] },
        {
          type: "message",
          content: [
            { type: "output_text", text: "said" },
            { type: "refusal", refusal: "no" },
          ],
        },
        { type: "function_call", name: "f", arguments: "{}" },
      ],
    },
    strings: ["thought", "said", "no", "{}"],
  },
  {
    name: "candidates of the Gemini API",
    requestType: "generateContent",
    body: {
      candidates: [
        { content: { role: "model", parts: [{ text: "one" }, { functionCall: { name: "f", args: { a: "x" } } }] } },
        { content: { parts: [{ text: "two" }] } },
        { finishReason: "SAFETY" },
      ],
    },
    strings: ["one", "x", "two"],
  },
  { name: "vectors", requestType: "embed", body: { data: [{ embedding: [1] }], text: "x" }, strings: [] },
  { name: "what is passed on unread", requestType: "proxy", body: { choices: [{ text: "x" }] }, strings: [] },
];

const cases = [
  ...requests.map((one) => ({ phase: before, ...one })),
  ...answers.map((one) => ({ phase: after, ...one })),
].flatMap(({ strings, ...one }) =>
  Object.entries(Array.isArray(strings) ? { last: strings as readonly string[] } : strings).map(([scope, wanted]) => ({
    ...one,
    scope: scope as Scope, // a key of the table
    wanted: wanted as readonly string[], // its value
  })),
);

/** A body that cannot be changed in place. */
function freeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null)
    for (const inner of Object.values(Object.freeze(value))) freeze(inner);
  return value;
}

for (const { name, phase, requestType, body, scope, wanted } of cases) {
  const place = { phase, requestType };
  const what = `${name} ${phase === before ? "before" : "after"} the call, scope ${scope}`;

  test(`readStrings() of ${what}`, () => {
    assert.deepEqual(readStrings(place, freeze(body), scope), wanted);
  });

  test(`writeStrings() to ${what}`, () => {
    const strings = wanted.map((_, index) => `new ${index}`);
    const written = writeStrings(place, freeze(body), { scope, strings });
    assert.deepEqual(readStrings(place, written, scope), strings);
  });

  test(`writeStrings() leaves ${what} unchanged for null`, () => {
    assert.equal(writeStrings(place, freeze(body), { scope, strings: wanted.map(() => null) }), body);
    assert.equal(writeStrings(place, body, { scope, strings: [] }), body);
    assert.equal(writeStrings(place, body, { scope, strings: wanted }), body);
  });
}

test("writeStrings() changes one part, and preserves everything around it", () => {
  const image = { type: "image_url", image_url: { url: "https://x/y.png" } };
  const message = (text: string) => ({
    role: "user",
    name: "me",
    content: [{ type: "text", text: "one", cache_control: {} }, image, { type: "text", text }],
  });
  const place = { phase: before, requestType: "chatComplete" } as const;
  const body = freeze({ model: "m", messages: [{ role: "system", content: "two" }, message("two")], top_p: 1 });
  const written = writeStrings(place, body, { scope: "last", strings: [null, "[cut]"] });
  assert.deepEqual(written, { model: "m", messages: [{ role: "system", content: "two" }, message("[cut]")], top_p: 1 });
});

test("writeStrings() can leave a text empty", () => {
  const place = { phase: before, requestType: "complete" } as const;
  assert.deepEqual(writeStrings(place, { prompt: ["a", "b"] }, { scope: "last", strings: ["", null] }), {
    prompt: ["", "b"],
  });
});

test("writeStrings() changes the strings of object arguments, and nothing else", () => {
  const place = { phase: after, requestType: "messages" } as const;
  const toolUse = (text: string) => ({
    content: [{ type: "tool_use", name: "f", input: { a: [1, text, null], b: true } }],
  });
  assert.deepEqual(writeStrings(place, freeze(toolUse("x")), { scope: "last", strings: ["y"] }), toolUse("y"));
});

test("writeStrings() makes the blocks of a message say what its content says", () => {
  const place = { phase: after, requestType: "chatComplete" } as const;
  const thought = { type: "thinking", thinking: "hm", signature: "s" };
  const answer = (content: string, ...said: string[]) => ({
    choices: [
      {
        message: {
          content,
          reasoning_content: "hm",
          content_blocks: [thought, ...said.map((text) => ({ type: "text", text }))],
        },
      },
    ],
  });
  const written = writeStrings(place, freeze(answer("my secret", "my ", "secret")), {
    scope: "last",
    strings: ["my [cut]"],
  });
  assert.deepEqual(written, answer("my [cut]", "my [cut]"));
});

test("reasoning, refusals, transcripts and documents of messages count as text", () => {
  const message = { content: "a", refusal: "b", reasoning_content: "c", audio: { id: "x", transcript: "d" } };
  const chat = { phase: "afterRequestHook", requestType: "chatComplete" } as const;
  assert.deepEqual(readStrings(chat, { choices: [{ message }] }, "last"), ["a", "b", "c", "d"]);
  const content = [
    { type: "thinking", thinking: "a", signature: "s" },
    { type: "document", source: { type: "text", media_type: "text/plain", data: "b" } },
    { type: "document", source: { type: "content", content: [{ type: "text", text: "c" }] } },
    { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AAAA" } },
    { type: "search_result", source: "https://example.com", content: [{ type: "text", text: "d" }] },
  ];
  const messages = { phase: "beforeRequestHook", requestType: "messages" } as const;
  assert.deepEqual(readStrings(messages, { messages: [{ role: "user", content }] }, "last"), ["a", "b", "c", "d"]);
});

test("details of reasoning count as text, and are rewritten", () => {
  const place = { phase: after, requestType: "chatComplete" } as const;
  const details = [
    { type: "reasoning.text", text: "my secret", index: 0 },
    { type: "reasoning.summary", summary: "a secret", index: 1 },
    { type: "reasoning.encrypted", data: "AAAA", index: 2 },
  ];
  const body = freeze({ choices: [{ message: { content: "a", reasoning_details: details } }] });
  assert.deepEqual(readStrings(place, body, "last"), ["a", "my secret", "a secret"]);
  const written = writeStrings(place, body, { scope: "last", strings: [null, "[cut]", "[cut]"] });
  assert.doesNotMatch(JSON.stringify(written), /secret/);
});

test("writeStrings() changes reasoning in every field of a message that has it", () => {
  const place = { phase: after, requestType: "chatComplete" } as const;
  const message = { content: "a", reasoning_content: "my secret" };
  const blocks = [
    { type: "thinking", thinking: "my " },
    { type: "thinking", thinking: "secret" },
  ];
  const written = writeStrings(place, freeze({ choices: [{ message: { ...message, content_blocks: blocks } }] }), {
    scope: "last",
    strings: [null, "[cut]"],
  });
  assert.doesNotMatch(JSON.stringify(written), /secret/);
});

const hidden = (content: unknown) => ({ messages: [{ role: "user", content }] });
for (const [requestType, body] of [
  ["chatComplete", hidden({ type: "text", text: "secret" })],
  ["chatComplete", hidden([[{ type: "text", text: "secret" }]])],
  ["chatComplete", hidden([{ type: "thinking", thinking: [{ type: "text", text: "secret" }] }])],
  [
    "chatComplete",
    { messages: [{ role: "assistant", tool_calls: [{ function: { name: "f", arguments: { a: "secret" } } }] }] },
  ],
  ["messages", hidden([{ type: "document", title: "secret", source: { type: "url", url: "https://x.test" } }])],
  ["messages", hidden([{ type: "document", context: "secret", source: { type: "url", url: "https://x.test" } }])],
  ["messages", hidden([{ type: "search_result", title: "secret", source: "https://x.test", content: [] }])],
  ["messages", hidden([{ type: "server_tool_use", name: "web_search", input: { query: "secret" } }])],
  ["messages", hidden([{ type: "mcp_tool_result", content: [{ type: "text", text: "secret" }] }])],
  ["messages", hidden([{ type: "code_execution_tool_result", content: { type: "r", stdout: "secret" } }])],
  ["createModelResponse", { prompt: { id: "p", variables: { name: "secret" } } }],
  ["createModelResponse", { prompt: { id: "p", variables: { name: { type: "input_text", text: "secret" } } } }],
  ["createModelResponse", { input: [{ type: "shell_call_output", output: [{ stdout: "secret", stderr: "" }] }] }],
  ["createModelResponse", { input: [{ type: "shell_call", action: { commands: ["secret"] } }] }],
  ["createModelResponse", { input: [{ type: "code_interpreter_call", code: "secret" }] }],
  ["complete", { prompt: "a", suffix: "secret" }],
  ["generateContent", { contents: [{ parts: [{ executableCode: { code: "secret" } }] }] }],
  ["embed", { input: [{ content: [{ type: "text", text: "secret" }] }] }],
] as const) {
  test(`text is found in ${JSON.stringify(body)}`, () => {
    const place = { phase: before, requestType } as const;
    const found = readStrings(place, body, "last");
    assert.ok(found.includes("secret"));
    const written = writeStrings(place, freeze(body as Body), { scope: "last", strings: found.map(() => "cut") });
    assert.doesNotMatch(JSON.stringify(written), /secret/);
  });
}
