import { cohere } from "../../src/providers/cohere/mod.ts";
import { fixture, jsonFixture, testConformance } from "../conformance/suite.ts";

const hello = { model: "command-a", messages: [{ role: "user", content: "Hello" }] };
const own = { content: [{ type: "text", text: "its own form" }] };
const tools = [{ type: "function", function: { name: "tide_table", strict: true, parameters: { type: "object" } } }];
const head = { object: "chat.completion.chunk", created: 0, model: "command-a" };
const chunk = (id: string, delta: object, finish_reason: string | null = null) => ({
  id,
  ...head,
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
});
const answer = (id: string, choice: object, usage: object) => ({
  id,
  object: "chat.completion",
  created: 0,
  model: "command-a",
  choices: [{ index: 0, logprobs: null, ...choice }],
  usage,
});
const calls = [
  { id: "tide_table_fx1", type: "function", function: { name: "tide_table", arguments: '{"port":"Brest"}' } },
  { id: "wind_speed_fx2", type: "function", function: { name: "wind_speed", arguments: "{}" } },
];
const usage = (prompt: number, completion: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});
const first = { role: "assistant", content: "" };
const streamedCalls = (plan: readonly object[]) => [
  chunk("fx-coh-str-2", first),
  ...plan.map((delta) => chunk("fx-coh-str-2", delta)),
  chunk("fx-coh-str-2", {
    tool_calls: [{ index: 0, id: "tide_table_fx1", type: "function", function: { name: "tide_table", arguments: "" } }],
  }),
  chunk("fx-coh-str-2", { tool_calls: [{ index: 0, function: { arguments: '{"port":' } }] }),
  chunk("fx-coh-str-2", { tool_calls: [{ index: 0, function: { arguments: '"Brest"}' } }] }),
  chunk("fx-coh-str-2", {
    tool_calls: [{ index: 1, id: "wind_speed_fx2", type: "function", function: { name: "wind_speed", arguments: "" } }],
  }),
  chunk("fx-coh-str-2", { tool_calls: [{ index: 1, function: { arguments: "{}" } }] }),
  chunk("fx-coh-str-2", {}, "tool_calls"),
];
const reasoningStream = [
  { type: "message-start", id: "s", delta: { message: { role: "assistant" } } },
  { type: "content-start", index: 0, delta: { message: { content: { type: "thinking", thinking: "" } } } },
  { type: "content-delta", index: 0, delta: { message: { content: { thinking: "Check." } } } },
  { type: "content-end", index: 0 },
  { type: "content-delta", index: 1, delta: { message: { content: { text: "Six." } } } },
  { type: "message-end", delta: { finish_reason: "MAX_TOKENS", usage: { billed_units: { input_tokens: 2 } } } },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join("");

const chatBody = (extra: object) => ({ ...hello, ...extra });

/** A piece of the plan of calls, which is the reasoning of models that do not think. */
const planned = (thinking: string) => ({
  tool_plan: thinking,
  reasoning_content: thinking,
  content_blocks: [{ index: 0, delta: { thinking } }],
});

testConformance(cohere, [
  {
    name: "a rich request",
    request: jsonFixture("requests", "unified-chat.json") as object,
    sent: { path: "/v2/chat", body: jsonFixture("cohere", "request-expected.json") },
    dropped: ["parallel_tool_calls", "user"],
    answer: jsonFixture("cohere", "tool-call.json"),
    wanted: {
      ...answer(
        "fx-coh-tool-1",
        {
          message: { role: "assistant", content: null, tool_calls: calls },
          finish_reason: "tool_calls",
        },
        usage(1512, 58),
      ),
      model: "MODEL",
    },
  },
  {
    name: "text and field names",
    request: chatBody({
      max_tokens: 9,
      top_p: 1,
      top_k: 3,
      frequency_penalty: -1,
      presence_penalty: 2,
      seed: 4,
      logit_bias: {},
      stop: ["a", "b"],
      reasoning_effort: "none",
      response_format: { type: "json_object" },
      user: null,
      n: 1,
      documents: ["d"],
      safety_mode: "OFF",
      stream: false,
      stream_options: { include_usage: true },
    }),
    sent: {
      path: "/v2/chat",
      body: chatBody({
        max_tokens: 9,
        p: 0.99,
        k: 3,
        frequency_penalty: 0,
        presence_penalty: 1,
        seed: 4,
        stream: false,
        stop_sequences: ["a", "b"],
        thinking: { type: "disabled" },
        response_format: { type: "json_object" },
        documents: ["d"],
        safety_mode: "OFF",
      }),
    },
    dropped: ["logit_bias"],
    answer: jsonFixture("cohere", "chat.json"),
    wanted: answer(
      "fx-coh-chat-1",
      { message: { role: "assistant", content: "The harbour opens at six." }, finish_reason: "stop" },
      { ...usage(74, 9), prompt_tokens_details: { cached_tokens: 32 } },
    ),
  },
  {
    name: "a schema, a named tool, a thinking budget",
    request: chatBody({
      response_format: { type: "json_schema", json_schema: { name: "x", schema: { type: "object" } } },
      tools: [...tools, { type: "function", function: { name: "other" } }],
      tool_choice: { type: "function", function: { name: "tide_table" } },
      thinking: { type: "enabled", budget_tokens: 50 },
    }),
    sent: {
      body: chatBody({
        response_format: { type: "json_object", json_schema: { type: "object" } },
        tools: [{ type: "function", function: { name: "tide_table", parameters: { type: "object" } } }],
        strict_tools: true,
        tool_choice: "REQUIRED",
        thinking: { type: "enabled", token_budget: 50 },
      }),
    },
    strict: false,
    answer: jsonFixture("cohere", "chat-thinking.json"),
    wanted: answer(
      "fx-coh-chat-2",
      {
        message: {
          role: "assistant",
          content: "It opens at",
          reasoning_content: "Check opening hours.",
          content_blocks: [
            { type: "thinking", thinking: "Check opening hours." },
            { type: "text", text: "It opens at" },
          ],
        },
        finish_reason: "length",
      },
      usage(510, 22),
    ),
  },
  {
    name: "blocks of an earlier response are sent back",
    request: chatBody({
      messages: [
        ...hello.messages,
        {
          role: "assistant",
          content: "It opens at",
          content_blocks: [
            { type: "thinking", thinking: "Check." },
            { type: "redacted_thinking", data: "x" },
            { type: "text", text: "It opens at" },
          ],
        },
      ],
    }),
    sent: {
      body: chatBody({
        messages: [
          ...hello.messages,
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "Check." },
              { type: "text", text: "It opens at" },
            ],
          },
        ],
      }),
    },
    dropped: ["messages.content.redacted_thinking"],
    answer: jsonFixture("cohere", "chat-thinking.json"),
    wanted: answer(
      "fx-coh-chat-2",
      { message: { role: "assistant", content: "It opens at" }, finish_reason: "length" },
      usage(510, 22),
    ),
  },
  {
    name: "a stream of text",
    request: chatBody({ stream: true }),
    sent: { body: chatBody({ stream: true }) },
    stream: fixture("cohere", "stream.sse"),
    chunks: [
      chunk("fx-coh-str-1", first),
      chunk("fx-coh-str-1", { content: "Tide" }),
      chunk("fx-coh-str-1", { content: " rises – 3 m ☂." }),
      chunk("fx-coh-str-1", {}, "stop"),
    ],
    usage: usage(71, 11),
  },
  {
    name: "a stream of parallel tool calls",
    request: chatBody({ stream: true }),
    stream: fixture("cohere", "stream-tools.sse"),
    chunks: streamedCalls([]),
    usage: usage(1512, 58),
  },
  {
    name: "a stream of parallel tool calls with a plan",
    request: chatBody({ stream: true }),
    strict: false,
    stream: fixture("cohere", "stream-tools.sse"),
    chunks: streamedCalls([planned("I will look"), planned(" up both.")]),
  },
  {
    name: "a stream of thinking",
    request: chatBody({ stream: true }),
    strict: false,
    stream: reasoningStream,
    chunks: [
      chunk("s", first),
      chunk("s", { reasoning_content: "Check.", content_blocks: [{ index: 0, delta: { thinking: "Check." } }] }),
      chunk("s", { content: "Six." }),
      chunk("s", {}, "length"),
    ],
    usage: usage(2, 0),
  },
  {
    name: "a stream of thinking, strict",
    request: chatBody({ stream: true }),
    stream: reasoningStream,
    chunks: [chunk("s", first), chunk("s", { content: "Six." }), chunk("s", {}, "length")],
  },
  { name: "n", request: chatBody({ n: 2 }), refused: /one choice/ },
  {
    name: "built-in tools",
    request: chatBody({ tools: [{ type: "web_search" }] }),
    refused: /does not support tools of type/,
  },
  { name: "legacy functions", request: chatBody({ functions: [{ name: "a" }] }), refused: /use tools/ },
  {
    name: "a choice that is missing from tools",
    request: chatBody({ tools, tool_choice: { type: "function", function: { name: "none_such" } } }),
    refused: /missing from tools/,
  },
  {
    name: "a part it does not support",
    request: chatBody({ messages: [{ role: "user", content: [{ type: "file", file: { file_id: "a" } }] }] }),
    refused: /does not accept parts of type file/,
  },
  { name: "a malformed message", request: chatBody({ messages: [{ role: "user", content: 1 }] }), refused: /messages/ },
  {
    name: "embeddings",
    operation: "embed",
    request: { model: "embed-v4", input: ["harbour", "tide"], dimensions: 256, encoding_format: "float", user: "u" },
    sent: {
      path: "/v2/embed",
      body: {
        model: "embed-v4",
        texts: ["harbour", "tide"],
        input_type: "search_document",
        embedding_types: ["float"],
        output_dimension: 256,
      },
    },
    dropped: ["user"],
    answer: jsonFixture("cohere", "embeddings.json"),
    wanted: {
      object: "list",
      data: [
        { object: "embedding", index: 0, embedding: [0.0123, -0.0456, 0.0789] },
        { object: "embedding", index: 1, embedding: [-0.0021, 0.0334, 0.0455] },
      ],
      model: "embed-v4",
      usage: { prompt_tokens: 2, total_tokens: 2 },
    },
  },
  {
    name: "embeddings of tokens",
    operation: "embed",
    request: { model: "m", input: [1, 2] },
    refused: /not lists of tokens/,
  },
  {
    name: "text and images mixed",
    operation: "embed",
    request: {
      model: "embed-v4.0",
      input: [{ text: "harbour", image: { base64: "iVBORw==" } }, "tide", own],
      input_type: "search_query",
    },
    sent: {
      body: {
        model: "embed-v4.0",
        inputs: [
          {
            content: [
              { type: "text", text: "harbour" },
              { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw==" } },
            ],
          },
          { content: [{ type: "text", text: "tide" }] },
          own,
        ],
        input_type: "search_query",
        embedding_types: ["float"],
      },
    },
    answer: jsonFixture("cohere", "embeddings.json"),
    wanted: "*",
  },
  {
    name: "a video",
    operation: "embed",
    request: { model: "embed-v4.0", input: [{ video: { url: "https://example.com/a.mp4" } }] },
    refused: /not video/,
  },
  {
    name: "text and an image as one, for embed v3",
    operation: "embed",
    request: { model: "embed-english-v3.0", input: [{ text: "a", image: { base64: "AAAA" } }] },
    refused: /not both in one input/,
  },
  {
    name: "models",
    operation: "models",
    request: {},
    sent: { path: "/v1/models" },
    answer: { models: [{ name: "command-a", endpoints: ["chat"] }] },
    wanted: { object: "list", data: [{ id: "command-a", object: "model", created: 0, owned_by: "cohere" }] },
  },
]);
