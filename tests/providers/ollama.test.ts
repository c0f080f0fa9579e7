import { ollama } from "../../src/providers/ollama/mod.ts";
import { testConformance } from "../conformance/suite.ts";
import { testCalls } from "../support/provider-calls.ts";

const hello = { model: "llama3.2", messages: [{ role: "user", content: "Hello" }] };
const body = (extra: object) => ({ ...hello, ...extra });
const tool = { type: "function", function: { name: "tide_table" } };
const reply = {
  id: "chatcmpl-7",
  object: "chat.completion",
  created: 5,
  model: "llama3.2",
  system_fingerprint: "fp_ollama",
  choices: [{ index: 0, message: { role: "assistant", content: "Six.", reasoning: "Hm." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};
const wanted = (message: object, finish_reason = "stop") => ({
  id: "chatcmpl-7",
  object: "chat.completion",
  created: 5,
  model: "llama3.2",
  choices: [{ index: 0, message: { role: "assistant", ...message }, logprobs: null, finish_reason }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "chatcmpl-7",
  object: "chat.completion.chunk",
  created: 5,
  model: "llama3.2",
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
});
const stream = [
  chunk({ role: "assistant", content: "", reasoning: "Hm." }),
  chunk({ role: "assistant", content: "Six ☂." }),
  chunk({
    tool_calls: [{ id: "call_a", index: 0, type: "function", function: { name: "tide_table", arguments: "{}" } }],
  }),
  chunk({ tool_calls: [{ id: "call_b", index: 1, type: "function", function: { name: "wind", arguments: "{}" } }] }),
  chunk({ content: "" }, "stop"),
  { ...chunk({}), choices: [], usage: reply.usage },
]
  .map((event) => `data: ${JSON.stringify(event)}\n\n`)
  .join("");

testConformance(ollama, [
  {
    name: "text, with its fields and plain messages",
    request: body({
      messages: [
        { role: "developer", content: [{ type: "text", text: "Short.", cache_control: { type: "ephemeral" } }] },
        {
          role: "user",
          content: [{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm.", signature: "s" },
            { type: "text", text: "So" },
          ],
          content_blocks: [{ type: "thinking", thinking: "Hm." }],
        },
      ],
      max_completion_tokens: 5,
      thinking: { type: "enabled" },
      top_k: 4,
      tools: [tool],
      tool_choice: "auto",
    }),
    sent: {
      path: "/v1/chat/completions",
      body: body({
        messages: [
          { role: "system", content: [{ type: "text", text: "Short." }] },
          {
            role: "user",
            content: [{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }],
          },
          { role: "assistant", content: [{ type: "text", text: "So" }] },
        ],
        max_tokens: 5,
        top_k: 4,
        tools: [tool],
      }),
    },
    dropped: ["thinking", "messages.content_blocks", "messages.content.thinking"],
    answer: reply,
    wanted: wanted({ content: "Six." }),
  },
  ...(
    [
      ["qwen3:8b", { thinking: { type: "disabled" } }, { reasoning_effort: "none" }, []],
      ["qwen3:8b", { reasoning_effort: "none" }, { reasoning_effort: "none" }, []],
      ["qwen3:8b", { thinking: { type: "enabled" }, reasoning_effort: "xhigh" }, { reasoning_effort: "high" }, true],
      ["gpt-oss:20b", { thinking: { type: "disabled" } }, { reasoning_effort: "low" }, ["thinking"]],
      ["llama3.2", { reasoning_effort: "high" }, {}, true],
      ["llama3.2", { thinking: { type: "disabled" } }, {}, []],
    ] as const
  ).map(([model, given, sent, dropped]) => ({
    name: `${JSON.stringify(given)} of ${model}`,
    request: { ...hello, model, ...given },
    sent: { body: { ...hello, model, ...sent } },
    dropped: dropped === true ? ["reasoning_effort"] : [...dropped],
    answer: { ...reply, model },
    wanted: { ...wanted({ content: "Six." }), model },
  })),
  {
    name: "reasoning, not strict",
    request: body({ tools: [tool], tool_choice: "none" }),
    sent: { body: hello },
    strict: false,
    answer: reply,
    wanted: wanted({ content: "Six.", reasoning_content: "Hm." }),
  },
  {
    name: "a stream of text and tool calls",
    request: body({ stream: true }),
    sent: { body: body({ stream: true, stream_options: { include_usage: true } }) },
    stream,
    chunks: [
      chunk({ role: "assistant", content: "" }),
      chunk({ content: "Six ☂." }),
      chunk({
        tool_calls: [{ index: 0, id: "call_a", type: "function", function: { name: "tide_table", arguments: "{}" } }],
      }),
      chunk({
        tool_calls: [{ index: 1, id: "call_b", type: "function", function: { name: "wind", arguments: "{}" } }],
      }),
      chunk({}, "tool_calls"),
    ],
    usage: reply.usage,
  },
  { name: "n", request: body({ n: 2 }), refused: /one choice/ },
  {
    name: "images it would have to fetch",
    request: body({
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] }],
    }),
    refused: /data URLs/,
  },
  {
    name: "a required tool call",
    request: body({ tools: [tool], tool_choice: "required" }),
    refused: /required tool calls/,
  },
  {
    name: "embeddings",
    operation: "embed",
    request: { model: "all-minilm", input: ["a", "b"], dimensions: 2, encoding_format: "float", user: "u" },
    sent: { path: "/api/embed", body: { model: "all-minilm", input: ["a", "b"], dimensions: 2 } },
    dropped: ["user"],
    answer: { model: "all-minilm", embeddings: [[0.1], [0.2]], total_duration: 9, prompt_eval_count: 8 },
    wanted: {
      object: "list",
      data: [
        { object: "embedding", index: 0, embedding: [0.1] },
        { object: "embedding", index: 1, embedding: [0.2] },
      ],
      model: "all-minilm",
      usage: { prompt_tokens: 8, total_tokens: 8 },
    },
  },
  {
    name: "embeddings in another form",
    operation: "embed",
    request: { model: "m", input: "a", encoding_format: "int8" },
    refused: /as numbers/,
  },
]);

await testCalls("ollama", [
  {
    name: "is called at the caller's host",
    headers: { "x-gateway-custom-host": "https://ollama.example.com" },
    credential: null,
    url: "https://ollama.example.com/v1/chat/completions",
    sent: { authorization: undefined },
  },
  { name: "needs a host", refused: /x-gateway-custom-host/ },
]);
