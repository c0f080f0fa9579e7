import { workersAi } from "../../src/providers/workers-ai/mod.ts";
import { jsonFixture, testConformance } from "../conformance/suite.ts";
import { testCalls } from "../support/provider-calls.ts";

const settings = { "workers-ai-account-id": "acc0" };
const hello = { model: "@cf/meta/llama-3.1-8b-instruct", messages: [{ role: "user", content: "Hello" }] };
const { messages, model } = hello;
const path = "/@cf/meta/llama-3.1-8b-instruct";
const tool = { type: "function", function: { name: "tide_table" } };
const usage = { prompt_tokens: 14, completion_tokens: 7, total_tokens: 21 };
const wanted = (message: object, finish_reason = "stop") => ({
  id: "chatcmpl-workers-ai",
  object: "chat.completion",
  created: 0,
  model,
  choices: [{ index: 0, message: { role: "assistant", ...message }, logprobs: null, finish_reason }],
  usage,
});
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "chatcmpl-workers-ai",
  object: "chat.completion.chunk",
  created: 0,
  model,
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
});
const sse = (...events: object[]) =>
  `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
const calls = [
  { name: "tide_table", arguments: { port: "Brest" } },
  { name: "wind_speed", arguments: {} },
];
const callHead = { type: "function" };
const unifiedCalls = [
  {
    id: "call_chatcmplworkersai_0",
    ...callHead,
    function: { name: "tide_table", arguments: '{"port":"Brest"}' },
  },
  { id: "call_chatcmplworkersai_1", ...callHead, function: { name: "wind_speed", arguments: "{}" } },
];
const openaiChunk = (delta: object, finish_reason: string | null = null) => ({
  ...chunk(delta, finish_reason),
  id: "cf-1",
  created: 9,
});

testConformance(workersAi, [
  {
    name: "text and field names",
    settings,
    request: { ...hello, max_completion_tokens: 5, temperature: 9, top_k: 2, user: "u", stream_options: {} },
    sent: { path, body: { messages, max_tokens: 5, temperature: 5, top_k: 2 } },
    dropped: ["user"],
    answer: jsonFixture("workers-ai", "chat.json"),
    wanted: wanted({ content: "The harbour opens at six." }),
  },
  {
    name: "a schema, and JSON returned as an object",
    settings,
    request: {
      ...hello,
      response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "object" } } },
    },
    sent: { body: { messages, response_format: { type: "json_schema", json_schema: { type: "object" } } } },
    answer: { result: { response: { port: "Brest" }, usage }, success: true },
    wanted: wanted({ content: '{"port":"Brest"}' }),
  },
  {
    name: "parallel tool calls",
    settings,
    request: { ...hello, tools: [tool], tool_choice: "auto" },
    sent: { body: { messages, tools: [tool] } },
    answer: { result: { response: null, tool_calls: calls, usage }, success: true },
    wanted: wanted({ content: null, tool_calls: unifiedCalls }, "tool_calls"),
  },
  {
    name: "a response in the newer form",
    settings,
    request: hello,
    answer: {
      result: { id: "cf-1", created: 9, choices: [{ message: { content: "Six." }, finish_reason: "length" }], usage },
    },
    wanted: { ...wanted({ content: "Six." }, "length"), id: "cf-1", created: 9 },
  },
  {
    name: "a stream of text",
    settings,
    request: { ...hello, stream: true },
    sent: { body: { messages, stream: true } },
    stream: sse({ response: "Tide", p: "ab" }, { response: " – ☂." }, { response: "", usage }),
    chunks: [chunk({ role: "assistant", content: "Tide" }), chunk({ content: " – ☂." }), chunk({}, "stop")],
    usage,
  },
  {
    name: "a stream of parallel tool calls",
    settings,
    request: { ...hello, stream: true },
    stream: sse({ response: "", tool_calls: calls.slice(0, 1) }, { tool_calls: calls.slice(1), usage }),
    chunks: [
      chunk({ role: "assistant", content: "", tool_calls: [{ index: 0, ...unifiedCalls[0] }] }),
      chunk({ tool_calls: [{ index: 1, ...unifiedCalls[1] }] }),
      chunk({}, "tool_calls"),
    ],
  },
  {
    name: "a stream in the newer form, with reasoning",
    settings,
    strict: false,
    request: { ...hello, stream: true },
    stream: sse(
      openaiChunk({ role: "assistant", reasoning_content: "Hm." }),
      openaiChunk({ content: "Six." }),
      openaiChunk({}, "stop"),
      { ...openaiChunk({}), choices: [], usage },
    ),
    chunks: [
      openaiChunk({ role: "assistant", content: "", reasoning_content: "Hm." }),
      openaiChunk({ content: "Six." }),
      openaiChunk({}, "stop"),
    ],
    usage,
  },
  {
    name: "a required tool call",
    settings,
    request: { ...hello, tools: [tool], tool_choice: "required" },
    refused: /required tool calls/,
  },
  { name: "n", settings, request: { ...hello, n: 2 }, refused: /one choice/ },
  {
    name: "a model that changes the path",
    settings,
    request: { ...hello, model: "@cf/../../x" },
    sent: { path: "" },
    refused: /Invalid model/,
  },
  {
    name: "text completions",
    operation: "complete",
    settings,
    request: { model, prompt: "Hello", max_tokens: 4, suffix: "x" },
    sent: { path, body: { prompt: "Hello", max_tokens: 4 } },
    dropped: ["suffix"],
    answer: jsonFixture("workers-ai", "chat.json"),
    wanted: {
      id: "chatcmpl-workers-ai",
      object: "text_completion",
      created: 0,
      model,
      choices: [{ index: 0, text: "The harbour opens at six.", logprobs: null, finish_reason: "stop" }],
      usage,
    },
  },
  {
    name: "a stream of a text completion",
    operation: "complete",
    settings,
    request: { model, prompt: "Hello", stream: true },
    stream: sse({ response: "Six" }),
    chunks: [
      ["Six", null],
      ["", "stop"],
    ].map(([text, finish_reason]) => ({
      id: "chatcmpl-workers-ai",
      object: "text_completion",
      created: 0,
      model,
      choices: [{ index: 0, text, logprobs: null, finish_reason }],
    })),
  },
  {
    name: "embeddings",
    operation: "embed",
    settings,
    request: { model: "@cf/baai/bge-m3", input: "harbour", dimensions: 3 },
    sent: { path: "/@cf/baai/bge-m3", body: { text: ["harbour"] } },
    dropped: ["dimensions"],
    answer: { result: { shape: [1, 2], data: [[0.1, 0.2]] }, success: true },
    wanted: {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.1, 0.2] }],
      model: "@cf/baai/bge-m3",
      usage: { prompt_tokens: 0, total_tokens: 0 },
    },
  },
]);

await testCalls("workers-ai", [
  {
    name: "is called with its account and model in the path",
    headers: { "x-gateway-workers-ai-account-id": "acc0" },
    body: hello,
    url: `https://api.cloudflare.com/client/v4/accounts/acc0/ai/run${path}`,
    sent: { authorization: "Bearer provider-key" },
  },
  { name: "needs an account", body: hello, refused: /x-gateway-workers-ai-account-id/ },
  {
    name: "rejects an account that changes the path",
    headers: { "x-gateway-workers-ai-account-id": "../x" },
    body: hello,
    refused: /x-gateway-workers-ai-account-id/,
  },
]);
