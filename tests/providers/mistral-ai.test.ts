import { mistral } from "../../src/providers/mistral-ai/mod.ts";
import { fixture, jsonFixture, testConformance } from "../conformance/suite.ts";

const hello = { model: "mistral-medium", messages: [{ role: "user", content: "Hello" }] };
const body = (extra: object) => ({ ...hello, ...extra });
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "fxmis04str",
  object: "chat.completion.chunk",
  created: 1790000000,
  model: "mistral-medium",
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
});
const usage = (prompt_tokens: number, completion_tokens: number) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
});
const answer = (id: string, choice: object, counts: object) => ({
  id,
  object: "chat.completion",
  created: 1790000000,
  model: "mistral-medium",
  choices: [{ index: 0, logprobs: null, ...choice }],
  usage: counts,
});
const first = { role: "assistant", content: "" };
const fim = { model: "codestral", prompt: "def f(", suffix: "return 1" };
const sse = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const thinkingStream = sse(
  { id: "t", created: 5, choices: [{ index: 0, delta: { role: "assistant", content: "" } }] },
  {
    id: "t",
    choices: [
      {
        index: 0,
        delta: { content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }], signature: "s" }] },
      },
    ],
  },
  { id: "t", choices: [{ index: 0, delta: { content: "Six." }, finish_reason: "model_length" }] },
);
const thinkingChunk = (delta: object, finish_reason: string | null = null) => ({
  ...chunk(delta, finish_reason),
  id: "t",
  created: 5,
});

testConformance(mistral, [
  {
    name: "a rich request",
    request: jsonFixture("requests", "unified-chat.json") as object,
    sent: { path: "/chat/completions", body: jsonFixture("mistral-ai", "request-expected.json") },
    dropped: ["user"],
    answer: jsonFixture("mistral-ai", "tool-call.json"),
    wanted: {
      ...answer(
        "fxmis03tool",
        {
          message: {
            role: "assistant",
            content: null,
            tool_calls: [
              { id: "fxAbC1234", type: "function", function: { name: "tide_table", arguments: '{"port": "Brest"}' } },
              { id: "fxAbC5678", type: "function", function: { name: "wind_speed", arguments: "{}" } },
            ],
          },
          finish_reason: "tool_calls",
        },
        usage(133, 38),
      ),
      model: "MODEL",
    },
  },
  {
    name: "text and field names",
    request: body({
      model: "mistralai.mistral-medium",
      seed: 3,
      safe_mode: true,
      max_tokens: 5,
      n: 2,
      logit_bias: {},
      thinking: { type: "enabled" },
      reasoning_effort: "high",
      stream_options: { include_usage: true },
    }),
    sent: { body: body({ random_seed: 3, safe_prompt: true, max_tokens: 5, n: 2, reasoning_effort: "high" }) },
    // the effort says how much to think
    dropped: ["logit_bias"],
    answer: jsonFixture("mistral-ai", "chat.json"),
    wanted: {
      ...answer(
        "fxmis01chat",
        { message: { role: "assistant", content: "The harbour opens at six." }, finish_reason: "stop" },
        usage(14, 7),
      ),
      model: "mistralai.mistral-medium",
    },
  },
  {
    name: "documents, audio, thinking, prefix",
    request: body({
      messages: [
        {
          role: "user",
          content: [
            { type: "file", file: { file_data: "JVBE", file_name: "a.pdf" } },
            { type: "file", file: { file_url: "https://example.com/a.pdf" } },
            { type: "file", file: { file_id: "f-1" } },
            { type: "input_audio", input_audio: { data: "UklG", format: "wav" } },
            { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } },
          ],
        },
        { role: "assistant", content: "So", content_blocks: [{ type: "thinking", thinking: "Hm." }], prefix: true },
      ],
    }),
    sent: {
      body: body({
        messages: [
          {
            role: "user",
            content: [
              { type: "document_url", document_url: "data:application/pdf;base64,JVBE", document_name: "a.pdf" },
              { type: "document_url", document_url: "https://example.com/a.pdf" },
              { type: "file", file_id: "f-1" },
              { type: "input_audio", input_audio: "UklG" },
              { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } },
            ],
          },
          {
            role: "assistant",
            content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }], closed: true }],
            prefix: true,
          },
        ],
      }),
    },
    answer: jsonFixture("mistral-ai", "chat-thinking.json"),
    wanted: answer(
      "fxmis02think",
      { message: { role: "assistant", content: "It opens at six." }, finish_reason: "length" },
      usage(14, 61),
    ),
  },
  {
    name: "thinking, not strict",
    request: hello,
    strict: false,
    answer: jsonFixture("mistral-ai", "chat-thinking.json"),
    wanted: answer(
      "fxmis02think",
      {
        message: {
          role: "assistant",
          content: "It opens at six.",
          reasoning_content: "Check opening hours.",
          content_blocks: [
            { type: "thinking", thinking: "Check opening hours." },
            { type: "text", text: "It opens at six." },
          ],
        },
        finish_reason: "length",
      },
      usage(14, 61),
    ),
  },
  {
    name: "a stream of text",
    request: body({ stream: true }),
    sent: { body: body({ stream: true }) },
    stream: fixture("mistral-ai", "stream.sse"),
    chunks: [chunk(first), chunk({ content: "Tide" }), chunk({ content: " rises – 3 m ☂." }), chunk({}, "stop")],
    usage: usage(12, 9),
  },
  {
    name: "a stream of parallel tool calls",
    request: body({ stream: true }),
    stream: fixture("mistral-ai", "stream-tools.sse"),
    chunks: [
      chunk(first),
      chunk({
        tool_calls: [
          {
            index: 0,
            id: "fxAbC1234",
            type: "function",
            function: { name: "tide_table", arguments: '{"port": "Brest"}' },
          },
          { index: 1, id: "fxAbC5678", type: "function", function: { name: "wind_speed", arguments: "{}" } },
        ],
      }),
      chunk({}, "tool_calls"),
    ],
    usage: usage(133, 38),
  },
  {
    name: "a stream of thinking, not strict",
    request: body({ stream: true }),
    strict: false,
    stream: thinkingStream,
    chunks: [
      thinkingChunk(first),
      thinkingChunk({
        reasoning_content: "Hm.",
        content_blocks: [{ index: 0, delta: { thinking: "Hm.", signature: "s" } }],
      }),
      thinkingChunk({ content: "Six." }),
      thinkingChunk({}, "length"),
    ],
  },
  {
    name: "a stream of thinking",
    request: body({ stream: true }),
    stream: thinkingStream,
    chunks: [thinkingChunk(first), thinkingChunk({ content: "Six." }), thinkingChunk({}, "length")],
  },
  {
    name: "built-in tools",
    request: body({ tools: [{ type: "web_search" }] }),
    refused: /does not support tools of type/,
  },
  { name: "legacy functions", request: body({ functions: [{ name: "a" }] }), refused: /use tools/ },
  {
    name: "fill-in-the-middle as a chat",
    settings: { "mistral-fim-completion": "true" },
    request: body({ suffix: "end", max_completion_tokens: 3 }),
    sent: {
      path: "/fim/completions",
      body: { model: "mistral-medium", prompt: "Hello", suffix: "end", max_tokens: 3 },
    },
    answer: jsonFixture("mistral-ai", "chat.json"),
    wanted: answer(
      "fxmis01chat",
      { message: { role: "assistant", content: "The harbour opens at six." }, finish_reason: "stop" },
      usage(14, 7),
    ),
  },
  {
    name: "text completions",
    operation: "complete",
    request: { ...fim, temperature: 0.5, echo: true },
    sent: { path: "/fim/completions", body: { ...fim, temperature: 0.5 } },
    dropped: ["echo"],
    answer: jsonFixture("mistral-ai", "chat.json"),
    wanted: {
      id: "fxmis01chat",
      object: "text_completion",
      created: 1790000000,
      model: "codestral",
      choices: [{ index: 0, text: "The harbour opens at six.", logprobs: null, finish_reason: "stop" }],
      usage: usage(14, 7),
    },
  },
  {
    name: "a stream of a text completion",
    operation: "complete",
    request: { ...fim, stream: true },
    stream: fixture("mistral-ai", "stream.sse"),
    chunks: ["", "Tide", " rises – 3 m ☂.", ""].map((text, index) => ({
      id: "fxmis04str",
      object: "text_completion",
      created: 1790000000,
      model: "codestral",
      choices: [{ index: 0, text, logprobs: null, finish_reason: index === 3 ? "stop" : null }],
    })),
    usage: usage(12, 9),
  },
  { name: "several prompts", operation: "complete", request: { ...fim, prompt: ["a", "b"] }, refused: /single string/ },
  {
    name: "embeddings",
    operation: "embed",
    request: { model: "mistral-embed", input: "harbour", dimensions: 64, user: "u" },
    sent: { path: "/embeddings", body: { model: "mistral-embed", input: ["harbour"], output_dimension: 64 } },
    dropped: ["user"],
    answer: jsonFixture("mistral-ai", "embeddings.json"),
    wanted: {
      object: "list",
      data: [
        { object: "embedding", index: 0, embedding: [0.0123, -0.0456, 0.0789] },
        { object: "embedding", index: 1, embedding: [-0.0021, 0.0334, 0.0455] },
      ],
      model: "mistral-embed",
      usage: { prompt_tokens: 9, total_tokens: 9 },
    },
  },
]);
