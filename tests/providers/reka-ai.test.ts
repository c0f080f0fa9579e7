import { reka } from "../../src/providers/reka-ai/mod.ts";
import { testConformance } from "../conformance/suite.ts";
import { testCalls } from "../support/provider-calls.ts";

const settings = { "reka-format": "conversation" };
const model = "reka-core";
const image = (url: string) => ({ type: "image_url", image_url: { url } });
const answer = {
  type: "model",
  text: "Six.",
  finish_reason: "stop",
  metadata: { input_tokens: 7, generated_tokens: 2 },
};
const wanted = {
  id: "chatcmpl-reka-ai",
  object: "chat.completion",
  created: 0,
  model,
  choices: [{ index: 0, message: { role: "assistant", content: "Six." }, logprobs: null, finish_reason: "stop" }],
  usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
};
const hello = { model, messages: [{ role: "user", content: "Hello" }] };

testConformance(reka, [
  {
    name: "alternating turns, with instructions and the image in the first",
    settings,
    request: {
      model,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "One" },
        { role: "user", content: [{ type: "text", text: "Two" }, image("https://example.com/a.png")] },
        { role: "assistant", content: "Yes" },
        { role: "assistant", content: "And" },
        { role: "user", content: "Three" },
      ],
      max_completion_tokens: 9,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      stop: "END",
      seed: 1,
      frequency_penalty: 0.1,
      presence_penalty: 0.2,
      use_search_engine: true,
      user: "u",
    },
    sent: {
      path: "/chat",
      body: {
        model_name: model,
        conversation_history: [
          { type: "human", text: "Be brief.\nOne", media_url: "https://example.com/a.png" },
          { type: "model", text: "Placeholder for alternation" },
          { type: "human", text: "Two" },
          { type: "model", text: "Yes" },
          { type: "human", text: "Placeholder for alternation" },
          { type: "model", text: "And" },
          { type: "human", text: "Three" },
        ],
        request_output_len: 9,
        temperature: 0.5,
        runtime_top_p: 0.9,
        runtime_top_k: 5,
        stop_words: ["END"],
        random_seed: 1,
        frequency_penalty: 0.1,
        presence_penalty: 0.2,
        use_search_engine: true,
      },
    },
    dropped: ["user"],
    answer,
    wanted,
  },
  {
    name: "a conversation that begins with the assistant",
    settings,
    request: { model, messages: [{ role: "assistant", content: "Ahoy" }] },
    sent: {
      body: {
        model_name: model,
        conversation_history: [
          { type: "human", text: "Placeholder for alternation" },
          { type: "model", text: "Ahoy" },
        ],
      },
    },
    answer: { ...answer, finish_reason: "context" },
    wanted: { ...wanted, choices: [{ ...wanted.choices[0], finish_reason: "length" }] },
  },
  {
    name: "features of the legacy API only",
    request: { ...hello, retrieval_dataset: "charts" },
    sent: {
      path: "/chat",
      body: {
        model_name: model,
        conversation_history: [{ type: "human", text: "Hello" }],
        retrieval_dataset: "charts",
      },
    },
    answer,
    wanted,
  },
  ...(
    [
      ["a stream", { stream: true }, /does not support streaming/],
      ["tools", { tools: [{ type: "function", function: { name: "a" } }] }, /does not support tools/],
      ["several choices", { n: 2 }, /one choice/],
      ["a schema", { response_format: { type: "json_schema", json_schema: { schema: {} } } }, /format/],
      ["two images", { messages: [{ role: "user", content: [image("a"), image("b")] }] }, /one image/],
      [
        "a tool's result",
        { messages: [{ role: "tool", tool_call_id: "c", content: "a" }] },
        /does not support the role tool/,
      ],
    ] as const
  ).map(([name, changes, refused]) => ({ name, settings, request: { ...hello, ...changes }, refused })),
]);

await testCalls("reka-ai", [
  {
    name: "is called outside its versions in the legacy form",
    headers: { "x-gateway-reka-format": "conversation" },
    body: hello,
    url: "https://api.reka.ai/chat",
    sent: { "x-api-key": "provider-key" },
  },
  {
    name: "supports two forms",
    headers: { "x-gateway-reka-format": "other" },
    body: hello,
    refused: /x-gateway-reka-format/,
  },
]);
