import assert from "node:assert/strict";
import { test } from "node:test";
import { UpstreamError } from "../../src/errors.ts";
import { oracle } from "../../src/providers/oracle/mod.ts";
import { testConformance } from "../conformance/suite.ts";

const settings = { "oracle-compartment-id": "ocid1.compartment.oc1..aa" };
const model = "cohere.command-a-reasoning";
const place = {
  compartmentId: "ocid1.compartment.oc1..aa",
  servingMode: { servingType: "ON_DEMAND", modelId: model },
};
const parameters = { type: "object", properties: { port: { type: "string" } } };
const tool = { type: "function", function: { name: "tide_table", description: "Tides", parameters, strict: true } };
const usage = { promptTokens: 17, completionTokens: 7, totalTokens: 24 };
const counted = {
  prompt_tokens: 17,
  completion_tokens: 7,
  total_tokens: 24,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
};
const hello = { model, messages: [{ role: "user", content: "When?" }] };
const answerOf = (message: object, finishReason: string) => ({
  modelId: model,
  modelVersion: "1",
  chatResponse: { apiFormat: "COHEREV2", id: "r-1", message: { role: "ASSISTANT", ...message }, finishReason, usage },
});
const wantedOf = (message: object, finish_reason: string) => ({
  id: "r-1",
  object: "chat.completion",
  created: 0,
  model,
  usage: counted,
  choices: [{ index: 0, message: { role: "assistant", ...message }, logprobs: null, finish_reason }],
});
const events = (...list: object[]) => list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const said = (message: object) => ({ apiFormat: "COHEREV2", message: { role: "ASSISTANT", ...message } });
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "chatcmpl-oracle",
  object: "chat.completion.chunk",
  created: 0,
  model,
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
});
const callOf = (id: string, port: string) => ({
  id,
  type: "FUNCTION",
  function: { name: "tide_table", arguments: `{"port":"${port}"}` },
});

testConformance(oracle, [
  {
    name: "text, with a rich request",
    settings,
    request: {
      model,
      messages: [
        { role: "developer", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "When?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
          ],
        },
        { role: "assistant", content: null, tool_calls: [{ ...callOf("c1", "Brest"), type: "function" }] },
        { role: "tool", tool_call_id: "c1", content: "06:00" },
      ],
      tools: [tool],
      tool_choice: "required",
      max_tokens: 9,
      temperature: 0.3,
      top_p: 0.5,
      top_k: 4,
      seed: 1,
      stop: "END",
      frequency_penalty: 0.1,
      presence_penalty: 0.2,
      safety_mode: "STRICT",
      user: "u",
      thinking: { type: "enabled", budget_tokens: 64 },
      response_format: { type: "json_schema", json_schema: { schema: { type: "object" } } },
    },
    sent: {
      path: "/20231130/actions/chat",
      body: {
        ...place,
        chatRequest: {
          apiFormat: "COHEREV2",
          messages: [
            { role: "SYSTEM", content: [{ type: "TEXT", text: "Be brief." }] },
            {
              role: "USER",
              content: [
                { type: "TEXT", text: "When?" },
                { type: "IMAGE_URL", imageUrl: { url: "data:image/png;base64,AAAA", detail: "low" } },
              ],
            },
            { role: "ASSISTANT", content: [], toolCalls: [callOf("c1", "Brest")] },
            { role: "TOOL", content: [{ type: "TEXT", text: "06:00" }], toolCallId: "c1" },
          ],
          tools: [{ type: "FUNCTION", function: { name: "tide_table", description: "Tides", parameters } }],
          isStrictToolsEnabled: true,
          toolsChoice: "REQUIRED",
          maxTokens: 9,
          temperature: 0.3,
          topP: 0.5,
          topK: 4,
          seed: 1,
          stopSequences: ["END"],
          frequencyPenalty: 0.1,
          presencePenalty: 0.2,
          safetyMode: "STRICT",
          thinking: { type: "ENABLED", tokenBudget: 64 },
          isStream: false,
          responseFormat: { type: "JSON_OBJECT", schema: { type: "object" } },
        },
      },
    },
    dropped: ["user"],
    answer: answerOf(
      {
        content: [
          { type: "THINKING", thinking: "Usual." },
          { type: "TEXT", text: "At six." },
        ],
      },
      "STOP_SEQUENCE",
    ),
    wanted: wantedOf({ content: "At six." }, "stop"),
  },
  {
    name: "text, not strict, of a model whose format the settings set",
    settings: { ...settings, "oracle-api-format": "COHEREV2", "oracle-serving-mode": "DEDICATED" },
    strict: false,
    request: { ...hello, model: "ocid1.endpoint" },
    sent: {
      body: {
        compartmentId: place.compartmentId,
        servingMode: { servingType: "DEDICATED", endpointId: "ocid1.endpoint" },
        chatRequest: {
          apiFormat: "COHEREV2",
          isStream: false,
          messages: [{ role: "USER", content: [{ type: "TEXT", text: "When?" }] }],
        },
      },
    },
    answer: answerOf(
      {
        content: [
          { type: "THINKING", thinking: "Usual." },
          { type: "TEXT", text: "At six." },
        ],
        toolPlan: "plan",
        citations: [{ start: 0 }],
      },
      "MAX_TOKENS",
    ),
    wanted: wantedOf(
      {
        content: "At six.",
        reasoning_content: "Usual.",
        tool_plan: "plan",
        citations: [{ start: 0 }],
        content_blocks: [
          { type: "thinking", thinking: "Usual." },
          { type: "text", text: "At six." },
        ],
      },
      "length",
    ),
  },
  {
    name: "parallel tools",
    settings,
    request: { ...hello, tools: [tool] },
    answer: answerOf({ content: [], toolCalls: [callOf("c1", "Brest"), callOf("c2", "Roscoff")] }, "TOOL_CALL"),
    wanted: wantedOf(
      {
        content: null,
        tool_calls: [callOf("c1", "Brest"), callOf("c2", "Roscoff")].map((call) => ({ ...call, type: "function" })),
      },
      "tool_calls",
    ),
  },
  {
    name: "streamed text, not strict; the last event repeats it",
    settings,
    strict: false,
    request: { ...hello, stream: true },
    stream: events(
      said({ content: [{ type: "THINKING", thinking: "Usual." }] }),
      said({ content: [{ type: "TEXT", text: "At" }] }),
      said({ content: [{ type: "TEXT", text: " six." }] }),
      { ...said({ content: [{ type: "TEXT", text: "At six." }] }), finishReason: "COMPLETE" },
      { usage },
    ),
    chunks: [
      chunk({ role: "assistant", content: "", reasoning_content: "Usual." }),
      chunk({ content: "At" }),
      chunk({ content: " six." }),
      chunk({}, "stop"),
    ],
    usage: counted,
  },
  {
    name: "streamed tools",
    settings,
    request: { ...hello, stream: true, tools: [tool] },
    stream: events(
      said({ toolCalls: [{ id: "c1", type: "FUNCTION", function: { name: "tide_table", arguments: "" } }] }),
      said({ toolCalls: [{ function: { arguments: '{"port":' } }] }),
      said({ toolCalls: [{ function: { arguments: '"Brest"}' } }] }),
      said({ toolCalls: [{ id: "c2", type: "FUNCTION", function: { name: "clock", arguments: {} } }] }),
      { ...said({ toolCalls: [callOf("c1", "Brest")] }), finishReason: "TOOL_CALL" },
    ),
    chunks: [
      chunk({
        role: "assistant",
        content: "",
        tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "tide_table", arguments: "" } }],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"port":' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '"Brest"}' } }] }),
      chunk({ tool_calls: [{ index: 1, id: "c2", type: "function", function: { name: "clock", arguments: "{}" } }] }),
      chunk({}, "tool_calls"),
    ],
  },
  { name: "several choices", settings, request: { ...hello, n: 2 }, refused: /one choice/ },
  {
    name: "embeddings",
    operation: "embed",
    settings,
    request: {
      model,
      input: ["harbour", "tide"],
      dimensions: 256,
      encoding_format: "base64",
      user: "u",
      input_type: "search_query",
      truncate: "end",
    },
    sent: {
      path: "/20231130/actions/embedText",
      body: {
        ...place,
        inputs: ["harbour", "tide"],
        inputType: "SEARCH_QUERY",
        truncate: "END",
        outputDimensions: 256,
      },
    },
    dropped: ["user"],
    answer: { id: "e-1", embeddings: [[1, -0.5], [0.5]], modelId: model, modelVersion: "1" },
    wanted: {
      object: "list",
      model,
      usage: { prompt_tokens: 0, total_tokens: 0 },
      data: [
        { object: "embedding", index: 0, embedding: "AACAPwAAAL8=" },
        { object: "embedding", index: 1, embedding: "AAAAPw==" },
      ],
    },
  },
  {
    name: "an image to embed",
    operation: "embed",
    settings,
    request: { model, input: [{ image: { base64: "iVBORw==" } }] },
    sent: { body: { ...place, inputs: ["data:image/png;base64,iVBORw=="], inputType: "IMAGE" } },
    answer: { embeddings: [[1]], usage: { promptTokens: 3, totalTokens: 3 } },
    wanted: {
      object: "list",
      model,
      usage: { prompt_tokens: 3, total_tokens: 3 },
      data: [{ object: "embedding", index: 0, embedding: [1] }],
    },
  },
  {
    name: "tokens to embed",
    operation: "embed" as const,
    settings,
    request: { model, input: [1] },
    refused: /lists of tokens/,
  },
]);

const bound = oracle.bind((name) => Reflect.get(settings, name) ?? null);
const options = { strict: true, drop: () => {} };

for (const [one, format] of [
  ["cohere.command-a-vision", "COHEREV2"],
  ["cohere.command-a-03-2025", "COHERE"],
  ["cohere.command-r-plus-08-2024", "COHERE"],
  ["meta.llama-3.3-70b-instruct", "GENERIC"],
] as const) {
  test(`oracle uses the format ${format} for ${one}`, () => {
    const sent = bound.operations.chat?.toUpstream?.({ ...hello, model: one }, options);
    assert.equal(Object(sent).chatRequest.apiFormat, format);
  });
}

test("oracle failures inside a stream keep their status and message", () => {
  const mapper = bound.operations.chat?.streamMapper?.(hello, options);
  const map = (event: object) => () => mapper?.map({ event: "", data: JSON.stringify(event) });
  const isFailure = (status: number, text: RegExp) => (error: unknown) =>
    error instanceof UpstreamError && error.status === status && text.test(error.message);
  assert.throws(map({ code: 429, message: "fixture: slow down" }), isFailure(429, /slow down/));
  assert.throws(map({ errorMessage: "fixture: broke" }), isFailure(502, /broke/));
});

test("oracle splits embedding inputs into several calls", () => {
  const { split } = bound.operations.embed ?? {};
  const input = Array.from({ length: 97 }, () => "a");
  assert.deepEqual(
    split?.({ model, input })?.map((part) => part.input.length),
    [96, 1],
  );
});
