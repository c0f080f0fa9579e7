import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const usage = { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 };
const now = 1_760_000_000;

/** A chat completion. With `logprobs`, the label that a decision asks for. */
function answerChat({ text }: ReceivedRequest): object {
  const { model, logprobs: wanted, messages } = JSON.parse(text);
  const labels = [...String(messages.at(-1).content).matchAll(/^([A-Z]): /gm)].map(([, label]) => label);
  const top_logprobs = labels.map((token, index) => ({ token, logprob: -index - 1 }));
  const logprobs = wanted ? { content: [{ ...top_logprobs[0], top_logprobs }] } : null;
  const message = { role: "assistant", content: wanted ? labels[0] : "Hello", reasoning_content: "A greeting." };
  const choices = [{ index: 0, message, logprobs, finish_reason: "stop" }];
  return { id: "chatcmpl-docs", object: "chat.completion", created: now, model, choices, usage };
}

function answerMessage({ text }: ReceivedRequest): object {
  return {
    id: "msg_docs",
    type: "message",
    role: "assistant",
    model: JSON.parse(text).model,
    content: [{ type: "text", text: "Hello" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 12, output_tokens: 7 },
  };
}

const gemini = {
  candidates: [{ index: 0, content: { role: "model", parts: [{ text: "Hello" }] }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 7, totalTokenCount: 19 },
  modelVersion: "gemini-docs",
  responseId: "docs",
};

function answerResponse({ text }: ReceivedRequest): object {
  const content = [{ type: "output_text", text: "Hello", annotations: [] }];
  return {
    id: "resp_docs",
    object: "response",
    created_at: now,
    status: "completed",
    model: JSON.parse(text).model,
    output: [{ id: "msg_docs", type: "message", role: "assistant", status: "completed", content }],
    usage: { input_tokens: 12, output_tokens: 7, total_tokens: 19 },
  };
}

/** What an MCP server answers, by method. */
const mcpResults: Readonly<Record<string, object>> = {
  "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
  "tools/list": { tools: [{ name: "open_orders", inputSchema: { type: "object" } }] },
};

function answerMcp({ text }: ReceivedRequest): object {
  const { id, method } = JSON.parse(text);
  const result = { ...mcpResults[method], resultType: "complete", ttlMs: 0, cacheScope: "private" };
  return { jsonrpc: "2.0", id, result };
}

const embedding = { object: "embedding", index: 0, embedding: [0.1, 0.2] };
const file = { id: "file-docs", object: "file", bytes: 1, created_at: now, filename: "x.jsonl", purpose: "batch" };
const batch = { id: "batch_docs", object: "batch", status: "validating", created_at: now, endpoint: "/v1/x" };

/** What vendors answer, by method and path. A string is sent unchanged. */
const answers: readonly [RegExp, (request: ReceivedRequest) => unknown][] = [
  [/^POST .*\/chat\/completions$/, answerChat],
  [/^POST .*\/messages$/, answerMessage],
  [/^POST .*\/responses$/, answerResponse],
  [/^POST \/mcp$/, answerMcp],
  [/^POST .*:generateContent$/, () => gemini],
  [/^POST \/token$/, () => ({ access_token: "fake-token", token_type: "Bearer", expires_in: 3600 })],
  [
    /^POST .*\/embeddings$/,
    ({ text }) => {
      const inputs = [JSON.parse(text).input].flat();
      return { object: "list", model: "m", data: inputs.map((_, index) => ({ ...embedding, index })), usage };
    },
  ],
  [/^POST .*\/multimodalembeddings$/, () => ({ object: "list", model: "m", data: [embedding], usage })],
  [/^POST .*\/moderations$/, () => ({ id: "modr-docs", model: "m", results: [{ flagged: false }] })],
  [
    /^POST .*\/rerank$/,
    () => ({
      id: "rerank-docs",
      results: [
        { index: 0, relevance_score: 0.1 },
        { index: 1, relevance_score: 0.9 },
      ],
      meta: { billed_units: { search_units: 1 } },
    }),
  ],
  [
    /^POST .*\/search$/,
    () => ({
      results: [
        {
          title: "Harbour",
          url: "https://bergen.no/harbour",
          text: "The harbour opens at 6.",
          publishedDate: "2026-11-01",
        },
      ],
      costDollars: { total: 0.007 },
    }),
  ],
  [
    /^POST .*\/ocr$/,
    () => ({ model: "m", pages: [{ index: 0, markdown: "# Hello" }], usage_info: { pages_processed: 1 } }),
  ],
  [/^POST .*\/audio\/speech$/, () => "audio"],
  [/^POST .*\/audio\/transcriptions$/, () => "1\n00:00:00,000 --> 00:00:01,000\nHello\n"],
  [/^POST .*\/images\/(?:generations|edits)$/, () => ({ created: now, data: [{ b64_json: "aGVsbG8=" }] })],
  [/^POST .*\/files$/, () => file],
  [/^GET .*\/files(?:\?|$)/, () => ({ object: "list", data: [file] })],
  [/^POST .*\/batches$/, () => batch],
  [/^GET .*\/batches(?:\?|$)/, () => ({ object: "list", data: [] })],
  [/^GET .*\/batches\/batch_docs$/, () => batch],
  [/^POST .*\/fine_tuning\/jobs$/, () => ({ id: "ftjob-docs", object: "fine_tuning.job", status: "queued" })],
  [/^POST .*\/vector_stores$/, () => ({ id: "vs_docs", object: "vector_store", name: "Notes" })],
];

/** A loopback server with the vendor responses that the documentation needs. */
export function startVendor(): Promise<RecordingUpstream> {
  return startRecordingUpstream((request, response) => {
    const line = `${request.method} ${request.path}`;
    const answer = answers.find(([pattern]) => pattern.test(line))?.[1](request);
    if (answer === undefined) {
      const error = { message: `The vendor of this test serves no ${line}` };
      response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ error }));
    } else if (typeof answer === "string") response.writeHead(200, { "content-type": "text/plain" }).end(answer);
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
}
