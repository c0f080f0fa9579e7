import assert from "node:assert/strict";
import { test } from "node:test";
import { UpstreamError } from "../../src/errors.ts";
import { vertexAi } from "../../src/providers/vertex-ai/mod.ts";
import { fixture, jsonFixture, testConformance } from "../conformance/suite.ts";

const settings = { "vertex-project-id": "p", "vertex-region": "europe-west4" };
const place = "projects/p/locations/europe-west4";
const model = "gemini-2.5-flash";
const messages = [{ role: "user", content: "Hello" }];
const contents = [{ role: "user", parts: [{ text: "Hello" }] }];
const created = Date.UTC(2026, 2, 4, 10) / 1000;
const usage = (prompt: number, completion: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
});
const chunk = (delta: object, finish: string | null = null) => ({
  id: "chatcmpl-fxVtxStr01",
  object: "chat.completion.chunk",
  created,
  model,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
});
const odds = (token: string, logprob: number) => ({ token, logprob, bytes: null });
const openAnswer = {
  id: "x",
  object: "chat.completion",
  created: 1,
  model: "meta/llama",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
};
const openChunk = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: "x",
  object: "chat.completion.chunk",
  created: 1,
  model: "meta/llama",
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
/** A response or chunk of Mistral's models, which is read as one of Mistral's own. */
const asMistral = <One extends { choices: object[] }>(model: string, one: One) => ({
  ...one,
  model,
  choices: one.choices.map((choice) => ({ ...choice, logprobs: null })),
});
const counts = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const toEvents = (...values: object[]) =>
  [...values.map((value) => JSON.stringify(value)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");

testConformance(vertexAi, [
  {
    name: "Gemini, a text",
    settings,
    request: {
      model: `google.${model}`,
      messages,
      labels: { team: "Blue Team" },
      service_tier: "flex",
      metadata: { "User Id": " U/7 ", empty: " ", deep: {} },
    },
    sent: {
      path: `/v1/${place}/publishers/google/models/${model}:generateContent`,
      body: { contents, labels: { user_id: "u_7", team: "blue_team" } },
    },
    answer: jsonFixture("vertex-ai", "chat.json"),
    wanted: {
      id: "chatcmpl-fxVtxChat01",
      object: "chat.completion",
      created,
      model,
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "The harbour opens at six." },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: usage(17, 7),
    },
  },
  {
    name: "Gemini, a tool call without an id",
    settings,
    request: { model, messages },
    answer: jsonFixture("vertex-ai", "tool-call.json"),
    wanted: {
      id: "chatcmpl-fxVtxTool01",
      object: "chat.completion",
      created: 0,
      model,
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: null,
            tool_calls: [
              {
                id: "call_fxVtxTool01_0_0",
                type: "function",
                function: { name: "tide_table", arguments: '{"port":"Brest"}' },
              },
            ],
          },
          logprobs: null,
          finish_reason: "tool_calls",
        },
      ],
      usage: usage(62, 9),
    },
  },
  {
    name: "Gemini, log probabilities",
    settings,
    request: { model, messages, logprobs: true },
    answer: jsonFixture("vertex-ai", "chat-logprobs.json"),
    wanted: {
      id: "*",
      object: "*",
      created: "*",
      model: "*",
      usage: "*",
      choices: [
        {
          index: 0,
          message: "*",
          finish_reason: "stop",
          logprobs: {
            content: [{ ...odds("Yes", -0.0101), top_logprobs: [odds("Yes", -0.0101), odds("No", -4.61)] }],
            refusal: null,
          },
        },
      ],
    },
  },
  {
    name: "Gemini, a streamed text",
    settings,
    request: { model, messages, stream: true },
    sent: { path: `/v1/${place}/publishers/google/models/${model}:streamGenerateContent?alt=sse`, body: { contents } },
    stream: fixture("vertex-ai", "stream.sse"),
    chunks: [chunk({ role: "assistant", content: "Tide" }), chunk({ content: " rises – 3 m ☂." }), chunk({}, "stop")],
    usage: usage(21, 9),
  },
  {
    name: "Gemini without a project",
    request: { model, messages },
    sent: { path: `/v1/publishers/google/models/${model}:generateContent` },
    answer: jsonFixture("vertex-ai", "chat.json"),
    wanted: "*",
  },
  {
    name: "Llama",
    settings,
    request: {
      model: "meta.llama-4-maverick",
      max_completion_tokens: 5,
      top_k: 3,
      n: 1,
      messages: [
        { role: "developer", content: "Be brief." },
        { ...messages[0], content_blocks: [] },
      ],
    },
    sent: {
      path: `/v1beta1/${place}/endpoints/openapi/chat/completions`,
      body: {
        model: "meta/llama-4-maverick",
        max_tokens: 5,
        top_k: 3,
        n: 1,
        messages: [{ role: "system", content: "Be brief." }, messages[0]],
      },
    },
    answer: openAnswer,
    wanted: openAnswer,
  },
  {
    name: "an open model, a streamed tool call",
    settings,
    request: { model: "qwen.qwen3-next", messages, stream: true },
    sent: {
      path: `/v1/${place}/endpoints/openapi/chat/completions`,
      body: { model: "qwen/qwen3-next", messages, stream: true, stream_options: { include_usage: true } },
    },
    stream: toEvents(
      openChunk({ role: "assistant", content: "" }, null, { usage: null }),
      openChunk({ tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } }] }),
      openChunk({}, "tool_calls"),
      openChunk({}, null, { choices: [], usage: counts }),
    ),
    chunks: [
      openChunk({ role: "assistant", content: "" }),
      openChunk({ tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } }] }),
      openChunk({}, "tool_calls"),
    ],
    usage: counts,
  },
  {
    name: "a deployed model",
    settings,
    request: { model: "endpoints.4567", messages },
    sent: { path: `/v1/${place}/endpoints/4567/chat/completions`, body: { model: "4567", messages } },
    answer: openAnswer,
    wanted: openAnswer,
  },
  {
    name: "Mistral",
    settings,
    request: {
      model: "mistralai.mistral-small-2503",
      messages,
      seed: 4,
      tool_choice: "required",
      logit_bias: {},
      user: "u",
    },
    sent: {
      path: `/v1/${place}/publishers/mistralai/models/mistral-small-2503:rawPredict`,
      body: { model: "mistral-small-2503", messages, random_seed: 4, tool_choice: "any" },
    },
    dropped: ["logit_bias", "user"],
    answer: openAnswer,
    wanted: asMistral("mistralai.mistral-small-2503", openAnswer),
  },
  {
    name: "Mistral, streamed",
    settings,
    request: { model: "mistralai.m", messages, stream: true },
    sent: {
      path: `/v1/${place}/publishers/mistralai/models/m:streamRawPredict`,
      body: { model: "m", messages, stream: true },
    },
    stream: toEvents(openChunk({ role: "assistant", content: "Hi" }), openChunk({}, "stop", { usage: counts })),
    chunks: [openChunk({ role: "assistant", content: "Hi" }), openChunk({}, "stop")].map((one) =>
      asMistral("mistralai.m", one),
    ),
    usage: counts,
  },
  {
    name: "Claude",
    settings,
    request: {
      model: "anthropic.claude-sonnet-4@20250514",
      messages,
      service_tier: "auto",
      anthropic_beta: ["web-search-2025-03-05", "unknown-2020-01-01"],
    },
    sent: {
      path: `/v1/${place}/publishers/anthropic/models/claude-sonnet-4%4020250514:rawPredict`,
      body: {
        messages,
        max_tokens: 8192,
        anthropic_version: "vertex-2023-10-16",
        anthropic_beta: ["web-search-2025-03-05"],
      },
    },
    dropped: ["anthropic_beta", "service_tier"],
    answer: jsonFixture("anthropic", "chat.json"),
    wanted: "*",
  },
  {
    name: "Claude with the betas of a client's header",
    settings,
    headers: { "anthropic-beta": "claude-code-20250219,context-1m-2025-08-07, advanced-tool-use-2025-11-20" },
    request: { model: "claude-sonnet-4-6", messages, anthropic_beta: ["context-1m-2025-08-07"] },
    sent: {
      body: {
        messages,
        max_tokens: 8192,
        anthropic_version: "vertex-2023-10-16",
        anthropic_beta: ["context-1m-2025-08-07", "tool-search-tool-2025-10-19"],
      },
    },
    dropped: ["anthropic-beta"],
    answer: jsonFixture("anthropic", "chat.json"),
    wanted: "*",
  },
  {
    name: "Gemini, which ignores the betas of a client's header",
    settings,
    headers: { "anthropic-beta": "context-1m-2025-08-07" },
    request: { model: "gemini-2.5-flash", messages: [{ role: "user", content: "Hello" }] },
    sent: { body: { contents: [{ role: "user", parts: [{ text: "Hello" }] }] } },
    answer: jsonFixture("vertex-ai", "chat.json"),
    wanted: "*",
  },
  {
    name: "Claude by its plain name, streamed",
    settings,
    request: { model: "claude-sonnet-4-6", messages, stream: true },
    sent: {
      path: `/v1/${place}/publishers/anthropic/models/claude-sonnet-4-6:streamRawPredict`,
      body: { messages, max_tokens: 8192, stream: true, anthropic_version: "vertex-2023-10-16" },
    },
    stream: `event: vertex_event\ndata: {"a":1}\n\n${fixture("anthropic", "stream.sse")}`,
    chunks: ["*", "*", "*", "*"],
    usage: "*",
  },
  { name: "an endpoint elsewhere", settings, request: { model: "endpoints..", messages }, refused: /endpoints\.<id>/ },
  {
    name: "embeddings of strings",
    operation: "embed",
    settings,
    request: {
      model: "text-embedding-005",
      input: ["a", { text: "b" }],
      dimensions: 3,
      task_type: "CLUSTERING",
      metadata: { a: "B" },
    },
    sent: {
      path: `/v1/${place}/publishers/google/models/text-embedding-005:predict`,
      body: {
        instances: ["a", "b"].map((content) => ({ content, task_type: "CLUSTERING" })),
        parameters: { outputDimensionality: 3 },
        labels: { a: "b" },
      },
    },
    answer: jsonFixture("vertex-ai", "embeddings.json"),
    wanted: {
      object: "list",
      data: [
        { object: "embedding", index: 0, embedding: [0.0123, -0.0456, 0.0789] },
        { object: "embedding", index: 1, embedding: [-0.0021, 0.0334, 0.0455] },
      ],
      model: "text-embedding-005",
      usage: { prompt_tokens: 9, total_tokens: 9 },
    },
  },
  {
    name: "embeddings of media",
    operation: "embed",
    settings,
    request: {
      model: "multimodalembedding@001",
      dimensions: 128,
      input: [
        {
          text: "harbour",
          image: { url: "gs://b/i.png" },
          video: { base64: "AAAA", start_offset: 0, end_offset: 16, interval: 8 },
        },
      ],
    },
    sent: {
      path: `/v1/${place}/publishers/google/models/multimodalembedding%40001:predict`,
      body: {
        instances: [
          {
            text: "harbour",
            image: { gcsUri: "gs://b/i.png" },
            video: {
              bytesBase64Encoded: "AAAA",
              videoSegmentConfig: { startOffsetSec: 0, endOffsetSec: 16, intervalSec: 8 },
            },
          },
        ],
        parameters: { dimension: 128 },
      },
    },
    answer: jsonFixture("vertex-ai", "embeddings-multimodal.json"),
    wanted: {
      object: "list",
      data: [
        {
          object: "embedding",
          index: 0,
          embedding: [0.01, 0.02, -0.03],
          image_embedding: [0.04, -0.05, 0.06],
          video_embeddings: [{ object: "embedding", embedding: [0.07, 0.08, 0.09], start_offset: 0, end_offset: 16 }],
        },
      ],
      model: "multimodalembedding@001",
      usage: { prompt_tokens: 0, total_tokens: 0 },
    },
  },
  {
    name: "an embedding of a newer model",
    operation: "embed",
    settings,
    request: {
      model: "gemini-embedding-2",
      dimensions: 4,
      input: [{ text: "a", image: { url: "gs://b/i.webp" }, video: { base64: "AAAA" } }],
    },
    sent: {
      path: `/v1/${place}/publishers/google/models/gemini-embedding-2:embedContent`,
      body: {
        content: {
          parts: [
            { text: "a" },
            { fileData: { mimeType: "image/webp", fileUri: "gs://b/i.webp" } },
            { inlineData: { mimeType: "video/mp4", data: "AAAA" } },
          ],
        },
        outputDimensionality: 4,
      },
    },
    answer: { embedding: { values: [1] }, usageMetadata: { promptTokenCount: 2 } },
    wanted: {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [1] }],
      model: "gemini-embedding-2",
      usage: { prompt_tokens: 2, total_tokens: 2 },
    },
  },
  {
    name: "a list of models",
    operation: "models",
    settings,
    request: {},
    sent: { path: "/v1beta1/publishers/google/models?pageSize=300" },
    answer: { publisherModels: [{ name: "publishers/google/models/gemini-2.5-pro" }] },
    wanted: { object: "list", data: [{ id: "gemini-2.5-pro", object: "model", created: 0, owned_by: "google" }] },
  },
]);

for (const [name, wanted] of [
  ["gemini-2.5-pro", "/publishers/google/models/gemini-2.5-pro:generateContent"],
  ["publishers/google/models/gemini-2.5-pro", "/publishers/google/models/gemini-2.5-pro:generateContent"],
  ["google/gemini-2.5-pro", "/publishers/google/models/gemini-2.5-pro:generateContent"],
  ["../../x", "/publishers/google/models/..%2F..%2Fx:generateContent"],
  ["deepseek-ai.deepseek-v3.1-maas", "/endpoints/openapi/chat/completions"],
  ["meta/llama-3.3-70b", "/endpoints/openapi/chat/completions"],
  ["endpoints/12", "/endpoints/12/chat/completions"],
] as const) {
  test(`vertex-ai finds the publisher of ${name}`, () => {
    const chat = vertexAi.bind((setting) => Reflect.get(settings, setting) ?? null).operations.chat;
    const path = chat?.path({ model: name, messages }) ?? "";
    assert.equal(path.replace(/^\/v1(?:beta1)?\//, ""), `${place}${wanted}`);
  });
}

test("vertex-ai uses the project of the service account", () => {
  const key = { client_email: "a@b", private_key: "k", project_id: "of-the-account" };
  const given = { ...settings, "vertex-service-account-json": JSON.stringify(key) };
  const bound = vertexAi.bind((name) => Reflect.get(given, name) ?? null);
  assert.match(bound.operations.chat?.path({ model, messages }) ?? "", /^\/v1\/projects\/of-the-account\//);
});

test("vertex-ai sends the priority of a request in headers", () => {
  const headers = (tier: string) =>
    vertexAi.bind(() => null).operations.chat?.headers?.({ model, messages, service_tier: tier }, {});
  assert.deepEqual(headers("dedicated"), { "x-vertex-ai-llm-request-type": "dedicated" });
  assert.deepEqual(headers("priority"), { "x-vertex-ai-llm-shared-request-type": "priority" });
  assert.deepEqual(headers("auto"), {});
});

test("vertex-ai throws the failure a stream of an open model reports", () => {
  const request = { model: "meta.llama", messages };
  const chat = vertexAi.bind((name) => Reflect.get(settings, name) ?? null).operations.chat;
  const mapper = chat?.streamMapper?.(request, { strict: true, drop: () => {} });
  const data = JSON.stringify([{ error: { code: 429, message: "fixture: slow", status: "RESOURCE_EXHAUSTED" } }]);
  assert.throws(
    () => mapper?.map({ event: "", data }),
    (error) => error instanceof UpstreamError && error.status === 429 && error.type === "RESOURCE_EXHAUSTED",
  );
});
