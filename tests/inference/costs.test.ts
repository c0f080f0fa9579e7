import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { costOfBatchLine } from "../../src/inference/call/cost.ts";
import { createPriceList } from "../../src/pricing/own-prices.ts";
import { call, done } from "../support/control.ts";
import {
  createTestGateway,
  type HeaderChanges,
  listLogs,
  requestHeaders,
  type ShownLog,
  type TestGateway,
  waitForLog,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

/** The upstream's response to the current request. */
interface Canned {
  status?: number;
  type?: string;
  /** JSON, or a string sent as it is. */
  body: unknown;
}

let canned: Canned = { body: {} };
/** What it sends before that. */
const failures: Canned[] = [];
let upstream: RecordingUpstream;
let gateway: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream((_, response) => {
    const { status = 200, type = "application/json", body } = failures.shift() ?? canned;
    response.writeHead(status, { "content-type": type });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  gateway = await createTestGateway();
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const messages = [{ role: "user", content: "Hello" }];
const events = (...data: readonly object[]) => data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
const typed = (...data: readonly { type: string }[]) =>
  data.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join("");

const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
const chatAnswer = (usage: object | undefined, model = "gpt-4o-2024-08-06") => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model,
  choices,
  ...(usage && { usage }),
});
const chunk = (delta: object, finish: string | null = null) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "gpt-4o",
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const chatStream = (usage: object) =>
  `${events(chunk({ role: "assistant", content: "Hi" }), chunk({}, "stop"), {
    ...chunk({}),
    choices: [],
    usage,
  })}data: [DONE]\n\n`;
const chatUsage = {
  prompt_tokens: 100,
  completion_tokens: 10,
  total_tokens: 110,
  prompt_tokens_details: { cached_tokens: 40 },
};
/** 60 at 2,500 nano-dollars, 40 at 1,250, 10 at 10,000. */
const chatNanos = 300_000;

const messageUsage = {
  input_tokens: 10,
  cache_read_input_tokens: 20,
  cache_creation_input_tokens: 30,
  output_tokens: 5,
  cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
  server_tool_use: { web_search_requests: 0 },
};
/** Of claude-sonnet-4-5: 3, 0.3, 3.75 and 15 dollars, 6 for an hour of caching. */
const messageNanos = 10 * 3_000 + 20 * 300 + 10 * 3_750 + 20 * 6_000 + 5 * 15_000;
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  stop_sequence: null,
};
const messageStream = typed(
  {
    type: "message_start",
    message: { ...message, content: [], stop_reason: null, usage: { ...messageUsage, output_tokens: 1 } },
  } as { type: string },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } } as { type: string },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } } as { type: string },
  { type: "content_block_stop", index: 0 } as { type: string },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } } as { type: string },
  { type: "message_stop" },
);
const units = { cache_write_1h: 20 };
const messagesBody = { model: "claude-sonnet-4-5", max_tokens: 10, messages };

const responseObject = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "gpt-5-2025-08-07",
  error: null,
  incomplete_details: null,
  output: [
    {
      type: "message",
      id: "m",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "Hi", annotations: [] }],
    },
  ],
  usage: {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 0 },
    total_tokens: 150,
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 40 },
  },
};
const responseStream = typed(
  {
    type: "response.created",
    sequence_number: 0,
    response: { ...responseObject, status: "in_progress", output: [], usage: null },
  } as { type: string },
  { type: "response.completed", sequence_number: 1, response: responseObject } as { type: string },
);
const responseNanos = 100 * 1_250 + 50 * 10_000;

const embeddings = {
  object: "list",
  model: "text-embedding-3-small",
  data: [{ object: "embedding", index: 0, embedding: [0.5] }],
  usage: { prompt_tokens: 7, total_tokens: 7 },
};
const geminiAnswer = (promptTokenCount: number) => ({
  candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP", index: 0 }],
  usageMetadata: { promptTokenCount, candidatesTokenCount: 10, totalTokenCount: promptTokenCount + 10 },
  modelVersion: "gemini-2.5-pro",
});

interface Case {
  name: string;
  provider?: string;
  path?: string;
  headers?: HeaderChanges;
  body: object;
  answer: Canned;
  status?: number;
  /** Nano-dollars. */
  nanos: number | null;
  units?: Record<string, number>;
}
const eventStream = "text/event-stream";
const speech = { model: "tts-1", input: "Grüße 👋", voice: "alloy" };
const azure = { "x-gateway-azure-resource-name": "r", "x-gateway-azure-api-version": "v1" };

/** 60 tokens of input, 40 from a cache and 10 of output at the price of a service tier. */
function tierCases(): Case[] {
  const chatOf = (model: string, tier: string) => ({ ...chatAnswer(chatUsage, model), service_tier: tier });
  const body = { model: "gpt-5", messages };
  const standard = 60 * 1_250 + 40 * 125 + 10 * 10_000;
  const tierStream = chatStream(chatUsage).replaceAll('"model":', '"service_tier":"flex","model":');
  const event = (type: string, tier: string) => ({ type, response: { ...responseObject, service_tier: tier } });
  const responseTiers = typed(event("response.created", "auto"), event("response.completed", "priority"));
  return [
    { name: "flex processing", body, answer: { body: chatOf("gpt-5", "flex") }, nanos: standard / 2 },
    { name: "priority processing", body, answer: { body: chatOf("gpt-5", "priority") }, nanos: standard * 2 },
    { name: "the default tier", body, answer: { body: chatOf("gpt-5", "default") }, nanos: standard },
    {
      name: "a tier the request asked for and the response does not name",
      body: { ...body, service_tier: "flex" },
      answer: { body: chatOf("gpt-5", "default") },
      nanos: standard,
    },
    {
      name: "a tier without prices",
      body: { model: "gpt-4o", messages },
      answer: { body: chatOf("gpt-4o", "flex") },
      nanos: chatNanos,
    },
    {
      name: "a streamed chat of flex processing",
      body: { ...body, stream: true },
      answer: { type: eventStream, body: tierStream },
      nanos: standard / 2,
    },
    {
      name: "a streamed response of priority processing",
      path: "/v1/responses",
      body: { model: "gpt-5", input: "Hello", stream: true },
      answer: { type: eventStream, body: responseTiers },
      nanos: responseNanos * 2,
    },
    {
      name: "a message of a tier without prices",
      provider: "anthropic",
      path: "/v1/messages",
      body: messagesBody,
      answer: { body: { ...message, usage: { ...messageUsage, service_tier: "priority" } } },
      nanos: messageNanos,
      units,
    },
  ];
}

/** Searches of providers that bill search units and report none. */
function rerankCases(): Case[] {
  const documents = Array.from({ length: 101 }, (_, index) => `document ${index}`);
  const path = "/v1/rerank";
  const headers = {
    "x-gateway-aws-access-key-id": "AKIDEXAMPLE",
    "x-gateway-aws-secret-access-key": "example",
    "x-gateway-aws-region": "us-east-1",
  };
  const bedrock = {
    provider: "bedrock",
    path,
    headers,
    answer: { body: { results: [{ index: 0, relevanceScore: 0.5 }] } },
  };
  const ranked = { body: { records: [{ id: "0", score: 0.5 }] } };
  const vertex = { provider: "vertex-ai", path, headers: { "x-gateway-vertex-project-id": "p" }, answer: ranked };
  return [
    {
      ...bedrock,
      name: "a search on Bedrock",
      body: { model: "amazon.rerank-v1:0", query: "q", documents: documents.slice(0, 100) },
      nanos: 1_000_000,
      units: { search_units: 1 },
    },
    {
      ...bedrock,
      name: "a search of 101 documents on Bedrock",
      body: { model: "cohere.rerank-v3-5:0", query: "q", documents },
      nanos: 4_000_000,
      units: { search_units: 2 },
    },
    {
      ...vertex,
      name: "a search on Vertex AI",
      body: { model: "semantic-ranker-default@latest", query: "q", documents },
      nanos: 2_000_000,
      units: { search_units: 2 },
    },
  ];
}

/** Responses whose provider ran built-in tools. */
function toolCases(): Case[] {
  const search = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "q" } };
  const code = { type: "code_interpreter_call", status: "completed", container_id: "cntr_1" };
  const output = [
    search,
    { ...search, id: "ws_2", action: { type: "open_page", url: "https://example.com" } },
    { ...search, id: "ws_3", status: "failed" },
    // an older form
    { type: "web_search_call", id: "ws_4", status: "completed" },
    { type: "file_search_call", id: "fs_1", status: "completed", queries: ["q"], results: null },
    { ...code, id: "ci_1" },
    { ...code, id: "ci_2" },
    ...responseObject.output,
  ];
  const response = { ...responseObject, output };
  const found = {
    path: "/v1/responses",
    nanos: responseNanos + 2 * 10_000_000 + 2_500_000,
    units: { web_search: 2, file_search: 1, code_interpreter: 1 },
  };
  const stream = typed({ type: "response.completed", sequence_number: 0, response } as { type: string });
  return [
    { ...found, name: "a response with tools", body: { model: "gpt-5", input: "Hello" }, answer: { body: response } },
    {
      ...found,
      name: "a streamed response with tools",
      body: { model: "gpt-5", input: "Hello", stream: true },
      answer: { type: eventStream, body: stream },
    },
  ];
}

const cases: Case[] = [
  {
    name: "a chat with a cache",
    body: { model: "gpt-4o", messages },
    answer: { body: chatAnswer(chatUsage) },
    nanos: chatNanos,
  },
  {
    name: "a streamed chat",
    body: { model: "gpt-4o", messages, stream: true },
    answer: { type: eventStream, body: chatStream(chatUsage) },
    nanos: chatNanos,
  },
  {
    name: "a chat with sound",
    body: { model: "gpt-4o-audio-preview", messages },
    answer: {
      body: chatAnswer({
        prompt_tokens: 30,
        completion_tokens: 40,
        total_tokens: 70,
        prompt_tokens_details: { audio_tokens: 20 },
        completion_tokens_details: { audio_tokens: 35 },
      }),
    },
    nanos: 10 * 2_500 + 20 * 100_000 + 5 * 10_000 + 35 * 200_000,
  },
  ...tierCases(),
  ...rerankCases(),
  ...toolCases(),
  {
    name: "a chat of an unknown model",
    body: { model: "no-such-model", messages },
    answer: { body: chatAnswer(chatUsage, "neither") },
    nanos: null,
  },
  {
    name: "a chat of a model only its answer names",
    body: { model: "my-alias", messages },
    answer: { body: chatAnswer(chatUsage) },
    nanos: chatNanos,
  },
  {
    name: "a streamed chat of a model only its answer names",
    body: { model: "my-alias", messages, stream: true },
    answer: { type: eventStream, body: chatStream(chatUsage) },
    nanos: chatNanos,
  },
  {
    name: "a chat of a router",
    provider: "azure-openai",
    headers: azure,
    body: { model: "model-router", messages },
    answer: { body: chatAnswer({ prompt_tokens: 100, completion_tokens: 1, total_tokens: 101 }, "gpt-5-2025-08-07") },
    nanos: 100 * 1_250 + 10_000 + 100 * 140,
  },
  {
    name: "a chat that tells no usage",
    body: { model: "gpt-4o", messages },
    answer: { body: chatAnswer(undefined) },
    nanos: 0,
  },
  {
    name: "a chat that failed",
    body: { model: "gpt-4o", messages },
    answer: { status: 500, body: { error: { message: "no" } } },
    status: 500,
    nanos: 0,
  },
  { name: "a chat the gateway refuses", body: { model: "gpt-4o" }, answer: { body: {} }, status: 400, nanos: 0 },
  {
    name: "a short prompt",
    provider: "google",
    body: { model: "gemini-2.5-pro", messages },
    answer: { body: geminiAnswer(128_000) },
    nanos: 128_000 * 1_250 + 10 * 10_000,
  },
  {
    name: "a long prompt",
    provider: "google",
    body: { model: "gemini-2.5-pro", messages },
    answer: { body: geminiAnswer(128_001) },
    nanos: 128_001 * 2_500 + 10 * 15_000,
  },
  {
    name: "a message",
    provider: "anthropic",
    path: "/v1/messages",
    body: messagesBody,
    answer: { body: { ...message, usage: messageUsage } },
    nanos: messageNanos,
    units,
  },
  {
    name: "a streamed message",
    provider: "anthropic",
    path: "/v1/messages",
    body: { ...messagesBody, stream: true },
    answer: { type: eventStream, body: messageStream },
    nanos: messageNanos,
    units,
  },
  {
    name: "a chat over messages",
    provider: "anthropic",
    body: messagesBody,
    answer: { body: { ...message, usage: messageUsage } },
    nanos: messageNanos,
    units,
  },
  {
    name: "a message over a chat",
    path: "/v1/messages",
    body: { ...messagesBody, model: "gpt-4o" },
    answer: { body: chatAnswer(chatUsage) },
    nanos: chatNanos,
  },
  {
    name: "counted tokens",
    provider: "anthropic",
    path: "/v1/messages/count_tokens",
    body: { model: "claude-sonnet-4-5", messages },
    answer: { body: { input_tokens: 12 } },
    nanos: 0,
  },
  {
    name: "a response",
    path: "/v1/responses",
    body: { model: "gpt-5", input: "Hello" },
    answer: { body: responseObject },
    nanos: responseNanos,
  },
  {
    name: "a streamed response",
    path: "/v1/responses",
    body: { model: "gpt-5", input: "Hello", stream: true },
    answer: { type: eventStream, body: responseStream },
    nanos: responseNanos,
  },
  {
    name: "a picture in a chat",
    provider: "google",
    body: { model: "gemini-2.5-flash-image", messages },
    answer: {
      body: {
        ...geminiAnswer(100),
        usageMetadata: {
          promptTokenCount: 100,
          candidatesTokenCount: 1_300,
          candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1_290 }],
        },
      },
    },
    nanos: 100 * 300 + 10 * 2_500 + 1_290 * 30_000,
    units: { image_output_tokens: 1_290 },
  },
  {
    name: "contents",
    provider: "google",
    path: "/v1beta/models/gemini-2.5-pro:generateContent",
    body: { contents: [{ role: "user", parts: [{ text: "Hello" }] }] },
    answer: { body: geminiAnswer(128_001) },
    nanos: 128_001 * 2_500 + 10 * 15_000,
  },
  {
    name: "contents over a chat with sound",
    path: "/v1beta/models/gpt-4o-audio-preview:generateContent",
    body: { contents: [{ role: "user", parts: [{ text: "Hello" }] }] },
    answer: {
      body: chatAnswer({
        prompt_tokens: 30,
        completion_tokens: 40,
        total_tokens: 70,
        prompt_tokens_details: { audio_tokens: 20 },
      }),
    },
    nanos: 10 * 2_500 + 20 * 100_000 + 40 * 10_000,
  },
  {
    name: "contents that are embedded by way of embeddings",
    path: "/v1beta/models/text-embedding-3-small:embedContent",
    body: { content: { parts: [{ text: "Hello" }] } },
    answer: { body: embeddings },
    nanos: 140,
  },
  {
    name: "counted contents",
    provider: "google",
    path: "/v1beta/models/gemini-2.5-pro:countTokens",
    body: { contents: [{ role: "user", parts: [{ text: "Hello" }] }] },
    answer: { body: { totalTokens: 12 } },
    nanos: 0,
  },
  {
    name: "a message that searched the web",
    provider: "anthropic",
    path: "/v1/messages",
    body: messagesBody,
    answer: {
      body: {
        ...message,
        usage: { input_tokens: 10, output_tokens: 5, server_tool_use: { web_search_requests: 2 } },
      },
    },
    nanos: 10 * 3_000 + 5 * 15_000 + 2 * 10_000_000,
    units: { web_search: 2 },
  },
  {
    name: "embeddings",
    path: "/v1/embeddings",
    body: { model: "text-embedding-3-small", input: "Hello" },
    answer: {
      body: {
        object: "list",
        model: "text-embedding-3-small",
        data: [{ object: "embedding", index: 0, embedding: [0.5] }],
        usage: { prompt_tokens: 7, total_tokens: 7 },
      },
    },
    nanos: 140,
  },
  {
    name: "a search",
    provider: "cohere",
    path: "/v1/rerank",
    body: { model: "rerank-v3.5", query: "q", documents: ["a"] },
    answer: {
      body: { id: "1", results: [{ index: 0, relevance_score: 0.5 }], meta: { billed_units: { search_units: 1 } } },
    },
    nanos: 2_000_000,
    units: { search_units: 1 },
  },
  {
    name: "pages",
    provider: "mistral-ai",
    path: "/v1/ocr",
    body: { model: "mistral-ocr-latest", document: { type: "document_url", document_url: "data:," } },
    answer: {
      body: { pages: [{ index: 0, markdown: "" }], model: "mistral-ocr-latest", usage_info: { pages_processed: 2 } },
    },
    nanos: 8_000_000,
    units: { pages: 2 },
  },
  {
    name: "pictures",
    path: "/v1/images/generations",
    body: { model: "dall-e-3", prompt: "p", quality: "hd", size: "1024x1792" },
    answer: { body: { created: 1, data: [{ url: "https://example.com/1" }, { url: "https://example.com/2" }] } },
    nanos: 240_000_000,
    units: { images: 2 },
  },
  {
    name: "a picture whose answer tells what it is",
    path: "/v1/images/generations",
    body: { model: "gpt-image-1", prompt: "p" },
    answer: {
      body: {
        created: 1,
        data: [{ b64_json: "AA==" }],
        quality: "low",
        size: "1024x1024",
        usage: {
          input_tokens: 50,
          output_tokens: 272,
          total_tokens: 322,
          input_tokens_details: { text_tokens: 10, image_tokens: 40 },
        },
      },
    },
    nanos: 11_000_000 + 40 * 10_000,
    units: { images: 1, image_input_tokens: 40 },
  },
  {
    name: "speech",
    path: "/v1/audio/speech",
    body: speech,
    answer: { type: "audio/mpeg", body: "sound" },
    nanos: 7 * 15_000,
    units: { characters: 7 },
  },
  {
    name: "speech of a model that counts tokens",
    path: "/v1/audio/speech",
    body: { ...speech, model: "gpt-4o-mini-tts" },
    answer: { type: "audio/mpeg", body: "sound" },
    nanos: null,
    units: { characters: 7 },
  },
  {
    name: "the provider the gateway is",
    provider: "echo",
    body: { model: "echo-1", messages },
    answer: { body: {} },
    nanos: 0,
  },
];

async function rowOf(response: Response): Promise<ShownLog> {
  await response.arrayBuffer();
  return waitForLog(gateway, response.headers.get("x-gateway-trace-id") ?? "");
}

/** Both forms of a row have the same cost. */
async function checkCost(row: ShownLog, nanos: number | null): Promise<void> {
  const { data } = await listLogs(gateway, `trace_id=${row.trace_id}`);
  for (const one of [row, data[0]]) {
    const cost = nanos === null ? null : nanos / 1e7;
    assert.deepEqual([one?.cost, one?.cost_currency, one?.priced], [cost, "USD", cost !== null]);
  }
}

function headersOf({ provider = "openai", headers = {} }: Partial<Case>): HeaderChanges {
  return {
    "x-gateway-provider": provider,
    authorization: "Bearer upstream-key",
    ...(provider !== "echo" && { "x-gateway-custom-host": `${upstream.url}/v1` }),
    ...headers,
  };
}

for (const one of cases) {
  test(`the cost of ${one.name}`, async () => {
    canned = one.answer;
    const response = await gateway.fetch(one.path ?? "/v1/chat/completions", {
      method: "POST",
      headers: requestHeaders(headersOf(one)),
      body: JSON.stringify(one.body),
    });
    assert.equal(response.status, one.status ?? 200);
    const row = await rowOf(response);
    await checkCost(row, one.nanos);
    assert.deepEqual(row.usage?.units, one.units);
  });
}

for (const [name, fields, headers, answer, nanos, seconds] of [
  ["a duration", {}, {}, { body: { text: "Hi", usage: { type: "duration", seconds: 12.5 } } }, 1_250_000, 12.5],
  [
    "the length as a text",
    { response_format: "verbose_json" },
    {},
    { body: { text: "Hi", language: "en", duration: "3.32" } },
    332_000,
    3.32,
  ],
  [
    "what the client says",
    { response_format: "text" },
    { "audio-file-duration": "1500" },
    { type: "text/plain", body: "Hi" },
    150_000,
    1.5,
  ],
  ["nothing", { response_format: "text" }, {}, { type: "text/plain", body: "Hi" }, 0, undefined],
] as const) {
  test(`the cost of a transcription by ${name}`, async () => {
    canned = answer;
    const form = new FormData();
    form.set("model", "whisper-1");
    for (const [field, value] of Object.entries(fields)) form.set(field, value);
    form.set("file", new Blob(["sound"]), "a.mp3");
    const sent = requestHeaders(headersOf({ headers }));
    sent.delete("content-type");
    const response = await gateway.fetch("/v1/audio/transcriptions", { method: "POST", headers: sent, body: form });
    assert.equal(response.status, 200, await response.clone().text());
    const row = await rowOf(response);
    await checkCost(row, nanos);
    assert.equal(Object(row.usage?.units).seconds, seconds);
  });
}

/** An integration with custom prices, and a provider of the same name. */
async function createPriced(slug: string, { models, multiplier }: { models?: readonly object[]; multiplier?: object }) {
  const options = { key: workspaceKey };
  const body = {
    name: slug,
    slug,
    ai_provider_id: "openai",
    key: "fake-stored-credential-1234567890",
    configurations: { custom_host: `${upstream.url}/v1` },
    create_default_provider: true,
    default_provider_slug: `${slug}-provider`,
    ...(multiplier && { pricing_adjustments: { multiplier } }),
  };
  await done(call(gateway, "POST /integrations", { ...options, body }));
  if (models) await done(call(gateway, `PUT /integrations/${slug}/models`, { ...options, body: { models } }));
}

async function costOfStored(slug: string, model = "gpt-4o"): Promise<number | null> {
  canned = { body: chatAnswer(chatUsage, "neither") };
  const headers = requestHeaders({ "x-gateway-provider": `@${slug}-provider` });
  const body = JSON.stringify({ model, messages });
  const response = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body });
  assert.equal(response.status, 200);
  return (await rowOf(response)).cost;
}

const cents = (price: number) => ({ price });
const ownModel = (slug: string, prices?: object, more: object = {}) => ({
  slug,
  enabled: true,
  is_custom: true,
  ...(prices && { pricing_config: { type: "static", pay_as_you_go: prices } }),
  ...more,
});

for (const [name, slug, settings, model, nanos] of [
  [
    "own prices win over the list's",
    "own",
    { models: [ownModel("gpt-4o", { request_token: cents(0.0001), response_token: cents(0.0002) })] },
    "gpt-4o",
    100 * 1_000 + 10 * 2_000,
  ],
  [
    "a model the list does not have",
    "custom",
    {
      models: [
        ownModel("in-house", {
          request_token: cents(0.00025),
          cache_read_input_token: cents(0.00001),
          additional_units: { web_search: cents(1) },
          fixed_cost: { request: cents(0.5) },
        }),
      ],
    },
    "in-house",
    60 * 2_500 + 40 * 100 + 5_000_000,
  ],
  [
    "the model it is made of",
    "tuned",
    { models: [ownModel("tuned-1", undefined, { base_model_slug: "gpt-4o" })] },
    "tuned-1",
    chatNanos,
  ],
  ["a factor on all", "all", { multiplier: { default: 1.1 } }, "gpt-4o", 330_000],
  [
    "a factor of its own",
    "kinds",
    { multiplier: { default: 2, response_token: 0.5 } },
    "gpt-4o",
    2 * (60 * 2_500 + 40 * 1_250) + 50_000,
  ],
  [
    "a factor and a price",
    "both",
    {
      models: [ownModel("gpt-4o", { request_token: cents(0.0001) })],
      multiplier: { request_token: 1.15, cache_read_input_token: 0 },
    },
    "gpt-4o",
    60 * 1_150,
  ],
  ["no price", "none", { models: [ownModel("in-house")] }, "in-house", null],
] as const) {
  test(`the cost by an integration's prices: ${name}`, async () => {
    await createPriced(slug, settings);
    assert.equal(await costOfStored(slug, model), nanos === null ? null : nanos / 1e7);
  });
}

test("the cost of a request follows a change of an integration's prices", async () => {
  await createPriced("changing", { models: [ownModel("m", { request_token: cents(0.0001) })] });
  assert.equal(await costOfStored("changing", "m"), 0.01);
  const models = [ownModel("m", { request_token: cents(0.0002) })];
  await done(call(gateway, "PUT /integrations/changing/models", { key: workspaceKey, body: { models } }));
  assert.equal(await costOfStored("changing", "m"), 0.02);
});

test("the cost of a request is at the prices of the target that responded", async () => {
  await createPriced("dear", { models: [ownModel("gpt-4o", { request_token: cents(1) })] });
  canned = { body: chatAnswer(chatUsage) };
  const listed = { provider: "openai", api_key: "upstream-key", custom_host: `${upstream.url}/v1` };
  const costOf = async (...targets: readonly object[]) => {
    const config = { strategy: { mode: "fallback", on_status_codes: [500] }, targets };
    const headers = requestHeaders({ "x-gateway-provider": null, "x-gateway-config": JSON.stringify(config) });
    const body = JSON.stringify({ model: "gpt-4o", messages });
    const response = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body });
    assert.equal(response.status, 200, await response.clone().text());
    return (await rowOf(response)).cost;
  };
  const failure = { status: 500, body: { error: { message: "no" } } };
  failures.push(failure);
  assert.equal(await costOf(listed, { provider: "@dear-provider" }), 100);
  failures.push(failure);
  assert.equal(await costOf({ provider: "@dear-provider" }, listed), chatNanos / 1e7);
});

for (const [name, usage, model, nanos] of [
  ["a chat at half the price", chatUsage, "gpt-4o-audio-preview", 100 * 1_250 + 10 * 5_000],
  ["a chat at its own price", chatUsage, "gpt-4o", 60 * 1_250 + 40 * 625 + 10 * 5_000],
  ["a response", responseObject.usage, "gpt-4o", 100 * 1_250 + 50 * 5_000],
  ["an unknown model", chatUsage, "no-such-model", undefined],
  ["no usage", null, "gpt-4o", undefined],
] as const) {
  test(`costOfBatchLine() of ${name}`, () => {
    assert.equal(costOfBatchLine(usage, { provider: "openai", model, answeredModel: null }), nanos);
  });
}

test("costOfBatchLine() of a message, and at an integration's prices", () => {
  const target = { provider: "anthropic", model: "claude-sonnet-4-5", answeredModel: null };
  assert.equal(costOfBatchLine(messageUsage, target), messageNanos / 2);
  const prices = createPriceList({
    provider: "openai",
    models: new Map(),
    adjustments: { multiplier: { default: 3 } },
  });
  assert.equal(
    costOfBatchLine(chatUsage, { ...target, provider: "openai", model: "gpt-4o", prices }),
    3 * (chatNanos / 2),
  );
});

test("GET /v1/logs shows the costs of requests", async () => {
  const rows = await waitForLogs(gateway, "provider=echo");
  assert.ok(rows.every(({ cost, cost_currency }) => cost === 0 && cost_currency === "USD"));
});
