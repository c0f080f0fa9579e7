import assert from "node:assert/strict";
import { test } from "node:test";
import { anthropic } from "../../src/providers/anthropic/mod.ts";
import { toClaudeRequest } from "../../src/providers/anthropic/request.ts";
import { type ConformanceCase, fixture, jsonFixture, testConformance } from "../conformance/suite.ts";

const hello = { model: "claude-sonnet-4-6", messages: [{ role: "user", content: "hi" }] };
const json = (name: string) => jsonFixture("anthropic", name) as object; // fixtures are objects
const usageOf = (prompt: number, completion: number, cached = 0, written = 0, reasoning = 0) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  completion_tokens_details: { reasoning_tokens: reasoning },
  ...(cached + written > 0 && { cache_read_input_tokens: cached, cache_creation_input_tokens: written }),
});
const answerOf = (id: string, message: object, finish_reason: string, usage: object) => ({
  id,
  object: "chat.completion",
  created: 0,
  model: "claude-sonnet-4-6",
  choices: [{ index: 0, message: { role: "assistant", refusal: null, ...message }, logprobs: null, finish_reason }],
  usage,
});
const chunkOf = (delta: object, finish_reason: string | null = null) => ({
  id: "msg_01FxStr",
  object: "chat.completion.chunk",
  created: 0,
  model: "claude-sonnet-4-6",
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
});
const callOf = (id: string, name: string, text: string) => ({
  id,
  type: "function",
  function: { name, arguments: text },
});
const thinkingBlocks = [
  { type: "thinking", thinking: "The port authority page lists opening times.", signature: "EqQBCkgFxSignatureAAAA==" },
  { type: "redacted_thinking", data: "EmwKFxRedactedBBBB==" },
  { type: "text", text: "It opens at six." },
];
const roleChunk = chunkOf({ role: "assistant", content: "" });
/** Chunks of two calls, with what the chunk of each one's beginning holds besides. */
const toolChunksWith = (placeOf: (index: number, id: string) => object) => [
  chunkOf({ tool_calls: [{ index: 0, ...callOf("toolu_01FxA1", "tide_table", "") }], ...placeOf(1, "toolu_01FxA1") }),
  chunkOf({ tool_calls: [{ index: 0, function: { arguments: '{"port": "Br' } }] }),
  chunkOf({ tool_calls: [{ index: 0, function: { arguments: 'est"}' } }] }),
  chunkOf({ tool_calls: [{ index: 1, ...callOf("toolu_01FxA2", "wind_speed", "") }], ...placeOf(2, "toolu_01FxA2") }),
  chunkOf({ tool_calls: [{ index: 1, function: { arguments: "{}" } }] }),
];
const toolChunks = toolChunksWith(() => ({}));
const blockChunk = (index: number, delta: object, rest: object = {}) =>
  chunkOf({ ...rest, content_blocks: [{ index, delta }] });

const answers: readonly ConformanceCase[] = [
  {
    name: "a rich request",
    request: json("request.json"),
    sent: { path: "/messages", body: json("request-sent.json") },
    dropped: ["temperature"],
    answer: json("chat.json"),
    wanted: answerOf("msg_01FxChat", { content: "The harbour opens at six." }, "stop", usageOf(2066, 11, 2048)),
  },
  {
    name: "thinking is hidden in strict responses",
    request: hello,
    answer: json("chat-thinking.json"),
    wanted: answerOf("msg_01FxThink", { content: "It opens at six." }, "stop", usageOf(1231, 96, 0, 1200, 84)),
  },
  {
    name: "thinking, not strict",
    request: hello,
    strict: false,
    answer: json("chat-thinking.json"),
    wanted: answerOf(
      "msg_01FxThink",
      {
        content: "It opens at six.",
        reasoning_content: "The port authority page lists opening times.",
        content_blocks: thinkingBlocks,
      },
      "end_turn",
      {
        ...usageOf(1231, 96, 0, 1200, 84),
        cache_creation: { ephemeral_5m_input_tokens: 1200, ephemeral_1h_input_tokens: 0 },
        service_tier: "standard",
      },
    ),
  },
  {
    name: "parallel tool calls",
    request: hello,
    answer: json("tool-call.json"),
    wanted: answerOf(
      "msg_01FxTool",
      {
        content: "I will look up both values.",
        tool_calls: [
          callOf("toolu_01FxA1", "tide_table", '{"port":"Brest","day":"2026-03-04"}'),
          callOf("toolu_01FxA2", "wind_speed", "{}"),
        ],
      },
      "tool_calls",
      usageOf(402, 118),
    ),
  },
  {
    name: "a response with only tool calls, without usage",
    request: hello,
    answer: { content: [{ type: "tool_use", id: "t", name: "f" }], stop_reason: "tool_use" },
    wanted: {
      ...answerOf("", { content: null, tool_calls: [callOf("t", "f", "{}")] }, "tool_calls", {}),
      usage: undefined,
    },
  },
  ...(
    [
      ["refusal", "content_filter"],
      ["max_tokens", "length"],
      ["model_context_window_exceeded", "length"],
      ["stop_sequence", "stop"],
      ["pause_turn", "stop"],
      ["something_new", "stop"],
    ] as const
  ).map(([reason, finish]) => ({
    name: `stop reason ${reason}`,
    request: hello,
    answer: { id: "m", model: "claude-sonnet-4-6", content: [], stop_reason: reason, usage: { input_tokens: 3 } },
    wanted: answerOf("m", { content: "" }, finish, usageOf(3, 0)),
  })),
];

const streams: readonly ConformanceCase[] = [
  {
    name: "stream of text",
    request: { ...hello, stream: true, stream_options: { include_usage: true } },
    sent: { body: { ...hello, stream: true, max_tokens: 8192 } },
    stream: fixture("anthropic", "stream.sse"),
    chunks: [roleChunk, chunkOf({ content: "Tide" }), chunkOf({ content: " rises – 3 m ☂." }), chunkOf({}, "stop")],
    usage: usageOf(2450, 12, 2048),
  },
  {
    name: "stream with tools",
    request: hello,
    stream: fixture("anthropic", "stream-tools.sse"),
    chunks: [roleChunk, ...toolChunks, chunkOf({}, "tool_calls")],
    usage: usageOf(2450, 74, 2048),
  },
  {
    name: "stream with reasoning, not strict",
    request: hello,
    strict: false,
    stream: fixture("anthropic", "stream-tools.sse"),
    chunks: [
      roleChunk,
      blockChunk(0, { type: "thinking", thinking: "", signature: "" }),
      blockChunk(0, { thinking: "Need two lookups." }, { reasoning_content: "Need two lookups." }),
      blockChunk(0, { signature: "EqQBCkgFxSignatureAAAA==" }),
      ...toolChunksWith((index, id) => ({ content_blocks: [{ index, delta: { type: "tool_use", id } }] })),
      chunkOf({}, "tool_use"),
    ],
  },
  {
    name: "stream with a built-in tool: its JSON belongs to no call",
    request: hello,
    strict: false,
    stream: [
      { type: "message_start", message: { id: "msg_01FxStr", model: "claude-sonnet-4-6" } },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "server_tool_use", id: "s", name: "web_search" },
      },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"query":' } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '"a"}' } },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "citations_delta", citation: { url: "u" } } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "b" } },
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    ]
      .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join(""),
    chunks: [
      roleChunk,
      blockChunk(0, { type: "server_tool_use", id: "s", name: "web_search" }),
      blockChunk(0, { partial_json: '{"query":' }),
      blockChunk(0, { partial_json: '"a"}' }),
      blockChunk(1, { type: "text", text: "" }),
      blockChunk(1, { citation: { url: "u" } }),
      blockChunk(1, { text: "b" }, { content: "b" }),
      chunkOf({}, "end_turn"),
    ],
    usage: usageOf(0, 2),
  },
];

const tool = { type: "function", function: { name: "f", description: "", parameters: { properties: { a: {} } } } };
const sentTool = { name: "f", input_schema: { type: "object", properties: { a: {} } } };
const cached = { type: "ephemeral", ttl: "1h" };

/** The request a body becomes; only the given fields are compared with what is sent. */
function sends(name: string, request: object, sent: object, dropped: readonly string[] = []): ConformanceCase {
  const all = { ...hello, ...request };
  const body = { max_tokens: 8192, model: all.model, messages: hello.messages, ...sent };
  return { name, request: all, sent: { body }, dropped, answer: { content: [] }, wanted: "*" };
}
const choice = (tool_choice: unknown, sent: object | undefined, rest: object = {}) =>
  sends(
    `tool_choice ${JSON.stringify({ tool_choice, ...rest })}`,
    { tools: [tool], tool_choice, ...rest },
    {
      tools: [sentTool],
      ...(sent && { tool_choice: sent }),
    },
  );
const says = (name: string, messages: readonly object[], sent: readonly object[], dropped: readonly string[] = []) =>
  sends(name, { messages }, { messages: sent }, dropped);
const part = (name: string, given: object, sent: object) =>
  says(name, [{ role: "user", content: [given] }], [{ role: "user", content: [sent] }]);
const source = (type: string, of: object) => ({ type, source: of });

const messages: readonly ConformanceCase[] = [
  part(
    "a linked image",
    { type: "image_url", image_url: { url: "https://a.example/b.png?c=.pdf" }, cache_control: cached },
    { ...source("image", { type: "url", url: "https://a.example/b.png?c=.pdf" }), cache_control: cached },
  ),
  part(
    "a linked PDF",
    { type: "image_url", image_url: { url: "https://a.example/b.pdf?c=1" } },
    source("document", { type: "url", url: "https://a.example/b.pdf?c=1" }),
  ),
  part(
    "a PDF as a data URL",
    { type: "image_url", image_url: "data:application/pdf;charset=x;base64,QQ==" },
    source("document", { type: "base64", media_type: "application/pdf", data: "QQ==" }),
  ),
  part(
    "a file's bytes",
    { type: "file", file: { file_data: "QQ==", file_name: "a.pdf" } },
    source("document", { type: "base64", media_type: "application/pdf", data: "QQ==" }),
  ),
  part(
    "a text file",
    { type: "file", file: { file_data: "data:text/plain;base64,w6k=" } },
    source("document", { type: "text", media_type: "text/plain", data: "é" }),
  ),
  part(
    "an image as a file",
    { type: "file", file: { file_data: "QQ==", mime_type: "image/png" } },
    source("image", { type: "base64", media_type: "image/png", data: "QQ==" }),
  ),
  part(
    "a file's address",
    { type: "file", file: { file_url: "https://a.example/b" } },
    source("document", { type: "url", url: "https://a.example/b" }),
  ),
  part(
    "a stored file",
    { type: "file", file: { file_id: "file_1" } },
    source("document", { type: "file", file_id: "file_1" }),
  ),
  part(
    "a stored table",
    { type: "file", file: { file_id: "file_1", mime_type: "text/csv" } },
    { type: "container_upload", file_id: "file_1" },
  ),
  says(
    "cache marks of texts, calls and results are kept whole",
    [
      { role: "user", content: "a", cache_control: cached },
      {
        role: "assistant",
        content: "b",
        tool_calls: [{ ...callOf("c.1:0", "f", ""), cache_control: cached }],
      },
      { role: "tool", tool_call_id: "c.1:0", content: [{ type: "text", text: "d", cache_control: cached }] },
      { role: "tool", tool_call_id: "c.2", content: "", is_error: true, cache_control: cached },
    ],
    [
      { role: "user", content: [{ type: "text", text: "a", cache_control: cached }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "b" },
          { type: "tool_use", id: "c_1_0", name: "f", input: {}, cache_control: cached },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c_1_0", content: [{ type: "text", text: "d", cache_control: cached }] },
          { type: "tool_result", tool_use_id: "c_2", is_error: true, cache_control: cached },
        ],
      },
    ],
  ),
  says(
    "arguments may be objects; names of users are left out",
    [
      { role: "user", content: "hi", name: "n" },
      { role: "assistant", tool_calls: [{ id: "t", type: "function", function: { name: "f", arguments: { a: 1 } } }] },
    ],
    [
      { role: "user", content: "hi" },
      { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: { a: 1 } }] },
    ],
    ["messages.name"],
  ),
  says(
    "content_blocks win over content and keep their signatures; calls follow them",
    [
      { role: "user", content: "hi" },
      { role: "assistant", content: "x", content_blocks: thinkingBlocks, tool_calls: [callOf("t", "f", '{"a":1}')] },
      { role: "tool", tool_call_id: "t", content: "1" },
    ],
    [
      { role: "user", content: "hi" },
      { role: "assistant", content: [...thinkingBlocks, { type: "tool_use", id: "t", name: "f", input: { a: 1 } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "1" }] },
    ],
  ),
  says(
    "thinking without a signature and reasoning of others are left out",
    [
      { role: "user", content: "hi" },
      { role: "assistant", content_blocks: [{ type: "thinking", thinking: "x", signature: "" }], content: "y" },
      {
        role: "assistant",
        content: [{ type: "text", text: "z" }, thinkingBlocks[0]],
        reasoning_content: "r",
      },
      { role: "assistant", content: "" },
      { role: "user", content: "go on" },
    ],
    [
      { role: "user", content: "hi" },
      { role: "assistant", content: [{ type: "text", text: "y" }] },
      { role: "assistant", content: [thinkingBlocks[0] ?? {}, { type: "text", text: "z" }] },
      { role: "user", content: "go on" },
    ],
    ["messages.thinking", "messages.reasoning_content"],
  ),
];

const calling: readonly ConformanceCase[] = [
  choice("auto", { type: "auto" }),
  choice("required", { type: "any" }),
  choice("none", { type: "none" }),
  choice({ type: "function", function: { name: "f" } }, { type: "tool", name: "f" }),
  choice({ type: "tool", name: "f" }, { type: "tool", name: "f" }),
  choice({ type: "any", disable_parallel_tool_use: true }, { type: "any", disable_parallel_tool_use: true }),
  choice(undefined, undefined),
  choice(undefined, { type: "auto", disable_parallel_tool_use: true }, { parallel_tool_calls: false }),
  choice("none", { type: "none" }, { parallel_tool_calls: false }),
  sends(
    "allowed tools",
    {
      tools: [tool, { type: "function", function: { name: "g" } }],
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "g" } }] },
      },
    },
    { tools: [{ name: "g", input_schema: { type: "object", properties: {} } }], tool_choice: { type: "any" } },
  ),
  sends(
    "tools of the provider, cache marks and further members",
    {
      tools: [
        { type: "computer", computer: { name: "computer_20250124", display_width_px: 800 }, cache_control: cached },
        { type: "web_search_20250305", name: "web_search", max_uses: 2 },
        { type: "function", function: { name: "g", strict: true, defer_loading: true }, cache_control: cached },
      ],
    },
    {
      tools: [
        { type: "computer_20250124", name: "computer", display_width_px: 800, cache_control: cached },
        { type: "web_search_20250305", name: "web_search", max_uses: 2 },
        { name: "g", input_schema: { type: "object", properties: {} }, defer_loading: true, cache_control: cached },
      ],
    },
    ["tools.function.strict"],
  ),
  sends("a choice without tools", { tool_choice: "auto", tools: [] }, {}),
];

const older = "claude-sonnet-4-20250514";
const newer = "claude-opus-4-6";
const thinks = sends;
const schema = {
  $defs: { p: { type: "object", properties: { maximum: { type: "number", maximum: 3 } } } },
  type: "object",
  properties: { a: { oneOf: [{ type: "string", minLength: 2 }, { $ref: "#/$defs/p" }] } },
};
const sentFormat = {
  type: "json_schema",
  schema: {
    $defs: { p: { type: "object", properties: { maximum: { type: "number" } }, additionalProperties: false } },
    type: "object",
    properties: { a: { anyOf: [{ type: "string" }, { $ref: "#/$defs/p" }] } },
    additionalProperties: false,
  },
};
const format = { type: "json_schema", json_schema: { name: "n", strict: true, schema } };
const schemaDrops = ["response_format.json_schema.schema.maximum", "response_format.json_schema.schema.minLength"];

const settings: readonly ConformanceCase[] = [
  thinks(
    "effort on newer models",
    { model: newer, reasoning_effort: "high", temperature: 0.5, top_p: 0.5, top_k: 3 },
    { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
    ["temperature", "top_p", "top_k"],
  ),
  thinks(
    "effort on older models",
    { model: older, reasoning_effort: "medium", temperature: 1 },
    { thinking: { type: "enabled", budget_tokens: 8192 }, max_tokens: 16384 },
  ),
  thinks(
    "effort within the room of the answer",
    { model: older, reasoning_effort: "high", max_completion_tokens: 2000 },
    { thinking: { type: "enabled", budget_tokens: 1999 }, max_tokens: 2000 },
  ),
  thinks("effort without room", { model: older, reasoning_effort: "low", max_tokens: 900 }, { max_tokens: 900 }, [
    "reasoning_effort",
  ]),
  thinks(
    "effort after calls whose thinking was not sent back",
    {
      model: older,
      reasoning_effort: "low",
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", tool_calls: [callOf("t", "f", "{}")] },
        { role: "tool", tool_call_id: "t", content: "1" },
      ],
    },
    {
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "1" }] },
      ],
    },
    ["reasoning_effort"],
  ),
  thinks("effort on models that do not think", { model: "claude-3-5-sonnet-20241022", reasoning_effort: "low" }, {}, [
    "reasoning_effort",
  ]),
  thinks("no effort", { model: newer, reasoning_effort: "none" }, {}),
  thinks(
    "the caller's own thinking wins",
    {
      model: older,
      reasoning_effort: "low",
      thinking: { type: "enabled", budget_tokens: 2048, display: "omitted" },
    },
    { thinking: { type: "enabled", budget_tokens: 2048, display: "omitted" }, max_tokens: 10240 },
    ["reasoning_effort"],
  ),
  thinks(
    "who must call a tool does not think before",
    { model: newer, reasoning_effort: "minimal", tools: [tool], tool_choice: "required" },
    { output_config: { effort: "low" }, tools: [sentTool], tool_choice: { type: "any" } },
  ),
  sends("samplers of newer models", { model: "claude-opus-4-1", temperature: 0, top_p: 0.5 }, { temperature: 0 }, [
    "top_p",
  ]),
  sends(
    "samplers of older models",
    { model: "claude-3-haiku-20240307", temperature: 2, top_p: 0.5, top_k: 3, max_tokens: null },
    { temperature: 1, top_p: 0.5, top_k: 3, max_tokens: 4096 },
  ),
  sends("max_completion_tokens before the older name", { max_tokens: 5, max_completion_tokens: 6 }, { max_tokens: 6 }),
  sends("ends of the answer", { stop: ["a", " ", ""] }, { stop_sequences: ["a"] }, ["stop"]),
  sends("a blank end alone", { stop: "\n" }, {}, ["stop"]),
  sends("a schema", { response_format: format }, { output_config: { format: sentFormat } }, schemaDrops),
  sends(
    "a schema on older models",
    { model: older, response_format: format, output_config: { effort: "low" } },
    { output_format: sentFormat, output_config: { effort: "low" } },
    schemaDrops,
  ),
  sends("JSON without a schema", { response_format: { type: "json_object" } }, {}, ["response_format"]),
  sends("plain text", { response_format: { type: "text" } }, {}),
  sends("metadata", { metadata: { user_id: "a", team: "b" }, user: "c" }, { metadata: { user_id: "a" } }, ["metadata"]),
  sends("the tier auto", { service_tier: "auto" }, { service_tier: "auto" }),
  sends("the tier standard_only", { service_tier: "standard_only" }, { service_tier: "standard_only" }),
  sends("the tier fast", { service_tier: "fast" }, { speed: "fast" }),
  sends("an unknown tier", { service_tier: "flex" }, {}, ["service_tier"]),
  sends(
    "members of the provider go along, those of others are told",
    { cache_control: cached, mcp_servers: [], own: 1, seed: 1, logprobs: false, frequency_penalty: 1, logit_bias: {} },
    { cache_control: cached, mcp_servers: [], own: 1 },
    ["seed", "frequency_penalty", "logit_bias"],
  ),
  sends("version and betas are headers", { anthropic_version: "x", anthropic_beta: ["a"] }, {}),
];

const refuses = (name: string, request: object, refused: RegExp): ConformanceCase => ({
  name,
  request: { ...hello, ...request },
  refused,
});
const user = (content: unknown) => ({ messages: [{ role: "user", content }] });
const refusals: readonly ConformanceCase[] = [
  refuses("n above 1", { n: 2 }, /n above 1/),
  refuses("a demanded tool without tools", { tool_choice: "required" }, /no tools/),
  refuses("a choice of nothing", { tools: [tool], tool_choice: { type: "x" } }, /tool_choice/),
  refuses("tools it does not have", { tools: [{ type: "file_search" }] }, /file_search/),
  refuses("free-form tools", { tools: [{ type: "custom", custom: { name: "c" } }] }, /custom/),
  refuses("functions", { functions: [{ name: "f" }] }, /use tools/),
  refuses("a format without schema", { response_format: { type: "json_schema" } }, /schema is missing/),
  refuses("audio", user([{ type: "input_audio", input_audio: { data: "", format: "wav" } }]), /input_audio/),
  refuses("video", user([{ type: "image_url", image_url: { url: "data:video/mp4;base64,AA==" } }]), /video\/mp4/),
  refuses("data that is not base64", user([{ type: "image_url", image_url: { url: "data:image/png,x" } }]), /base64/),
  refuses("other addresses", user([{ type: "image_url", image_url: { url: "gs://a/b" } }]), /http/),
  refuses("unknown parts", user([{ type: "hologram" }]), /hologram/),
  refuses("a file of nothing", user([{ type: "file", file: {} }]), /file_id/),
  refuses("unknown roles", { messages: [{ role: "function", content: "x" }] }, /function/),
];

const others: readonly ConformanceCase[] = [
  {
    name: "legacy text completion",
    operation: "complete",
    request: { model: "claude-2.1", prompt: ["a"], stop: "x", max_tokens: 9, user: "u", echo: true, temperature: 2 },
    sent: {
      path: "/complete",
      body: {
        model: "claude-2.1",
        prompt: "\n\nHuman: a\n\nAssistant:",
        max_tokens_to_sample: 9,
        temperature: 1,
        stop_sequences: ["x"],
        metadata: { user_id: "u" },
      },
    },
    dropped: ["echo"],
    answer: { type: "completion", id: "compl_1", completion: " b", stop_reason: "max_tokens", model: "claude-2.1" },
    wanted: {
      id: "compl_1",
      object: "text_completion",
      created: 0,
      model: "claude-2.1",
      choices: [{ index: 0, text: " b", logprobs: null, finish_reason: "length" }],
    },
  },
  {
    name: "legacy text completion as a stream",
    operation: "complete",
    request: { model: "claude-2.1", prompt: "a", stream: true },
    stream: [
      { type: "completion", id: "compl_1", completion: " b", stop_reason: null, model: "claude-2.1" },
      { type: "ping" },
      { type: "completion", id: "compl_1", completion: "", stop_reason: "stop_sequence", model: "claude-2.1" },
    ]
      .map((event) => `event: ${event.type}\r\ndata: ${JSON.stringify(event)}\r\n\r\n`)
      .join(""),
    chunks: ["b", ""].map((text, index) => ({
      id: "compl_1",
      object: "text_completion",
      created: 0,
      model: "claude-2.1",
      choices: [{ index: 0, text: text && ` ${text}`, logprobs: null, finish_reason: index === 0 ? null : "stop" }],
    })),
  },
  {
    name: "several prompts",
    operation: "complete",
    request: { model: "claude-2.1", prompt: ["a", "b"] },
    refused: /single string/,
  },
  {
    name: "models",
    operation: "models",
    request: {},
    sent: { path: "/models?limit=1000" },
    answer: {
      data: [
        {
          type: "model",
          id: "claude-opus-4-6",
          display_name: "Claude",
          created_at: "2026-01-01T00:00:00Z",
          max_input_tokens: 1_000_000,
          max_tokens: 128_000,
        },
        { type: "model", id: "claude-2.1" },
      ],
      has_more: false,
    },
    wanted: {
      object: "list",
      data: [
        {
          type: "model",
          id: "claude-opus-4-6",
          object: "model",
          created: 1767225600,
          created_at: "2026-01-01T00:00:00Z",
          owned_by: "anthropic",
          display_name: "Claude",
          max_input_tokens: 1_000_000,
          max_tokens: 128_000,
          context_length: 1_000_000,
          top_provider: { context_length: 1_000_000, max_completion_tokens: 128_000 },
        },
        { type: "model", id: "claude-2.1", object: "model", created: 0, owned_by: "anthropic" },
      ],
    },
  },
];

testConformance(anthropic, [...answers, ...streams, ...messages, ...calling, ...settings, ...refusals, ...others]);

test("toClaudeRequest() builds requests for other hosts", () => {
  const dropped: string[] = [];
  const options = { strict: true, drop: (member: string) => void dropped.push(member) };
  const request = { ...hello, stream: true, reasoning_effort: "low", anthropic_beta: "a,b" };
  const host = { version: "host-1", hasBetasInBody: true, omits: ["model", "output_config"] };
  assert.deepEqual(toClaudeRequest(request, options, host), {
    stream: true,
    anthropic_version: "host-1",
    anthropic_beta: ["a", "b"],
    messages: hello.messages,
    max_tokens: 8192,
    thinking: { type: "adaptive" },
  });
  assert.deepEqual(dropped, ["output_config"]);
  const own = toClaudeRequest({ ...hello, anthropic_version: "own" }, options, host);
  assert.equal(own.anthropic_version, "own");
});
