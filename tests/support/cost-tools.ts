// Requests whose provider searched, and requests that were forwarded unchanged, and what they cost: as cost-rows.ts.

import {
  type BillItem,
  type CannedResponse,
  type CostRow,
  cachedBill,
  cachedNanos,
  cachedUsage,
  chatAnswer,
  chatChunk,
  chatStream,
  dataEvents,
  messageStart,
  typedEvents,
} from "./cost-rows.ts";

const eventStream = "text/event-stream";
const messages = [{ role: "user", content: "Hello there" }];

const geminiUsage = { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 };
const page = { web: { uri: "https://example.com", title: "Example" } };
const place = { maps: { uri: "https://example.com", title: "Example" } };
const geminiChunk = (model: string, groundingMetadata?: object): object => ({
  candidates: [
    {
      content: { role: "model", parts: [{ text: "Hi" }] },
      finishReason: "STOP",
      index: 0,
      ...(groundingMetadata && { groundingMetadata }),
    },
  ],
  usageMetadata: geminiUsage,
  modelVersion: model,
});
const contents = { contents: [{ role: "user", parts: [{ text: "Hello" }] }], tools: [{ googleSearch: {} }] };
const generate = (model: string, method = "generateContent") => `/v1beta/models/${model}:${method}`;
const twoQueries = { webSearchQueries: ["one", "two", "one", ""], groundingChunks: [page, page] };
/** 0.30 and 2.50 dollars for a million tokens of Gemini 2.5 Flash. */
const flashBill: readonly BillItem[] = [
  [100, 300],
  [10, 2_500],
];
/** 0.50 and 3 dollars for a million tokens of Gemini 3 Flash. */
const flash3Bill: readonly BillItem[] = [
  [100, 500],
  [10, 3_000],
];

const groundedRows: CostRow[] = [
  {
    name: "a Gemini response with results of Google Search: 35 dollars for a thousand of them",
    provider: "google",
    path: generate("gemini-2.5-flash"),
    body: contents,
    answers: [{ body: geminiChunk("gemini-2.5-flash", twoQueries) }],
    bill: [...flashBill, [1, 35_000_000]],
    nanos: 35_055_000,
    units: { web_search: 1 },
    tokens: 110,
  },
  {
    name: "a Gemini response that searched without results",
    provider: "google",
    path: generate("gemini-2.5-flash"),
    body: contents,
    answers: [{ body: geminiChunk("gemini-2.5-flash", { webSearchQueries: ["one"] }) }],
    bill: flashBill,
    nanos: 55_000,
    tokens: 110,
  },
  {
    name: "a response of Gemini 3 with two searches: 14 dollars for a thousand of them",
    provider: "google",
    path: generate("gemini-3-flash-preview"),
    body: contents,
    answers: [{ body: geminiChunk("gemini-3-flash-preview", twoQueries) }],
    bill: [...flash3Bill, [2, 14_000_000]],
    nanos: 28_080_000,
    units: { web_search: 2 },
    tokens: 110,
  },
  {
    name: "a stream of Gemini 3 whose searches come in two events",
    provider: "google",
    path: `${generate("gemini-3-flash-preview", "streamGenerateContent")}?alt=sse`,
    body: contents,
    answers: [
      {
        type: eventStream,
        body: dataEvents(
          geminiChunk("gemini-3-flash-preview", { webSearchQueries: ["one"] }),
          geminiChunk("gemini-3-flash-preview", twoQueries),
          geminiChunk("gemini-3-flash-preview"),
        ),
      },
    ],
    bill: [...flash3Bill, [2, 14_000_000]],
    nanos: 28_080_000,
    units: { web_search: 2 },
    tokens: 110,
  },
  {
    name: "a chat that Gemini grounded in Google Maps on Vertex AI: 25 dollars for a thousand",
    provider: "vertex-ai",
    headers: { "x-gateway-vertex-project-id": "p", "x-gateway-vertex-region": "us-central1" },
    path: "/v1/chat/completions",
    body: { model: "gemini-2.5-flash", messages },
    answers: [{ body: geminiChunk("gemini-2.5-flash", { groundingChunks: [place, place] }) }],
    bill: [...flashBill, [1, 25_000_000]],
    nanos: 25_055_000,
    units: { maps: 1 },
    tokens: 110,
  },
  {
    name: "a streamed chat that Gemini grounded in pages",
    provider: "google",
    path: "/v1/chat/completions",
    body: { model: "gemini-2.5-flash", messages, stream: true },
    answers: [{ type: eventStream, body: dataEvents(geminiChunk("gemini-2.5-flash", twoQueries)) }],
    bill: [...flashBill, [1, 35_000_000]],
    nanos: 35_055_000,
    units: { web_search: 1 },
    tokens: 110,
  },
];

const responseOf = (model: string, tool: string) => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model,
  error: null,
  incomplete_details: null,
  tools: [{ type: tool, search_context_size: "medium" }],
  output: [
    { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "q" } },
    { type: "message", id: "m", status: "completed", role: "assistant", content: [] },
  ],
  usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
});
const searching = (model: string, tool = "web_search_preview") => ({ model, input: "Hello", tools: [{ type: tool }] });
/** 2.50 and 10 dollars for a million tokens of gpt-4o. */
const gpt4oBill: readonly BillItem[] = [
  [100, 2_500],
  [10, 10_000],
];

const searchRows: CostRow[] = [
  {
    name: "a response that searched with the preview of the tool: 25 dollars for a thousand calls",
    path: "/v1/responses",
    body: searching("gpt-4o"),
    answers: [{ body: responseOf("gpt-4o-2024-08-06", "web_search_preview") }],
    bill: [...gpt4oBill, [1, 25_000_000]],
    nanos: 25_350_000,
    units: { web_search_preview: 1 },
    tokens: 110,
  },
  {
    name: "a response of a reasoning model that searched with the preview: 10 dollars for a thousand calls",
    path: "/v1/responses",
    body: searching("gpt-5", "web_search_preview_2025_03_11"),
    answers: [{ body: responseOf("gpt-5-2025-08-07", "web_search_preview_2025_03_11") }],
    bill: [
      [100, 1_250],
      [10, 10_000],
      [1, 10_000_000],
    ],
    nanos: 10_225_000,
    units: { web_search_preview: 1 },
    tokens: 110,
  },
  {
    name: "a response that searched with the tool that is no preview",
    path: "/v1/responses",
    body: searching("gpt-4o", "web_search"),
    answers: [{ body: responseOf("gpt-4o-2024-08-06", "web_search") }],
    bill: [...gpt4oBill, [1, 10_000_000]],
    nanos: 10_350_000,
    units: { web_search: 1 },
    tokens: 110,
  },
  {
    name: "a chat with a model that searches for each response",
    path: "/v1/chat/completions",
    body: { model: "gpt-4o-search-preview", messages },
    answers: [chatAnswer({ prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 })],
    bill: [...gpt4oBill, [1, 25_000_000]],
    nanos: 25_350_000,
    units: { web_search: 1 },
    tokens: 110,
  },
];

const forwardedPath = "/v1/proxy/chat/completions";
const streamed = { model: "gpt-4o", messages, stream: true };
/** "Hello there" has two tokens; four stand around a message and three around the prompt. "Half a sentence" has three. */
const halfBill: readonly BillItem[] = [
  [9, 2_500],
  [3, 10_000],
];
const half = (then?: CannedResponse["then"]): CannedResponse => ({
  type: eventStream,
  body: `${dataEvents(chatChunk("Half a "), chatChunk("sentence", "stop"))}data: [DONE]\n\n`,
  ...(then && { then }),
});
/** Tokens as in `messageUsage` of cost-rows.ts, at the prices of Claude Sonnet 4.5. */
const claudeBill: readonly BillItem[] = [
  [10, 3_000],
  [20, 300],
  [10, 3_750],
  [20, 6_000],
  [5, 15_000],
];

/** An item that is too long to be held, and speaks of others. */
const longItem = {
  type: "message",
  content: [{ type: "output_text", text: '{"type":"web_search_call","status":"completed"}'.repeat(30_000) }],
};

const forwardedRows: CostRow[] = [
  {
    name: "a forwarded stream of a chat",
    path: forwardedPath,
    body: streamed,
    answers: [chatStream(cachedUsage)],
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
  {
    name: "a forwarded stream whose provider reports no tokens",
    path: forwardedPath,
    body: streamed,
    answers: [half()],
    bill: halfBill,
    nanos: 52_500,
    tokens: 12,
    estimated: true,
  },
  {
    name: "a forwarded stream that the client leaves",
    path: forwardedPath,
    body: streamed,
    answers: [half("waits")],
    leaves: true,
    rowStatus: 499,
    bill: halfBill,
    nanos: 52_500,
    tokens: 12,
    estimated: true,
  },
  {
    name: "a forwarded stream of a message, whose counts come in two events",
    provider: "anthropic",
    path: "/v1/proxy/messages",
    body: { model: "claude-sonnet-4-5", max_tokens: 10, messages, stream: true },
    answers: [
      {
        type: eventStream,
        body: `${messageStart}${typedEvents(
          { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
          { type: "message_stop" },
        )}`,
      },
    ],
    bill: claudeBill,
    nanos: 268_500,
    units: { cache_write_1h: 20 },
    tokens: 65,
  },
  {
    name: "a forwarded stream of a response that searched",
    path: "/v1/proxy/responses",
    body: { ...searching("gpt-4o"), stream: true },
    answers: [
      {
        type: eventStream,
        body: typedEvents(
          {
            type: "response.created",
            response: { ...responseOf("gpt-4o", "web_search_preview"), usage: null, output: [] },
          },
          { type: "response.completed", response: responseOf("gpt-4o-2024-08-06", "web_search_preview") },
        ),
      },
    ],
    bill: [...gpt4oBill, [1, 25_000_000]],
    nanos: 25_350_000,
    units: { web_search_preview: 1 },
    tokens: 110,
  },
  {
    name: "a forwarded response of more than a MiB that searched twice",
    path: "/v1/proxy/responses",
    body: searching("gpt-4o"),
    answers: [
      {
        body: {
          ...responseOf("gpt-4o-2024-08-06", "web_search_preview"),
          output: [
            longItem,
            ...responseOf("gpt-4o-2024-08-06", "web_search_preview").output,
            { id: "ws_2", action: { type: "open_page" }, type: "web_search_call", status: "completed" },
            { id: "ws_3", action: { type: "search" }, status: "completed", type: "web_search_call" },
          ],
        },
      },
    ],
    bill: [...gpt4oBill, [2, 25_000_000]],
    nanos: 50_350_000,
    units: { web_search_preview: 2 },
    tokens: 110,
  },
  {
    name: "a forwarded list of parts of a Gemini response",
    provider: "google",
    path: "/v1/proxy/v1beta/models/gemini-3-flash-preview:streamGenerateContent",
    body: contents,
    answers: [
      {
        body: [
          geminiChunk("gemini-3-flash-preview", twoQueries),
          { ...geminiChunk("gemini-3-flash-preview"), usageMetadata: geminiUsage },
        ],
      },
    ],
    bill: [...flash3Bill, [2, 14_000_000]],
    nanos: 28_080_000,
    units: { web_search: 2 },
    tokens: 110,
  },
  {
    name: "a forwarded response of more than a megabyte",
    path: forwardedPath,
    body: { model: "gpt-4o", messages },
    answers: [
      {
        ...chatAnswer(undefined, {
          choices: [
            { index: 0, message: { role: "assistant", content: 'usage":{"'.repeat(200_000) }, finish_reason: "stop" },
          ],
          usage: cachedUsage,
        }),
      },
    ],
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
  {
    name: "a forwarded stream of an unknown path that reports tokens",
    path: "/v1/proxy/anything",
    body: { model: "gpt-4o" },
    answers: [chatStream(cachedUsage)],
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
  {
    name: "a forwarded stream that failed",
    path: forwardedPath,
    body: streamed,
    status: 400,
    answers: [{ status: 400, body: { error: { message: "no" }, usage: cachedUsage } }],
    bill: [],
    nanos: 0,
    tokens: 0,
  },
];

/** A row for each search, and for each form of forwarded response. */
export const toolRows: readonly CostRow[] = [...groundedRows, ...searchRows, ...forwardedRows];
