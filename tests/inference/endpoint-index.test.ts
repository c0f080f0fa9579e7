import assert from "node:assert/strict";
import { after, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type HeaderChanges, requestHeaders, workspaceKey } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport });
after(() => gateway.close());

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const choice = { index: 0, finish_reason: "stop", logprobs: null };
const message = { role: "assistant", content: "Hi" };
const chatAnswer = {
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "m",
  usage,
  choices: [{ ...choice, message }],
};
const textAnswer = { ...chatAnswer, object: "text_completion", choices: [{ ...choice, text: "Hi" }] };
const claudeAnswer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
};
const vectors = { object: "list", model: "m", data: [{ object: "embedding", index: 0, embedding: [1] }], usage };
const imageData = { created: 1, data: [{ b64_json: "iVBORw0KGgo=" }] };
const list = { object: "list", data: [], first_id: null, last_id: null, has_more: false };
const anthropic: HeaderChanges = { "x-gateway-provider": "anthropic" };
const prompt = { model: "m", messages: [{ role: "user", content: "Hello" }] };

const categories = [
  "hate",
  "hate/threatening",
  "harassment",
  "harassment/threatening",
  "self-harm",
  "self-harm/intent",
  "self-harm/instructions",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
];
const byCategory = (value: unknown) => Object.fromEntries(categories.map((name) => [name, value]));

/** A form with a file and a model, and further text fields. */
function form(file: string, members: Readonly<Record<string, string>> = {}): FormData {
  const data = new FormData();
  data.set(file, new Blob(["bytes"]), "file.bin");
  for (const [name, value] of Object.entries({ model: "m", ...members })) data.set(name, value);
  return data;
}

interface Call {
  route: string;
  /** Where the upstream is called; absent where the gateway responds itself. */
  upstream?: string;
  body?: object | FormData;
  headers?: HeaderChanges;
  answer?: object | string;
}

const openai = "https://api.openai.com/v1";

/** Endpoints whose requests are forwarded unchanged, with one response for all. */
const relayed = (routes: readonly string[], answer: object = list): Call[] =>
  routes.map((route) => {
    const [method = "", path = ""] = route.split(" ");
    return { route, upstream: openai + path.slice(3), answer, ...(method === "POST" && { body: { model: "m" } }) };
  });

/** A saved prompt for the request's provider. */
const saved = await done<{ id: string; slug: string }>(
  call(gateway, "POST /prompts", {
    key: workspaceKey,
    body: {
      name: "p",
      collection_id: await readDefaultCollection(),
      string: JSON.stringify(prompt.messages),
      parameters: {},
      virtual_key: "",
      model: "m",
    },
  }),
);

async function readDefaultCollection(): Promise<string> {
  const { data } = await done<{ data: { id: string }[] }>(call(gateway, "GET /collections", { key: workspaceKey }));
  return data[0]?.id ?? "";
}

const calls: readonly Call[] = [
  {
    route: `POST /v1/prompts/${saved.slug}/completions`,
    upstream: `${openai}/chat/completions`,
    body: { variables: {} },
    answer: chatAnswer,
  },
  { route: "POST /v1/chat/completions", upstream: `${openai}/chat/completions`, body: prompt, answer: chatAnswer },
  {
    route: "POST /v1/completions",
    upstream: `${openai}/completions`,
    body: { model: "m", prompt: "a" },
    answer: textAnswer,
  },
  {
    route: "POST /v1/messages",
    upstream: "https://api.anthropic.com/v1/messages",
    headers: anthropic,
    body: { ...prompt, max_tokens: 5 },
    answer: claudeAnswer,
  },
  {
    route: "POST /v1/messages",
    upstream: `${openai}/chat/completions`,
    body: { ...prompt, max_tokens: 5 },
    answer: chatAnswer,
  },
  {
    route: "POST /v1/messages/count_tokens",
    upstream: "https://api.anthropic.com/v1/messages/count_tokens",
    headers: anthropic,
    body: prompt,
    answer: { input_tokens: 3 },
  },
  {
    route: "POST /v1/complete",
    upstream: "https://api.anthropic.com/v1/complete",
    headers: anthropic,
    body: { model: "claude-2.1", prompt: "\n\nHuman: Hi\n\nAssistant:", max_tokens_to_sample: 5 },
    answer: { id: "c1", type: "completion", completion: "Hi", model: "claude-2.1", stop_reason: "stop_sequence" },
  },
  { route: "POST /v1/embeddings", upstream: `${openai}/embeddings`, body: { model: "m", input: "a" }, answer: vectors },
  {
    route: "POST /v1/rerank",
    upstream: "https://api.cohere.ai/v2/rerank",
    headers: { "x-gateway-provider": "cohere" },
    body: { model: "rerank-v3.5", query: "q", documents: ["a"] },
    answer: { id: "r1", results: [{ index: 0, relevance_score: 0.5 }] },
  },
  {
    route: "POST /v1/moderations",
    upstream: `${openai}/moderations`,
    body: { input: "a" },
    answer: {
      id: "m1",
      model: "m",
      results: [{ flagged: false, categories: byCategory(false), category_scores: byCategory(0) }],
    },
  },
  {
    route: "POST /v1/ocr",
    upstream: "https://api.mistral.ai/v1/ocr",
    headers: { "x-gateway-provider": "mistral-ai" },
    body: {
      model: "mistral-ocr-latest",
      document: { type: "document_url", document_url: "https://files.example/a.pdf" },
    },
    answer: {
      model: "mistral-ocr-latest",
      pages: [{ index: 0, markdown: "a", images: [] }],
      usage_info: { pages_processed: 1 },
    },
  },
  {
    route: "POST /v1/search",
    upstream: "https://api.tavily.com/search",
    headers: { "x-gateway-provider": "tavily" },
    body: { model: "basic", query: "a" },
    answer: { query: "a", results: [{ title: "A", url: "https://a.example", content: "a" }] },
  },
  {
    route: "POST /v1/decisions",
    upstream: "https://api.typesafe.ai/v1/systemone",
    headers: { "x-gateway-provider": "typesafe" },
    body: { model: "jev-latest", state: "s", questions: { open: { type: "noul", instructions: "Is it open?" } } },
    answer: { model: "jev-1.13.0", answers: { open: { type: "noul", noul: 0.5 } } },
  },
  {
    route: "POST /v1/images/generations",
    upstream: `${openai}/images/generations`,
    body: { model: "m", prompt: "a" },
    answer: imageData,
  },
  {
    route: "POST /v1/images/edits",
    upstream: `${openai}/images/edits`,
    body: form("image", { prompt: "a" }),
    answer: imageData,
  },
  {
    route: "POST /v1/images/variations",
    upstream: `${openai}/images/variations`,
    body: form("image"),
    answer: imageData,
  },
  {
    route: "POST /v1/audio/speech",
    upstream: `${openai}/audio/speech`,
    body: { model: "m", input: "a", voice: "v" },
    answer: "sound",
  },
  {
    route: "POST /v1/audio/transcriptions",
    upstream: `${openai}/audio/transcriptions`,
    body: form("file"),
    answer: { text: "a" },
  },
  {
    route: "POST /v1/audio/translations",
    upstream: `${openai}/audio/translations`,
    body: form("file"),
    answer: { text: "a" },
  },
  { route: "GET /v1/models", upstream: `${openai}/models`, answer: { object: "list", data: [] } },
  {
    route: "GET /v1/models/gpt-5.1",
    upstream: `${openai}/models/gpt-5.1`,
    answer: { id: "gpt-5.1", object: "model", created: 1, owned_by: "openai" },
  },
  {
    route: "DELETE /v1/models/ft:m",
    upstream: `${openai}/models/ft:m`,
    answer: { id: "ft:m", object: "model", deleted: true },
  },
  ...relayed(["GET /v1/assistants", "GET /v1/threads/t1/messages", "GET /v1/threads/t1/runs", "GET /v1/vector_stores"]),
  ...relayed(["GET /v1/videos", "GET /v1/vector_stores/v1/files"]),
  { route: "PUT /v1/anything/else", upstream: `${openai}/anything/else`, body: { a: 1 }, answer: { b: 2 } },
  { route: "DELETE /v1/anything/else", upstream: `${openai}/anything/else`, answer: { b: 2 } },
  {
    route: "POST /v1/messages/batches",
    upstream: "https://api.anthropic.com/v1/messages/batches",
    headers: anthropic,
    body: {},
    answer: {},
  },
];

/** Headers of every provider response. */
const reported = {
  "x-gateway-retry-attempt-count": "0",
  "x-gateway-cache-status": "DISABLED",
  "x-gateway-last-used-option-index": "config",
};

for (const { route, upstream, body, headers, answer = {} } of calls) {
  test(`${route} by ${headers?.["x-gateway-provider"] ?? "openai"}`, async () => {
    wire.answer = () =>
      typeof answer === "string"
        ? new Response(answer, { headers: { "content-type": "audio/mpeg" } })
        : Response.json(answer);
    const [method = "", path = ""] = route.split(" ");
    const changes = { "x-gateway-provider": "openai", authorization: "Bearer provider-key", ...headers };
    const sent = requestHeaders(body instanceof FormData ? { ...changes, "content-type": null } : changes);
    const init: RequestInit = { method, headers: sent };
    if (body) init.body = body instanceof FormData ? body : JSON.stringify(body);
    wire.url = "";
    const response = await gateway.fetch(path, init);
    assert.equal(response.status, 200, await response.clone().text());
    await response.text();
    assert.equal(wire.url, upstream);
    assert.ok(response.headers.get("x-gateway-trace-id"));
    for (const [name, value] of Object.entries(reported)) assert.equal(response.headers.get(name), value, name);
    const request = JSON.stringify([wire.url, wire.init?.headers]);
    assert.ok(!request.includes(workspaceKey), "the gateway key went upstream");
    assert.match(request, /provider-key/);
  });
}

for (const [route, provider] of [
  ["POST /v1/audio/speech", "anthropic"],
  ["POST /v1/rerank", "openai"],
  ["POST /v1/ocr", "openai"],
  ["POST /v1/search", "openai"],
  ["POST /v1/images/generations", "anthropic"],
  ["POST /v1/complete", "openai"],
  ["GET /v1/assistants", "anthropic"],
] as const) {
  test(`${route} is refused where ${provider} does not have it`, async () => {
    const found = calls.find((one) => one.route === route);
    const [method = "", path = ""] = route.split(" ");
    const headers = requestHeaders({ "x-gateway-provider": provider, authorization: "Bearer provider-key" });
    const body = found?.body && { body: JSON.stringify(found.body) };
    const response = await gateway.fetch(path, { method, headers, ...body });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /"code":"unsupported_endpoint"/);
  });
}
