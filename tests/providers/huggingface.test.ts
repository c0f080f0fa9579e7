import { huggingface } from "../../src/providers/huggingface/mod.ts";
import { testConformance } from "../conformance/suite.ts";
import { testCalls } from "../support/provider-calls.ts";

const hello = { model: "example/model:fastest", messages: [{ role: "user", content: "Hello" }] };
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const chunk = (id: string, delta: object, finish_reason: string | null = null) => ({
  id,
  object: "chat.completion.chunk",
  created: 5,
  model: hello.model,
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
});
const calls = [
  { id: "0", type: "function", function: { name: "tide_table", arguments: '{"port":"Brest"}' } },
  { id: "1", type: "function", function: { name: "wind_speed", arguments: "{}" } },
];
const wanted = (message: object, finish_reason: string) => ({
  id: "hf-1",
  object: "chat.completion",
  created: 5,
  model: hello.model,
  choices: [{ index: 0, message: { role: "assistant", ...message }, logprobs: null, finish_reason }],
  usage,
});
const reply = (message: object, finish_reason: string) => ({
  id: "hf-1",
  created: 5,
  model: "example/model",
  choices: [{ index: 0, message, finish_reason }],
  usage,
});

testConformance(huggingface, [
  {
    name: "text",
    request: { ...hello, max_completion_tokens: 5, own_member: 1 },
    sent: { path: "/v1/chat/completions", body: { ...hello, max_tokens: 5, own_member: 1 } },
    answer: reply({ role: "assistant", content: "Six." }, "eos_token"),
    wanted: wanted({ content: "Six." }, "stop"),
  },
  {
    name: "calls whose arguments are objects",
    request: { ...hello, tools: [{ type: "function", function: { name: "tide_table" } }], tool_choice: "required" },
    sent: {
      body: { ...hello, tools: [{ type: "function", function: { name: "tide_table" } }], tool_choice: "required" },
    },
    answer: reply(
      {
        content: null,
        tool_calls: [
          { id: "0", type: "function", function: { name: "tide_table", arguments: { port: "Brest" } } },
          { id: "1", type: "function", function: { name: "wind_speed", arguments: null } },
        ],
      },
      "stop",
    ),
    wanted: wanted({ content: null, tool_calls: calls }, "tool_calls"),
  },
  {
    name: "a stream whose chunks have different ids",
    request: { ...hello, stream: true },
    sent: { body: { ...hello, stream: true, stream_options: { include_usage: true } } },
    stream: [
      `data: ${JSON.stringify(chunk("a", { role: "assistant", content: "Six" }))}\n\n`,
      "event: ping\ndata: \n\n: comment\n\n",
      `data: ${JSON.stringify(chunk("b", { content: " – ☂." }))}\n\n`,
      `data: ${JSON.stringify({ ...chunk("c", {}, "eos_token"), usage })}\n\ndata: [DONE]\n\n`,
    ].join(""),
    chunks: [
      chunk("a", { role: "assistant", content: "Six" }),
      chunk("a", { content: " – ☂." }),
      chunk("a", {}, "stop"),
    ],
    usage,
  },
]);

await testCalls("huggingface", [
  {
    name: "is called at its router",
    url: "https://router.huggingface.co/v1/chat/completions",
    sent: { authorization: "Bearer provider-key" },
  },
  {
    name: "is called at a dedicated endpoint",
    headers: { "x-gateway-huggingface-base-url": "https://endpoint.example.com/v1/" },
    url: "https://endpoint.example.com/v1/chat/completions",
  },
  {
    name: "is not called at a private address",
    headers: { "x-gateway-huggingface-base-url": "http://10.0.0.1" },
    refused: /host/,
  },
  {
    name: "is not called at a URL with a query",
    headers: { "x-gateway-huggingface-base-url": "https://endpoint.example.com/?a=" },
    refused: /x-gateway-huggingface-base-url/,
  },
]);
