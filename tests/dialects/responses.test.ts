import assert from "node:assert/strict";
import { test } from "node:test";
import { responsesDialect } from "../../src/dialects/responses/mod.ts";
import { toInputItems, toNativeRequest } from "../../src/dialects/responses/stored.ts";
import type { DialectOptions } from "../../src/dialects/types.ts";
import { InvalidRequestError } from "../../src/errors.ts";
import type { ResponsesRequest } from "../../src/schemas/responses.ts";

function createOptions(): DialectOptions & { dropped: string[]; kept: object[] } {
  const dropped: string[] = [];
  const kept: object[] = [];
  return {
    id: "ID",
    created: 11,
    now: () => 12,
    dropped,
    kept,
    drop: (member) => dropped.push(member),
    keep: (answer) => kept.push(answer),
  };
}

const ask = (more: Partial<ResponsesRequest> = {}): ResponsesRequest => ({ model: "m", input: "Hello", ...more });

/** What a request becomes, and what of it was left out. */
function map(more: Partial<ResponsesRequest>): { chat: Record<string, unknown>; dropped: string[] } {
  const options = createOptions();
  const request = ask(more);
  const before = structuredClone(request);
  const chat = responsesDialect.toChat(request, options);
  assert.deepEqual(request, before, "the request stays as it is");
  return { chat, dropped: options.dropped };
}

const tide = { type: "function", name: "tide_table", parameters: { type: "object", properties: {} }, strict: true };
const patch = { type: "custom", name: "apply_patch", description: "Edits files" };
const tideFunction = { name: "tide_table", parameters: tide.parameters, strict: true };

/** Members of the chat by what is asked. */
const requests: readonly [string, Partial<ResponsesRequest>, Record<string, unknown>][] = [
  ["a text", {}, { messages: [{ role: "user", content: "Hello" }] }],
  [
    "instructions",
    { instructions: "Be short." },
    {
      messages: [
        { role: "system", content: "Be short." },
        { role: "user", content: "Hello" },
      ],
    },
  ],
  [
    "sampling and limits",
    { max_output_tokens: 9, temperature: 0.5, top_p: 0.4, user: "u", metadata: { a: "b" } },
    { max_completion_tokens: 9, temperature: 0.5, top_p: 0.4, user: "u", metadata: { a: "b" } },
  ],
  ["effort", { reasoning: { effort: "high", summary: "auto" } }, { reasoning_effort: "high" }],
  [
    "thinking before effort",
    { thinking: { type: "enabled", budget_tokens: 99 }, reasoning: { effort: "low" } },
    { thinking: { type: "enabled", budget_tokens: 99 }, reasoning_effort: undefined },
  ],
  ["log probabilities", { top_logprobs: 3 }, { logprobs: true, top_logprobs: 3 }],
  [
    "log probabilities by include",
    { include: ["message.output_text.logprobs"] },
    { logprobs: true, top_logprobs: undefined },
  ],
  [
    "a schema",
    {
      text: { format: { type: "json_schema", name: "n", schema: { type: "object" }, strict: true }, verbosity: "low" },
    },
    {
      response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "object" }, strict: true } },
      verbosity: "low",
    },
  ],
  ["an object", { text: { format: { type: "json_object" } } }, { response_format: { type: "json_object" } }],
  ["a plain text", { text: { format: { type: "text" } } }, { response_format: undefined }],
  [
    "tools",
    { tools: [tide], tool_choice: { type: "function", name: "tide_table" }, parallel_tool_calls: false },
    {
      tools: [{ type: "function", function: tideFunction }],
      tool_choice: { type: "function", function: { name: "tide_table" } },
      parallel_tool_calls: false,
    },
  ],
  [
    "allowed tools",
    { tools: [tide, patch], tool_choice: { type: "allowed_tools", mode: "required", tools: [tide] } },
    { tools: [{ type: "function", function: tideFunction }], tool_choice: "required" },
  ],
  [
    "no tools",
    { tools: [], tool_choice: "auto", parallel_tool_calls: true },
    { tools: undefined, tool_choice: undefined },
  ],
];

for (const [name, request, wanted] of requests) {
  test(`toChat() maps ${name}`, () => {
    const { chat, dropped } = map(request);
    for (const [member, value] of Object.entries(wanted)) assert.deepEqual(chat[member], value, member);
    assert.deepEqual(dropped, []);
  });
}

test("toChat() gives custom and namespaced tools names and parameters that chats support", () => {
  const grammar = { type: "grammar", syntax: "lark", definition: "start: /.+/" };
  const namespace = { type: "namespace", name: "agents", tools: [{ type: "function", name: "close", parameters: {} }] };
  const { chat, dropped } = map({ tools: [{ ...patch, format: grammar }, namespace] });
  const [custom, inner] = chat.tools as { function: Record<string, unknown> }[];
  assert.deepEqual(custom?.function, {
    name: "apply_patch",
    description: "Edits files\n\nThe input must match this lark grammar:\nstart: /.+/",
    parameters: {
      type: "object",
      properties: { input: { type: "string", description: "Free text, passed to the tool unchanged" } },
      required: ["input"],
      additionalProperties: false,
    },
  });
  assert.equal(inner?.function.name, "agents__close");
  assert.deepEqual(dropped, []);
});

/** Fields that are dropped and reported. */
const left: readonly [string, Partial<ResponsesRequest>, string[]][] = [
  [
    "tools of providers",
    { tools: [{ type: "web_search" }, { type: "local_shell" }] },
    ["tools.web_search", "tools.local_shell"],
  ],
  ["truncation", { truncation: "auto" }, ["truncation"]],
  ["nothing for truncation that is off", { truncation: "disabled", store: true, include: [] }, []],
  ["include", { include: ["file_search_call.results"] }, ["include"]],
  ["nothing for what is always there", { include: ["reasoning.encrypted_content"], background: false }, []],
  [
    "members without a counterpart",
    { prompt_cache_key: "k", max_tool_calls: 2 },
    ["prompt_cache_key", "max_tool_calls"],
  ],
  ["a tier", { service_tier: "flex" }, ["service_tier"]],
  ["no tier", { service_tier: "auto" }, []],
  [
    "items of providers",
    {
      input: [
        { role: "user", content: "Hello" },
        { type: "web_search_call", id: "ws_1" },
      ],
    },
    ["input.web_search_call"],
  ],
  [
    "reasoning of another provider",
    {
      input: [
        { role: "user", content: "Hello" },
        { type: "reasoning", summary: [], encrypted_content: "opaque" },
      ],
    },
    ["input.reasoning"],
  ],
];

for (const [name, request, wanted] of left) {
  test(`toChat() drops and reports ${name}`, () => assert.deepEqual(map(request).dropped, wanted));
}

/** Rejected requests, with the invalid field. */
const refused: readonly [string, Partial<ResponsesRequest>, string][] = [
  ["background", { background: true }, "background"],
  ["a conversation", { conversation: "conv_1" }, "conversation"],
  ["a prompt", { prompt: { id: "pmpt_1" } }, "prompt"],
  ["a response of another provider", { previous_response_id: "resp_abc" }, "previous_response_id"],
  ["no input", { input: null }, "input"],
  ["an empty input", { input: [] }, "input"],
  ["an item reference", { input: [{ type: "item_reference", id: "x" }] }, "input"],
  [
    "a forced tool that is left out",
    { tools: [{ type: "web_search" }], tool_choice: { type: "web_search" } },
    "tool_choice",
  ],
  ["a forced tool that is not there", { tools: [tide], tool_choice: { type: "function", name: "x" } }, "tool_choice"],
  [
    "a forced tool of another kind",
    { tools: [tide], tool_choice: { type: "custom", name: "tide_table" } },
    "tool_choice",
  ],
  ["a call that must be and cannot", { tools: [{ type: "web_search" }], tool_choice: "required" }, "tool_choice"],
];

for (const [name, request, param] of refused) {
  test(`toChat() refuses ${name}`, () => {
    assert.throws(
      () => map(request),
      (error) => error instanceof InvalidRequestError && error.status === 400 && error.param === param,
    );
  });
}

const call = { type: "function_call", call_id: "c1", name: "tide_table", arguments: '{"port":"Brest"}' };

test("toChat() puts the items of a turn into one message, followed by results with images", () => {
  const { chat } = map({
    input: [
      { role: "developer", content: [{ type: "input_text", text: "Be short." }] },
      {
        role: "user",
        content: [
          { type: "input_text", text: "Look" },
          { type: "input_image", image_url: "data:,x", detail: "low" },
          { type: "input_file", file_data: "data:,y", filename: "a.pdf" },
          { type: "input_audio", input_audio: { data: "eA==", format: "mp3" } },
        ],
      },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look." }] },
      call,
      { type: "custom_tool_call", call_id: "c2", name: "apply_patch", input: "a\nb" },
      { type: "function_call", call_id: "c3", name: "close", namespace: "agents", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "3 m" },
      {
        type: "custom_tool_call_output",
        call_id: "c2",
        output: [
          { type: "input_text", text: "done" },
          { type: "input_image", image_url: "data:,z" },
        ],
      },
      { role: "user", content: "And now?" },
    ],
  });
  assert.deepEqual(chat.messages, [
    { role: "system", content: "Be short." },
    {
      role: "user",
      content: [
        { type: "text", text: "Look" },
        { type: "image_url", image_url: { url: "data:,x", detail: "low" } },
        { type: "file", file: { file_data: "data:,y", filename: "a.pdf" } },
        { type: "input_audio", input_audio: { data: "eA==", format: "mp3" } },
      ],
    },
    {
      role: "assistant",
      content: "I look.",
      tool_calls: [
        { id: "c1", type: "function", function: { name: "tide_table", arguments: '{"port":"Brest"}' } },
        { id: "c2", type: "function", function: { name: "apply_patch", arguments: '{"input":"a\\nb"}' } },
        { id: "c3", type: "function", function: { name: "agents__close", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "c1", content: "3 m" },
    { role: "tool", tool_call_id: "c2", content: "done" },
    {
      role: "user",
      content: [
        { type: "text", text: "Shown by the tool call c2:" },
        { type: "image_url", image_url: { url: "data:,z" } },
      ],
    },
    { role: "user", content: "And now?" },
  ]);
});

/** A chat completion, and the resulting items. */
function answer(message: Record<string, unknown>, more: { finish?: string; request?: Partial<ResponsesRequest> } = {}) {
  const options = createOptions();
  const chat = { model: "m-1", choices: [{ index: 0, message, finish_reason: more.finish ?? "stop" }] };
  const response = responsesDialect.fromChat(chat, ask(more.request), options);
  return { response, options };
}

test("signatures of reasoning and of calls survive the round trip to the client", () => {
  const { response } = answer({
    role: "assistant",
    content: "Six.",
    content_blocks: [
      { type: "thinking", thinking: "Hm.", signature: "sigA" },
      { type: "redacted_thinking", data: "dataB" },
      { type: "thinking", thinking: "So.", signature: "sigC" },
    ],
    tool_calls: [
      { id: "c1", thought_signature: "sigD", function: { name: "tide_table", arguments: "{}" } },
      { id: "c2", function: { name: "tide_table", arguments: "" } },
    ],
  });
  assert.deepEqual(
    response.output.map(({ type, summary, encrypted_content }) => [type, summary, encrypted_content]),
    [
      ["reasoning", [{ type: "summary_text", text: "Hm." }], "gw:thought:sigA"],
      ["reasoning", [], "gw:redacted:dataB"],
      ["reasoning", [{ type: "summary_text", text: "So." }], "gw:thought:sigC"],
      ["message", undefined, undefined],
      ["reasoning", [], "gw:call:sigD"],
      ["function_call", undefined, undefined],
      ["function_call", undefined, undefined],
    ],
  );
  const { chat, dropped } = map({ input: [{ role: "user", content: "Hello" }, ...response.output] });
  assert.deepEqual(dropped, []);
  assert.deepEqual((chat.messages as unknown[])[1], {
    role: "assistant",
    content: "Six.",
    content_blocks: [
      { type: "thinking", thinking: "Hm.", signature: "sigA" },
      { type: "redacted_thinking", data: "dataB" },
      { type: "thinking", thinking: "So.", signature: "sigC" },
      { type: "text", text: "Six." },
    ],
    tool_calls: [
      { id: "c1", type: "function", function: { name: "tide_table", arguments: "{}" }, thought_signature: "sigD" },
      { id: "c2", type: "function", function: { name: "tide_table", arguments: "{}" } },
    ],
  });
});

test("reasoning without a signature comes back as text", () => {
  const { response } = answer({ content: "Six.", reasoning_content: "Hm." });
  const { chat } = map({ input: [{ role: "user", content: "Hello" }, ...response.output] });
  assert.deepEqual((chat.messages as unknown[])[1], { role: "assistant", content: "Six.", reasoning_content: "Hm." });
});

test("a response repeats its request, with defaults for absent fields", () => {
  const { response } = answer(
    { content: "Six." },
    { request: { instructions: "Be short.", temperature: 0.2, metadata: { a: "b" } } },
  );
  const { output, usage, ...rest } = response;
  assert.deepEqual(rest, {
    id: "resp_gw_ID",
    object: "response",
    created_at: 11,
    completed_at: 12,
    model: "m-1",
    status: "completed",
    error: null,
    incomplete_details: null,
    background: false,
    instructions: "Be short.",
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: { a: "b" },
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    safety_identifier: null,
    service_tier: "default",
    store: true,
    temperature: 0.2,
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    user: null,
    reasoning: { effort: null, summary: null },
    text: { format: { type: "text" } },
  });
  assert.equal(output.length, 1);
  assert.deepEqual(usage, {
    input_tokens: 0,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 0,
  });
});

for (const [finish, status, reason] of [
  ["stop", "completed", undefined],
  ["tool_calls", "completed", undefined],
  ["length", "incomplete", "max_output_tokens"],
  ["content_filter", "incomplete", "content_filter"],
  ["SAFETY", "incomplete", "content_filter"],
] as const) {
  test(`a response that ended by ${finish} is ${status}`, () => {
    const { response, options } = answer({ content: "Six." }, { finish });
    assert.equal(response.status, status);
    assert.equal(response.incomplete_details?.reason, reason);
    assert.equal(response.output[0]?.status, status);
    assert.deepEqual(options.kept, [response]);
  });
}

test("annotations, log probabilities and refusals are in the message", () => {
  const token = { token: "Six", logprob: -0.1, bytes: null, top_logprobs: [] };
  const cited = { url: "https://a.test", title: "A", start_index: 0, end_index: 3 };
  const message = {
    content: "Six.",
    refusal: "No more.",
    annotations: [{ type: "url_citation", url_citation: cited }],
  };
  const chat = { model: "m", choices: [{ message, logprobs: { content: [token] }, finish_reason: "stop" }] };
  const { output } = responsesDialect.fromChat(chat, ask(), createOptions());
  assert.equal(output.length, 1);
  assert.deepEqual(output[0]?.content, [
    { type: "output_text", text: "Six.", annotations: [], logprobs: [token] },
    { type: "refusal", refusal: "No more." },
  ]);
  const plain = answer({ content: "Six.", annotations: message.annotations }).response;
  assert.deepEqual(plain.output[0]?.content, [
    { type: "output_text", text: "Six.", annotations: [{ type: "url_citation", ...cited }], logprobs: [] },
  ]);
});

test("calls of custom tools and of namespaces have the names of the caller", () => {
  const namespace = { type: "namespace", name: "agents", tools: [{ type: "function", name: "close", parameters: {} }] };
  const tool_calls = [
    { id: "c1", function: { name: "apply_patch", arguments: '{"input":"a\\u00e9\\n"}' } },
    { id: "c2", function: { name: "agents__close", arguments: "{}" } },
    { id: "c3", function: { name: "apply_patch", arguments: "no object" } },
  ];
  const { response } = answer({ content: null, tool_calls }, { request: { tools: [patch, namespace] } });
  assert.deepEqual(
    response.output.map(({ id, ...item }) => item),
    [
      { type: "custom_tool_call", status: "completed", call_id: "c1", name: "apply_patch", input: "aé\n" },
      {
        type: "function_call",
        status: "completed",
        arguments: "{}",
        call_id: "c2",
        name: "close",
        namespace: "agents",
      },
      { type: "custom_tool_call", status: "completed", call_id: "c3", name: "apply_patch", input: "no object" },
    ],
  );
});

test("toNativeRequest() removes reasoning without an id and sealed content: no provider of the API said it", () => {
  const said = { type: "reasoning", summary: [{ type: "summary_text", text: "Hm" }] };
  const sealed = { ...said, encrypted_content: "opaque" };
  assert.deepEqual(toNativeRequest(ask({ input: [said, sealed, { ...said, id: "rs_abc" }, call] })).input, [
    sealed,
    { ...said, id: "rs_abc" },
    call,
  ]);
});

test("toNativeRequest() removes what only the gateway understands, and nothing else", () => {
  const foreign = ask({ previous_response_id: "resp_abc", input: [{ role: "user", content: "Hello" }] });
  assert.equal(toNativeRequest(foreign), foreign);
  const own = ask({
    previous_response_id: "resp_gw_1",
    input: [
      ...toInputItems("Hello", "resp_gw_1"),
      { type: "reasoning", id: "rs_gw_1_0", summary: [], encrypted_content: "gw:thought:s" },
      { type: "reasoning", id: "rs_abc", summary: [], encrypted_content: "opaque" },
      { ...call, id: "fc_gw_1_1" },
    ],
  });
  const before = structuredClone(own);
  assert.deepEqual(toNativeRequest(own), {
    model: "m",
    input: [
      { type: "message", role: "user", status: "completed", content: [{ type: "input_text", text: "Hello" }] },
      { type: "reasoning", id: "rs_abc", summary: [], encrypted_content: "opaque" },
      call,
    ],
  });
  assert.deepEqual(own, before);
});
