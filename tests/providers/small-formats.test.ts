import { ai21 } from "../../src/providers/ai21/mod.ts";
import { bytez } from "../../src/providers/bytez/mod.ts";
import { predibase } from "../../src/providers/predibase/mod.ts";
import { reka } from "../../src/providers/reka-ai/mod.ts";
import { triton } from "../../src/providers/triton/mod.ts";
import { type ConformanceCase, testConformance } from "../conformance/suite.ts";
import { testCalls } from "../support/provider-calls.ts";

const messages = [{ role: "user", content: "Hello" }];
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const tools = [{ type: "function", function: { name: "tide_table" } }];
const schema = { type: "json_schema", json_schema: { schema: {} } };
const wanted = (model: string, id: string, created: number, text = "Six.") => ({
  id,
  object: "chat.completion",
  created,
  model,
  choices: [{ index: 0, message: { role: "assistant", content: text }, logprobs: null, finish_reason: "stop" }],
});
const textWanted = (model: string, id: string, finish_reason = "stop") => ({
  id,
  object: "text_completion",
  created: 0,
  model,
  choices: [{ index: 0, text: "Six.", logprobs: null, finish_reason }],
});
const openaiAnswer = { ...wanted("x", "c-1", 9), usage };
const openaiStream = `${[
  { id: "c-1", created: 9, choices: [{ index: 0, delta: { role: "assistant", content: "Six." } }] },
  { id: "c-1", created: 9, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage },
]
  .map((event) => `data: ${JSON.stringify(event)}\n\n`)
  .join("")}data: [DONE]\n\n`;
const openaiChunks = (model: string) =>
  [
    [{ role: "assistant", content: "Six." }, null],
    [{}, "stop"],
  ].map(([delta, finish_reason]) => ({
    id: "c-1",
    object: "chat.completion.chunk",
    created: 9,
    model,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  }));

/** Fields that providers in OpenAI's form have in common. */
const openaiCases = (model: string, path: string, sentModel = model, extra: object = {}): ConformanceCase[] => [
  {
    name: "text",
    request: { model, messages, ...extra, max_completion_tokens: 4, top_k: 2 },
    sent: { path, body: { model: sentModel, messages, max_tokens: 4, top_k: 2 } },
    answer: openaiAnswer,
    wanted: { ...wanted(model, "c-1", 9), usage },
  },
  {
    name: "a stream",
    request: { model, messages, ...extra, stream: true },
    sent: { body: { model: sentModel, messages, stream: true, stream_options: { include_usage: true } } },
    stream: openaiStream,
    chunks: openaiChunks(model),
    usage,
  },
];

testConformance(reka, openaiCases("reka-flash", "/chat/completions"));
await testCalls("reka-ai", [
  {
    name: "takes its key in both headers",
    url: "https://api.reka.ai/v1/chat/completions",
    sent: { authorization: "Bearer provider-key", "x-api-key": "provider-key" },
  },
]);

testConformance(predibase, [
  ...openaiCases("llama-3:my-adapter/2", "/t-1/deployments/v2/llms/llama-3/v1/chat/completions", "my-adapter/2", {
    user: "t-1",
  }),
  {
    name: "a model without adapter, a tenant that needs encoding",
    request: { model: "llama/3", messages, user: "a/b" },
    sent: {
      path: "/a%2Fb/deployments/v2/llms/llama%2F3/v1/chat/completions",
      body: { model: "", messages },
    },
    answer: openaiAnswer,
    wanted: { ...wanted("llama/3", "c-1", 9), usage },
  },
  { name: "n", request: { model: "m", messages, user: "t", n: 2 }, refused: /one choice/ },
]);
await testCalls("predibase", [
  { name: "needs a tenant", refused: /tenant/ },
  {
    name: "rejects a tenant that changes the path",
    body: { model: "m", messages, user: ".." },
    refused: /Invalid user/,
  },
]);

testConformance(ai21, [
  ...openaiCases("jamba-large", "/chat/completions"),
  { name: "chat with a Jurassic model", request: { model: "j2-ultra", messages }, refused: /use a Jamba model/ },
  {
    name: "embeddings",
    operation: "embed",
    request: { model: "j2-embed", input: "harbour", type: "query" },
    sent: { path: "/embed", body: { texts: ["harbour"], type: "query" } },
    answer: { id: "e", results: [{ embedding: [0.1] }] },
    wanted: {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.1] }],
      model: "j2-embed",
      usage: { prompt_tokens: 0, total_tokens: 0 },
    },
  },
]);

testConformance(bytez, [
  {
    name: "text",
    request: { model: "org/model", messages, max_tokens: 5, temperature: 0.5, user: "u" },
    sent: { path: "/org/model", body: { messages, params: { temperature: 0.5, max_new_tokens: 5 } } },
    dropped: ["user"],
    answer: { error: null, output: { role: "assistant", content: [{ type: "text", text: "Six." }] } },
    wanted: wanted("org/model", "chatcmpl-bytez", 0),
  },
  {
    name: "text without metadata",
    request: { model: "org/model", messages, stream: false },
    sent: { body: { messages } },
    answer: { output: "Six." },
    wanted: wanted("org/model", "chatcmpl-bytez", 0),
  },
  { name: "tools", request: { model: "m", messages, tools }, refused: /does not support tools/ },
  { name: "a stream", request: { model: "m", messages, stream: true }, refused: /does not support streaming/ },
  { name: "a schema", request: { model: "m", messages, response_format: schema }, refused: /format/ },
]);
await testCalls("bytez", [
  {
    name: "takes its key after a custom prefix",
    body: { model: "org/model", messages },
    url: "https://api.bytez.com/models/v2/org/model",
    sent: { authorization: "Key provider-key" },
  },
]);

testConformance(triton, [
  {
    name: "text completions",
    operation: "complete",
    request: { model: "ensemble", prompt: "Hello", temperature: 0, stop: ["END"], echo: false, user: "u" },
    sent: {
      path: "/generate",
      body: { text_input: "Hello", max_tokens: 100, temperature: 0, top_p: 0.7, top_k: 50, stop_words: ["END"] },
    },
    dropped: ["echo", "user"],
    answer: { model_name: "ensemble", text_output: "Six." },
    wanted: textWanted("ensemble", "chatcmpl-triton"),
  },
  {
    name: "a stream",
    operation: "complete",
    request: { model: "m", prompt: "a", stream: true },
    refused: /does not support streaming/,
  },
  { name: "several prompts", operation: "complete", request: { model: "m", prompt: ["a"] }, refused: /single string/ },
]);
await testCalls("triton", [
  {
    name: "is called at the caller's host",
    path: "/completions",
    headers: { "x-gateway-custom-host": "https://triton.example.com/v2/models/ensemble" },
    body: { model: "m", prompt: "a" },
    url: "https://triton.example.com/v2/models/ensemble/generate",
  },
]);
