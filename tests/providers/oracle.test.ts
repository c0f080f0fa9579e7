import assert from "node:assert/strict";
import { test } from "node:test";
import { UpstreamError } from "../../src/errors.ts";
import { oracle } from "../../src/providers/oracle/mod.ts";
import { fixture, testConformance } from "../conformance/suite.ts";

const settings = { "oracle-compartment-id": "ocid1.compartment.oc1..aa" };
const base = { compartmentId: "ocid1.compartment.oc1..aa" };
const llama = "meta.llama-3.3-70b-instruct";
const request = { model: llama, messages: [{ role: "user", content: "When?" }] };
const onDemand = { servingMode: { servingType: "ON_DEMAND", modelId: llama } };
const user = { role: "USER", content: [{ type: "TEXT", text: "When?" }] };
const parameters = {
  type: "object",
  properties: { port: { type: "string", description: "Port" } },
  required: ["port"],
};
const tool = { type: "function", function: { name: "tide_table", description: "Tides", parameters } };

const answerOf = (message: object, finishReason: string) => ({
  modelId: llama,
  modelVersion: "1",
  chatResponse: {
    apiFormat: "GENERIC",
    timeCreated: "2026-09-21T14:13:20.000Z",
    choices: [{ index: 0, message: { role: "ASSISTANT", ...message }, finishReason }],
    usage: {
      promptTokens: 17,
      completionTokens: 7,
      totalTokens: 24,
      promptTokensDetails: { cachedTokens: 4 },
      completionTokensDetails: { reasoningTokens: 3 },
    },
  },
});
const wantedOf = (message: object, reason: string) => ({
  id: "chatcmpl-oracle",
  object: "chat.completion",
  created: 1_790_000_000,
  model: llama,
  choices: [{ index: 0, message: { role: "assistant", ...message }, logprobs: null, finish_reason: reason }],
  usage: {
    prompt_tokens: 17,
    completion_tokens: 7,
    total_tokens: 24,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 3 },
  },
});
const text = answerOf({ content: [{ type: "TEXT", text: "At six." }], reasoningContent: "Usual." }, "stop");
const chunkOf =
  (model: string) =>
  (delta: object, reason: string | null = null) => ({
    id: "chatcmpl-oracle",
    object: "chat.completion.chunk",
    created: 0,
    model,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
  });
const chunk = chunkOf(llama);
const call = (index: number, args: string, start?: { id: string; name: string }) => ({
  tool_calls: [
    {
      index,
      ...(start && { id: start.id, type: "function" }),
      function: { ...(start && { name: start.name }), arguments: args },
    },
  ],
});

testConformance(oracle, [
  {
    name: "text, strict",
    settings,
    request: {
      ...request,
      max_tokens: 5,
      max_completion_tokens: 9,
      temperature: 0.2,
      top_p: 0.9,
      n: 2,
      seed: 3,
      stop: "END",
      reasoning_effort: "low",
      user: "u",
      response_format: { type: "text" },
    },
    sent: {
      path: "/20231130/actions/chat",
      body: {
        ...base,
        ...onDemand,
        chatRequest: {
          apiFormat: "GENERIC",
          messages: [user],
          maxCompletionTokens: 9,
          temperature: 0.2,
          topP: 0.9,
          numGenerations: 2,
          seed: 3,
          stop: ["END"],
          isStream: false,
          reasoningEffort: "LOW",
        },
      },
    },
    dropped: ["user"],
    answer: text,
    wanted: wantedOf({ content: "At six." }, "stop"),
  },
  {
    name: "text, not strict, from a dedicated endpoint",
    settings: { ...settings, "oracle-serving-mode": "DEDICATED", "oracle-api-version": "20250101" },
    strict: false,
    request: { ...request, model: "ocid1.endpoint" },
    sent: {
      path: "/20250101/actions/chat",
      body: {
        ...base,
        servingMode: { servingType: "DEDICATED", endpointId: "ocid1.endpoint" },
        chatRequest: { apiFormat: "GENERIC", messages: [user], isStream: false },
      },
    },
    answer: text,
    wanted: wantedOf({ content: "At six.", reasoning_content: "Usual." }, "stop"),
  },
  {
    name: "a conversation with tools",
    settings,
    request: {
      ...request,
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "What?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "low" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "tide_table", arguments: '{"port":"Brest"}' } }],
        },
        { role: "tool", tool_call_id: "c1", content: "6.1 m" },
      ],
      tools: [tool],
      tool_choice: { type: "function", function: { name: "tide_table" } },
      response_format: { type: "json_schema", json_schema: { name: "tide", schema: { type: "object" } } },
    },
    sent: {
      body: {
        ...base,
        ...onDemand,
        chatRequest: {
          apiFormat: "GENERIC",
          messages: [
            { role: "SYSTEM", content: [{ type: "TEXT", text: "Be brief." }] },
            {
              role: "USER",
              content: [
                { type: "TEXT", text: "What?" },
                { type: "IMAGE", imageUrl: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "LOW" } },
              ],
            },
            {
              role: "ASSISTANT",
              content: [],
              toolCalls: [{ type: "FUNCTION", id: "c1", name: "tide_table", arguments: '{"port":"Brest"}' }],
            },
            { role: "TOOL", content: [{ type: "TEXT", text: "6.1 m" }], toolCallId: "c1" },
          ],
          isStream: false,
          tools: [{ type: "FUNCTION", name: "tide_table", description: "Tides", parameters }],
          toolChoice: { type: "FUNCTION", name: "tide_table" },
          responseFormat: { type: "JSON_SCHEMA", jsonSchema: { name: "tide", schema: { type: "object" } } },
        },
      },
    },
    answer: answerOf(
      {
        toolCalls: [
          { id: "c2", type: "FUNCTION", name: "tide_table", arguments: '{"port":"Roscoff"}' },
          { id: "c3", type: "FUNCTION", name: "clock", arguments: "{}" },
        ],
      },
      "tool_calls",
    ),
    wanted: wantedOf(
      {
        content: null,
        tool_calls: [
          { id: "c2", type: "function", function: { name: "tide_table", arguments: '{"port":"Roscoff"}' } },
          { id: "c3", type: "function", function: { name: "clock", arguments: "{}" } },
        ],
      },
      "tool_calls",
    ),
  },
  {
    name: "streamed text, not strict",
    settings,
    strict: false,
    request: { ...request, stream: true },
    sent: {
      body: {
        ...base,
        ...onDemand,
        chatRequest: {
          apiFormat: "GENERIC",
          messages: [user],
          isStream: true,
          streamOptions: { isIncludeUsage: true },
        },
      },
    },
    stream: fixture("oracle", "stream.sse"),
    chunks: [
      chunk({ role: "assistant", content: "Tide" }),
      chunk({ content: " rises – 3 m ☂.", reasoning_content: "Six." }),
      chunk({}, "stop"),
    ],
    usage: {
      prompt_tokens: 21,
      completion_tokens: 9,
      total_tokens: 30,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 2 },
    },
  },
  {
    name: "streamed tools",
    settings,
    request: { ...request, stream: true },
    stream: fixture("oracle", "stream-tools.sse"),
    chunks: [
      chunk({ role: "assistant", content: "", ...call(0, "", { id: "c1", name: "tide_table" }) }),
      chunk(call(0, '{"port":')),
      chunk(call(0, '"Brest"}')),
      chunk(call(1, "{}", { id: "call_1", name: "clock" })),
      chunk({}, "tool_calls"),
    ],
  },
  {
    name: "parts it does not support",
    settings,
    request: { ...request, messages: [{ role: "user", content: [{ type: "file", file: {} }] }] },
    refused: /does not take file/,
  },
  { name: "no compartment", request, refused: /x-gateway-oracle-compartment-id/ },
]);

const command = "cohere.command-r-plus";
const cohere = { model: command, messages: [{ role: "user", content: "When?" }] };
const commandMode = { servingMode: { servingType: "ON_DEMAND", modelId: command } };
const cohereAnswer = (reply: object) => ({ modelId: command, chatResponse: { apiFormat: "COHERE", ...reply } });
const cohereWanted = (message: object, reason: string) => ({
  id: "chatcmpl-oracle",
  object: "chat.completion",
  created: 0,
  model: command,
  choices: [{ index: 0, message: { role: "assistant", ...message }, logprobs: null, finish_reason: reason }],
});
const commandChunk = chunkOf(command);
const made = { name: "tide_table", parameters: { port: "Brest" } };

testConformance(oracle, [
  {
    name: "text in Cohere's format",
    settings,
    request: {
      ...cohere,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hello" },
        { role: "assistant", content: "Hi." },
        { role: "user", content: "When?" },
      ],
      max_tokens: 5,
      stop: ["END"],
      logit_bias: { 1: 2 },
      response_format: { type: "json_object" },
    },
    sent: {
      body: {
        ...base,
        ...commandMode,
        chatRequest: {
          apiFormat: "COHERE",
          message: "When?",
          preambleOverride: "Be brief.",
          maxTokens: 5,
          chatHistory: [
            { role: "USER", message: "Hello" },
            { role: "CHATBOT", message: "Hi." },
          ],
          stopSequences: ["END"],
          isStream: false,
          responseFormat: { type: "JSON_OBJECT" },
        },
      },
    },
    dropped: ["logit_bias"],
    answer: cohereAnswer({ text: "At six.", finishReason: "MAX_TOKENS" }),
    wanted: cohereWanted({ content: "At six." }, "length"),
  },
  {
    name: "tools in Cohere's format",
    settings,
    request: {
      ...cohere,
      messages: [
        { role: "user", content: "When?" },
        {
          role: "assistant",
          content: "Look.",
          tool_calls: [
            { id: "call_0", type: "function", function: { name: "tide_table", arguments: '{"port":"Brest"}' } },
          ],
        },
        { role: "tool", tool_call_id: "call_0", content: "6.1 m" },
      ],
      tools: [tool],
      tool_choice: "auto",
    },
    sent: {
      body: {
        ...base,
        ...commandMode,
        chatRequest: {
          apiFormat: "COHERE",
          message: "",
          isStream: false,
          chatHistory: [
            { role: "USER", message: "When?" },
            { role: "CHATBOT", message: "Look.", toolCalls: [made] },
          ],
          toolResults: [{ call: made, outputs: [{ result: "6.1 m" }] }],
          tools: [
            {
              name: "tide_table",
              description: "Tides",
              parameterDefinitions: { port: { type: "string", description: "Port", isRequired: true } },
            },
          ],
        },
      },
    },
    answer: cohereAnswer({ text: "", finishReason: "COMPLETE", toolCalls: [made, { name: "clock" }] }),
    wanted: cohereWanted(
      {
        content: null,
        tool_calls: [
          { id: "call_0", type: "function", function: { name: "tide_table", arguments: '{"port":"Brest"}' } },
          { id: "call_1", type: "function", function: { name: "clock", arguments: "{}" } },
        ],
      },
      "tool_calls",
    ),
  },
  {
    name: "streamed text in Cohere's format",
    settings,
    request: { ...cohere, stream: true },
    stream: fixture("oracle", "stream-cohere.sse"),
    chunks: [
      commandChunk({ role: "assistant", content: "Tide" }),
      commandChunk({ content: " rises – 3 m ☂." }),
      commandChunk({}, "stop"),
    ],
  },
  {
    name: "streamed tools in Cohere's format",
    settings,
    request: { ...cohere, stream: true },
    stream: fixture("oracle", "stream-cohere-tools.sse"),
    chunks: [
      commandChunk({ role: "assistant", content: "I look." }),
      commandChunk({
        tool_calls: [
          { index: 0, id: "call_0", type: "function", function: { name: "tide_table", arguments: '{"port":"Brest"}' } },
          { index: 1, id: "call_1", type: "function", function: { name: "clock", arguments: "{}" } },
        ],
      }),
      commandChunk({}, "tool_calls"),
    ],
  },
  {
    name: "a forced tool in Cohere's format",
    settings,
    request: { ...cohere, tools: [tool], tool_choice: "required" },
    refused: /choose tools themselves/,
  },
  { name: "several choices in Cohere's format", settings, request: { ...cohere, n: 2 }, refused: /returns one choice/ },
]);

for (const model of [llama, command]) {
  test(`oracle throws an error inside a stream of ${model}`, () => {
    const adapter = oracle.bind(() => null).operations.chat;
    const mapper = adapter?.streamMapper?.({ ...request, model }, { strict: true, drop() {} });
    const event = { event: "", data: '{"code":"429","message":"slow down"}' };
    assert.throws(
      () => mapper?.map(event),
      (error) => error instanceof UpstreamError && error.status === 429,
    );
  });
}
