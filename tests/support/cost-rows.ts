// Requests and what they cost. Every figure is written by hand from the pages in price-pages.ts: none of it comes from the
// price list of the gateway.

/** One response of an upstream. */
export interface CannedResponse {
  /** Default: 200. */
  status?: number;
  /** Default: JSON. */
  type?: string;
  /** JSON, or text and bytes that are sent as they are. */
  body: object | string;
  /** What the upstream does after the body: it closes its side, it breaks off, or it waits. Default: `ends`. */
  then?: "ends" | "breaks" | "waits";
}

/** A number of tokens or things, and nano-dollars for each: a dollar for a million tokens is 1,000 for each. */
export type BillItem = readonly [count: number, nanosEach: number];

/** A request, the responses of its upstream, and what it costs. */
export interface CostRow {
  name: string;
  /** Default: openai. Null: a config names the provider. */
  provider?: string | null;
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: object;
  /** Fields of a form with an audio file, in place of a body. */
  form?: Readonly<Record<string, string>>;
  /** In the order of the calls; the last one answers all further calls. */
  answers: readonly CannedResponse[];
  /** The client leaves after the first bytes of a stream. */
  leaves?: true;
  /** Status of the response and of the row. Default: 200. */
  status?: number;
  /** Status of the row of a stream that began well. Default: as `status`. */
  rowStatus?: number;
  /** What the vendor charges for. */
  bill: readonly BillItem[];
  /** Nano-dollars of the bill, as in the log row and in the counter of cost; null where what was counted has no price. */
  nanos: number | null;
  /** `units` of the usage in the log row. Default: none. */
  units?: Readonly<Record<string, number>>;
  /** What the counter of tokens gains. */
  tokens: number;
  /** What the counter of requests gains. Default: 1. */
  requests?: number;
  /** The sum of the costs of its calls is not the cost of the sum of their counts: the row cannot be priced again. */
  isSum?: true;
  /** Whether the row says that counts are estimates. Default: not. */
  estimated?: true;
}

const eventStream = "text/event-stream";
const messages = [{ role: "user", content: "Hello there" }];
const chatPath = "/v1/chat/completions";
const messagesPath = "/v1/messages";
const responsesPath = "/v1/responses";

/** Events of a stream without types. */
export const dataEvents = (...all: readonly object[]): string =>
  all.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");

/** Events of a stream with types. */
export const typedEvents = (...all: readonly { type: string; [member: string]: unknown }[]): string =>
  all.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join("");

/** A chat completion. */
export const chatAnswer = (usage: object | undefined, more: object = {}): CannedResponse => ({
  body: {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "gpt-4o-2024-08-06",
    choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
    ...(usage && { usage }),
    ...more,
  },
});

/** A chunk of a streamed chat. */
export const chatChunk = (content: string, finish: string | null = null, more: object = {}): object => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "gpt-4o-2024-08-06",
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
  ...more,
});

/** A streamed chat that is complete. */
export const chatStream = (usage: object, more: object = {}): CannedResponse => ({
  type: eventStream,
  body: `${dataEvents(chatChunk("Hi"), chatChunk("", "stop"), { ...chatChunk(""), choices: [], usage, ...more })}data: [DONE]\n\n`,
});

/** 60 tokens of input, 40 from a cache, 10 of output. */
export const cachedUsage = {
  prompt_tokens: 100,
  completion_tokens: 10,
  total_tokens: 110,
  prompt_tokens_details: { cached_tokens: 40 },
};
/** The same at the prices of gpt-4o: 2.50, 1.25 and 10 dollars. */
export const cachedBill: readonly BillItem[] = [
  [60, 2_500],
  [40, 1_250],
  [10, 10_000],
];
export const cachedNanos = 300_000;

/** 10 tokens of input, 20 read from a cache, 10 and 20 written for five minutes and an hour, 5 of output. */
export const messageUsage = {
  input_tokens: 10,
  cache_read_input_tokens: 20,
  cache_creation_input_tokens: 30,
  cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
  output_tokens: 5,
  service_tier: "standard",
};
/** The same at the prices of Claude Sonnet 4.5: 3, 0.30, 3.75, 6 and 15 dollars. */
const messageBill: readonly BillItem[] = [
  [10, 3_000],
  [20, 300],
  [10, 3_750],
  [20, 6_000],
  [5, 15_000],
];
const messageNanos = 268_500;
const messageTokens = 65;

const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5-20250929",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  stop_sequence: null,
};
const messagesBody = { model: "claude-sonnet-4-5", max_tokens: 10, messages };

/** The beginning of a streamed message: its provider reports all counts but that of the output. */
export const messageStart: string = typedEvents(
  {
    type: "message_start",
    message: { ...message, content: [], stop_reason: null, usage: { ...messageUsage, output_tokens: 1 } },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Half a sentence" } },
);
const messageEnd = typedEvents(
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
);

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
    input_tokens_details: { cached_tokens: 20 },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 40 },
    total_tokens: 150,
  },
};
/** The same at the prices of GPT-5: 1.25, 0.125 and 10 dollars; reasoning is output. */
const responseBill: readonly BillItem[] = [
  [80, 1_250],
  [20, 125],
  [50, 10_000],
];
const responseNanos = 602_500;
const webSearch = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "q" } };
const fileSearch = { type: "file_search_call", id: "fs_1", status: "completed", queries: ["q"], results: null };
const codeRun = { type: "code_interpreter_call", status: "completed", container_id: "cntr_1" };
/** Pages that are opened and calls that fail are not charged; two calls share one container. */
const toolCalls = [
  webSearch,
  { ...webSearch, id: "ws_2", action: { type: "open_page", url: "https://example.com" } },
  { ...webSearch, id: "ws_3", status: "failed" },
  // an older form
  { type: "web_search_call", id: "ws_4", status: "completed" },
  fileSearch,
  { ...codeRun, id: "ci_1" },
  { ...codeRun, id: "ci_2" },
];

/** 60 tokens of input, 40 from a cache, 10 of output and 30 of thinking. */
const geminiAnswer = (usageMetadata: object, modelVersion = "gemini-2.5-pro"): CannedResponse => ({
  body: {
    candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP", index: 0 }],
    usageMetadata,
    modelVersion,
  },
});
const thinkingCounts = {
  promptTokenCount: 100,
  cachedContentTokenCount: 40,
  candidatesTokenCount: 10,
  thoughtsTokenCount: 30,
  totalTokenCount: 140,
};
const promptOf = (promptTokenCount: number, cachedContentTokenCount: number) => ({
  promptTokenCount,
  cachedContentTokenCount,
  candidatesTokenCount: 10,
  totalTokenCount: promptTokenCount + 10,
});
/** 100 tokens of input, 60 of them audio; 50 come from a cache, 30 of them audio. */
const audioCounts = {
  ...promptOf(100, 50),
  promptTokensDetails: [
    { modality: "TEXT", tokenCount: 40 },
    { modality: "AUDIO", tokenCount: 60 },
  ],
  cacheTokensDetails: [
    { modality: "TEXT", tokenCount: 20 },
    { modality: "AUDIO", tokenCount: 30 },
  ],
};
const contents = { contents: [{ role: "user", parts: [{ text: "Hello" }] }] };
const generate = (model: string, method = "generateContent") => `/v1beta/models/${model}:${method}`;

const awsHeaders = {
  "x-gateway-aws-access-key-id": "AKIDEXAMPLE",
  "x-gateway-aws-secret-access-key": "example",
  "x-gateway-aws-region": "us-east-1",
};
const converseAnswer = (usage: object): CannedResponse => ({
  body: {
    output: { message: { role: "assistant", content: [{ text: "Hi" }] } },
    stopReason: "end_turn",
    usage,
    metrics: { latencyMs: 1 },
  },
});
/** The counts of `messageUsage` as Bedrock reports them. */
const converseUsage = {
  inputTokens: 10,
  outputTokens: 5,
  totalTokens: 65,
  cacheReadInputTokens: 20,
  cacheWriteInputTokens: 30,
  cacheDetails: [
    { ttl: "5m", inputTokens: 10 },
    { ttl: "1h", inputTokens: 20 },
  ],
};

const documents = (count: number) => Array.from({ length: count }, (_, index) => `document ${index}`);

const embeddingAnswer: CannedResponse = {
  body: {
    object: "list",
    model: "text-embedding-3-small",
    data: [{ object: "embedding", index: 0, embedding: [0.5] }],
    usage: { prompt_tokens: 7, total_tokens: 7 },
  },
};

/** Rows of chats and of what else OpenAI serves as text. */
const openAiRows: CostRow[] = [
  {
    name: "a chat with cached tokens",
    path: chatPath,
    body: { model: "gpt-4o", messages },
    answers: [chatAnswer(cachedUsage)],
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
  {
    name: "a streamed chat with cached tokens",
    path: chatPath,
    body: { model: "gpt-4o", messages, stream: true },
    answers: [chatStream(cachedUsage)],
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
  {
    name: "a chat with audio in both directions",
    path: chatPath,
    body: { model: "gpt-4o-audio-preview", messages },
    answers: [
      chatAnswer({
        prompt_tokens: 30,
        completion_tokens: 40,
        total_tokens: 70,
        prompt_tokens_details: { audio_tokens: 20 },
        completion_tokens_details: { audio_tokens: 35 },
      }),
    ],
    // 2.50, 40, 10 and 80 dollars
    bill: [
      [10, 2_500],
      [20, 40_000],
      [5, 10_000],
      [35, 80_000],
    ],
    nanos: 3_675_000,
    tokens: 70,
  },
  {
    name: "a chat of flex processing",
    path: chatPath,
    body: { model: "gpt-5", messages, service_tier: "flex" },
    answers: [chatAnswer(cachedUsage, { service_tier: "flex" })],
    // half of 1.25, 0.125 and 10 dollars
    bill: [
      [60, 625],
      [40, 62.5],
      [10, 5_000],
    ],
    nanos: 90_000,
    tokens: 110,
  },
  {
    name: "a streamed chat of priority processing",
    path: chatPath,
    body: { model: "gpt-4o", messages, stream: true, service_tier: "priority" },
    answers: [chatStream(cachedUsage, { service_tier: "priority" })],
    // 4.25, 2.125 and 17 dollars
    bill: [
      [60, 4_250],
      [40, 2_125],
      [10, 17_000],
    ],
    nanos: 510_000,
    tokens: 110,
  },
  {
    name: "a chat with a prompt of 272,001 tokens",
    path: chatPath,
    body: { model: "gpt-5.4", messages },
    answers: [chatAnswer({ prompt_tokens: 272_001, completion_tokens: 10, total_tokens: 272_011 })],
    // 2.50 and 15 dollars, twice and one and a half times for long prompts
    bill: [
      [272_001, 5_000],
      [10, 22_500],
    ],
    nanos: 1_360_230_000,
    tokens: 272_011,
  },
  {
    name: "a streamed chat of flex processing whose events all name it",
    path: chatPath,
    body: { model: "gpt-5", messages, stream: true },
    answers: [
      {
        type: eventStream,
        body: `${dataEvents(
          chatChunk("Hi", null, { service_tier: "flex" }),
          chatChunk("", "stop", { service_tier: "flex" }),
          {
            ...chatChunk("", null, { service_tier: "flex" }),
            choices: [],
            usage: cachedUsage,
          },
        )}data: [DONE]\n\n`,
      },
    ],
    bill: [
      [60, 625],
      [40, 62.5],
      [10, 5_000],
    ],
    nanos: 90_000,
    tokens: 110,
  },
  {
    name: "a chat that asked for a service tier and was answered at the standard one",
    path: chatPath,
    body: { model: "gpt-5", messages, service_tier: "flex" },
    answers: [chatAnswer(cachedUsage, { service_tier: "default" })],
    // 1.25, 0.125 and 10 dollars
    bill: [
      [60, 1_250],
      [40, 125],
      [10, 10_000],
    ],
    nanos: 180_000,
    tokens: 110,
  },
  {
    name: "a chat of a service tier without prices",
    path: chatPath,
    body: { model: "gpt-4o", messages },
    answers: [chatAnswer(cachedUsage, { service_tier: "scale" })],
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
  {
    name: "a streamed response of priority processing",
    path: responsesPath,
    body: { model: "gpt-5", input: "Hello", stream: true },
    answers: [
      {
        type: eventStream,
        body: typedEvents(
          { type: "response.created", response: { ...responseObject, service_tier: "auto" } },
          { type: "response.completed", response: { ...responseObject, service_tier: "priority" } },
        ),
      },
    ],
    // twice 1.25, 0.125 and 10 dollars
    bill: [
      [80, 2_500],
      [20, 250],
      [50, 20_000],
    ],
    nanos: 1_205_000,
    tokens: 150,
  },
  ...["chat/completions", "chat/completions of a stream"].map((route): CostRow => {
    const isStream = route.endsWith("stream");
    return {
      name: `a model that only its response names: ${route}`,
      path: chatPath,
      body: { model: "my-alias", messages, stream: isStream },
      answers: [isStream ? chatStream(cachedUsage) : chatAnswer(cachedUsage)],
      bill: cachedBill,
      nanos: cachedNanos,
      tokens: 110,
    };
  }),
  {
    name: "a chat whose model a router chose",
    provider: "azure-openai",
    path: chatPath,
    headers: { "x-gateway-azure-resource-name": "r", "x-gateway-azure-api-version": "v1" },
    body: { model: "model-router", messages },
    answers: [
      chatAnswer({ prompt_tokens: 100, completion_tokens: 1, total_tokens: 101 }, { model: "gpt-5-2025-08-07" }),
    ],
    // 1.25 and 10 dollars, and 0.14 dollars for routing
    bill: [
      [100, 1_250],
      [1, 10_000],
      [100, 140],
    ],
    nanos: 149_000,
    tokens: 101,
  },
  {
    name: "a chat that reports no usage",
    path: chatPath,
    body: { model: "gpt-4o", messages },
    answers: [chatAnswer(undefined)],
    // "Hello there" has two tokens; four stand around a message and three around the prompt. "Hi" has one
    bill: [
      [9, 2_500],
      [1, 10_000],
    ],
    nanos: 32_500,
    tokens: 10,
    estimated: true,
  },
  {
    name: "a chat of a model that was tuned",
    path: chatPath,
    body: { model: "ft:gpt-4o-mini-2024-07-18:acme::A1b2C3", messages },
    answers: [chatAnswer(cachedUsage)],
    // 0.30, 0.15 and 1.20 dollars
    bill: [
      [60, 300],
      [40, 150],
      [10, 1_200],
    ],
    nanos: 36_000,
    tokens: 110,
  },
  {
    name: "a text completion",
    path: "/v1/completions",
    body: { model: "gpt-3.5-turbo-instruct", prompt: "Hello" },
    answers: [
      {
        body: {
          id: "cmpl-1",
          object: "text_completion",
          created: 1,
          model: "gpt-3.5-turbo-instruct",
          choices: [{ index: 0, text: "Hi", logprobs: null, finish_reason: "stop" }],
          usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
        },
      },
    ],
    // 1.50 and 2 dollars
    bill: [
      [5, 1_500],
      [7, 2_000],
    ],
    nanos: 21_500,
    tokens: 12,
  },
  {
    name: "embeddings",
    path: "/v1/embeddings",
    body: { model: "text-embedding-3-small", input: "Hello" },
    answers: [embeddingAnswer],
    // 0.02 dollars
    bill: [[7, 20]],
    nanos: 140,
    tokens: 7,
  },
  {
    name: "a moderation, which OpenAI charges nothing for",
    path: "/v1/moderations",
    body: { model: "omni-moderation-latest", input: "Hello" },
    answers: [{ body: { id: "modr-1", model: "omni-moderation-latest", results: [] } }],
    bill: [[1, 0]],
    nanos: 0,
    tokens: 1,
    estimated: true,
  },
  {
    name: "a response with reasoning and cached tokens",
    path: responsesPath,
    body: { model: "gpt-5", input: "Hello" },
    answers: [{ body: responseObject }],
    bill: responseBill,
    nanos: responseNanos,
    tokens: 150,
  },
  {
    name: "a streamed response that searched the web once and files once",
    path: responsesPath,
    body: { model: "gpt-5", input: "Hello", stream: true, tools: [{ type: "web_search" }] },
    answers: [
      {
        type: eventStream,
        body: typedEvents({
          type: "response.completed",
          sequence_number: 0,
          response: { ...responseObject, output: [webSearch, fileSearch, ...responseObject.output] },
        }),
      },
    ],
    // 10 and 2.50 dollars for a thousand calls
    bill: [...responseBill, [1, 10_000_000], [1, 2_500_000]],
    nanos: 13_102_500,
    units: { web_search: 1, file_search: 1 },
    tokens: 150,
  },
  ...[false, true].map((stream): CostRow => {
    const response = { ...responseObject, output: [...toolCalls, ...responseObject.output] };
    const streamed = typedEvents({ type: "response.completed", sequence_number: 0, response });
    return {
      name: `a response that used several tools${stream ? ", streamed" : ""}`,
      path: responsesPath,
      body: { model: "gpt-5", input: "Hello", stream },
      answers: [stream ? { type: eventStream, body: streamed } : { body: response }],
      // two searches of the web, one of files; the list has no price of containers
      bill: [...responseBill, [2, 10_000_000], [1, 2_500_000]],
      nanos: 23_102_500,
      units: { web_search: 2, file_search: 1, code_interpreter: 1 },
      tokens: 150,
    };
  }),
  {
    name: "a response by way of a chat",
    provider: "anthropic",
    path: responsesPath,
    body: { model: "claude-sonnet-4-5", input: "Hello" },
    answers: [{ body: { ...message, usage: messageUsage } }],
    bill: messageBill,
    nanos: messageNanos,
    units: { cache_write_1h: 20 },
    tokens: messageTokens,
  },
];

/** Rows of Anthropic's models, also on Bedrock. */
const claudeRows: CostRow[] = [
  {
    name: "a message with a cache that is read and written",
    provider: "anthropic",
    path: messagesPath,
    body: messagesBody,
    answers: [{ body: { ...message, usage: messageUsage } }],
    bill: messageBill,
    nanos: messageNanos,
    units: { cache_write_1h: 20 },
    tokens: messageTokens,
  },
  {
    name: "a streamed message",
    provider: "anthropic",
    path: messagesPath,
    body: { ...messagesBody, stream: true },
    answers: [{ type: eventStream, body: messageStart + messageEnd }],
    bill: messageBill,
    nanos: messageNanos,
    units: { cache_write_1h: 20 },
    tokens: messageTokens,
  },
  {
    name: "a chat by way of a message",
    provider: "anthropic",
    path: chatPath,
    body: messagesBody,
    answers: [{ body: { ...message, usage: messageUsage } }],
    bill: messageBill,
    nanos: messageNanos,
    units: { cache_write_1h: 20 },
    tokens: messageTokens,
  },
  {
    name: "a chat by way of a message that searched the web twice",
    provider: "anthropic",
    path: chatPath,
    body: messagesBody,
    answers: [
      {
        body: {
          ...message,
          usage: { input_tokens: 10, output_tokens: 5, server_tool_use: { web_search_requests: 2 } },
        },
      },
    ],
    // 10 dollars for a thousand searches
    bill: [
      [10, 3_000],
      [5, 15_000],
      [2, 10_000_000],
    ],
    nanos: 20_105_000,
    units: { web_search: 2 },
    tokens: 15,
  },
  {
    name: "a streamed message that searched the web twice",
    provider: "anthropic",
    path: messagesPath,
    body: { ...messagesBody, stream: true },
    answers: [
      {
        type: eventStream,
        body: (messageStart + messageEnd).replace(
          '"usage":{"output_tokens":5}',
          '"usage":{"output_tokens":5,"server_tool_use":{"web_search_requests":2}}',
        ),
      },
    ],
    bill: [...messageBill, [2, 10_000_000]],
    nanos: 20_268_500,
    units: { cache_write_1h: 20, web_search: 2 },
    tokens: messageTokens,
  },
  {
    name: "a message of a service tier without prices",
    provider: "anthropic",
    path: messagesPath,
    body: messagesBody,
    answers: [{ body: { ...message, usage: { ...messageUsage, service_tier: "priority" } } }],
    bill: messageBill,
    nanos: messageNanos,
    units: { cache_write_1h: 20 },
    tokens: messageTokens,
  },
  {
    name: "a message with a prompt of 200,001 tokens",
    provider: "anthropic",
    path: messagesPath,
    body: messagesBody,
    answers: [{ body: { ...message, usage: { input_tokens: 1, cache_read_input_tokens: 200_000, output_tokens: 5 } } }],
    // 6, 0.60 and 22.50 dollars
    bill: [
      [1, 6_000],
      [200_000, 600],
      [5, 22_500],
    ],
    nanos: 120_118_500,
    tokens: 200_006,
  },
  {
    name: "a message by way of a chat",
    path: messagesPath,
    body: { ...messagesBody, model: "gpt-4o" },
    answers: [chatAnswer(cachedUsage)],
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
  {
    name: "counted tokens, which cost nothing",
    provider: "anthropic",
    path: "/v1/messages/count_tokens",
    body: { model: "claude-sonnet-4-5", messages },
    answers: [{ body: { input_tokens: 12 } }],
    bill: [],
    nanos: 0,
    tokens: 0,
  },
  {
    name: "a chat on Bedrock at its global endpoint",
    provider: "bedrock",
    path: chatPath,
    headers: awsHeaders,
    body: { ...messagesBody, model: "global.anthropic.claude-sonnet-4-5-20250929-v1:0" },
    answers: [converseAnswer(converseUsage)],
    bill: messageBill,
    nanos: messageNanos,
    units: { cache_write_1h: 20 },
    tokens: messageTokens,
  },
  {
    name: "a chat on Bedrock at a regional endpoint, which costs a tenth more",
    provider: "bedrock",
    path: chatPath,
    headers: awsHeaders,
    body: { ...messagesBody, model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0" },
    answers: [converseAnswer(converseUsage)],
    bill: [
      [10, 3_300],
      [20, 330],
      [10, 4_125],
      [20, 6_600],
      [5, 16_500],
    ],
    nanos: 295_350,
    units: { cache_write_1h: 20 },
    tokens: messageTokens,
  },
  {
    name: "a message on Bedrock by way of Converse",
    provider: "bedrock",
    path: messagesPath,
    headers: awsHeaders,
    body: { ...messagesBody, model: "amazon.nova-lite-v1:0" },
    answers: [converseAnswer({ ...converseUsage, cacheDetails: [{ ttl: "5m", inputTokens: 30 }] })],
    // 0.06 dollars, a quarter of it from a cache, the same into it, and 0.24 dollars
    bill: [
      [10, 60],
      [20, 15],
      [30, 60],
      [5, 240],
    ],
    nanos: 3_900,
    tokens: messageTokens,
  },
];

/** Rows of Google's models. */
const geminiRows: CostRow[] = [
  {
    name: "contents with thinking and cached tokens",
    provider: "google",
    path: generate("gemini-2.5-pro"),
    body: contents,
    answers: [geminiAnswer(thinkingCounts)],
    // 1.25, 0.125 and 10 dollars; thinking is output
    bill: [
      [60, 1_250],
      [40, 125],
      [40, 10_000],
    ],
    nanos: 480_000,
    tokens: 140,
  },
  {
    name: "streamed contents with thinking and cached tokens",
    provider: "google",
    path: `${generate("gemini-2.5-pro", "streamGenerateContent")}?alt=sse`,
    body: contents,
    answers: [{ type: eventStream, body: dataEvents(geminiAnswer(thinkingCounts).body as object) }],
    bill: [
      [60, 1_250],
      [40, 125],
      [40, 10_000],
    ],
    nanos: 480_000,
    tokens: 140,
  },
  {
    name: "a chat with thinking and cached tokens",
    provider: "google",
    path: chatPath,
    body: { model: "gemini-2.5-pro", messages },
    answers: [geminiAnswer(thinkingCounts)],
    bill: [
      [60, 1_250],
      [40, 125],
      [40, 10_000],
    ],
    nanos: 480_000,
    tokens: 140,
  },
  {
    name: "contents with a prompt of 200,000 tokens",
    provider: "google",
    path: generate("gemini-2.5-pro"),
    body: contents,
    answers: [geminiAnswer(promptOf(200_000, 0))],
    bill: [
      [200_000, 1_250],
      [10, 10_000],
    ],
    nanos: 250_100_000,
    tokens: 200_010,
  },
  {
    name: "contents with a prompt of 200,001 tokens, partly cached",
    provider: "google",
    path: generate("gemini-2.5-pro"),
    body: contents,
    answers: [geminiAnswer(promptOf(200_001, 100_000))],
    // 2.50, 0.25 and 15 dollars
    bill: [
      [100_001, 2_500],
      [100_000, 250],
      [10, 15_000],
    ],
    nanos: 275_152_500,
    tokens: 200_011,
  },
  {
    name: "contents of Vertex AI with a long prompt",
    provider: "vertex-ai",
    headers: { "x-gateway-vertex-project-id": "p", "x-gateway-vertex-region": "us-central1" },
    path: generate("gemini-2.5-pro"),
    body: contents,
    answers: [geminiAnswer(promptOf(200_001, 0))],
    bill: [
      [200_001, 2_500],
      [10, 15_000],
    ],
    nanos: 500_152_500,
    tokens: 200_011,
  },
  {
    name: "contents with audio, partly cached",
    provider: "google",
    path: generate("gemini-2.5-flash"),
    body: contents,
    answers: [geminiAnswer(audioCounts, "gemini-2.5-flash")],
    // text 0.30 and 0.03 from a cache, audio 1 and 0.10, output 2.50 dollars
    bill: [
      [20, 300],
      [20, 30],
      [30, 1_000],
      [30, 100],
      [10, 2_500],
    ],
    nanos: 64_600,
    units: { cached_audio_tokens: 30 },
    tokens: 110,
  },
  {
    name: "a chat with audio, partly cached",
    provider: "google",
    path: chatPath,
    body: { model: "gemini-2.5-flash", messages },
    answers: [geminiAnswer(audioCounts, "gemini-2.5-flash")],
    bill: [
      [20, 300],
      [20, 30],
      [30, 1_000],
      [30, 100],
      [10, 2_500],
    ],
    nanos: 64_600,
    units: { cached_audio_tokens: 30 },
    tokens: 110,
  },
  {
    name: "counted contents, which cost nothing",
    provider: "google",
    path: generate("gemini-2.5-pro", "countTokens"),
    body: contents,
    answers: [{ body: { totalTokens: 12 } }],
    bill: [],
    nanos: 0,
    tokens: 0,
  },
  {
    name: "contents by way of a chat with audio",
    path: generate("gpt-4o-audio-preview"),
    body: contents,
    answers: [
      chatAnswer({
        prompt_tokens: 30,
        completion_tokens: 40,
        total_tokens: 70,
        prompt_tokens_details: { audio_tokens: 20 },
      }),
    ],
    bill: [
      [10, 2_500],
      [20, 40_000],
      [40, 10_000],
    ],
    nanos: 1_225_000,
    tokens: 70,
  },
  {
    name: "contents that are embedded by way of embeddings",
    path: generate("text-embedding-3-small", "embedContent"),
    body: { content: { parts: [{ text: "Hello" }] } },
    answers: [embeddingAnswer],
    bill: [[7, 20]],
    nanos: 140,
    tokens: 7,
  },
  {
    name: "an image in a chat",
    provider: "google",
    path: chatPath,
    body: { model: "gemini-2.5-flash-image", messages },
    answers: [
      geminiAnswer({
        promptTokenCount: 100,
        candidatesTokenCount: 1_300,
        candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1_290 }],
      }),
    ],
    // 0.30 and 2.50, images 30 dollars
    bill: [
      [100, 300],
      [10, 2_500],
      [1_290, 30_000],
    ],
    nanos: 38_755_000,
    units: { image_output_tokens: 1_290 },
    tokens: 1_400,
  },
  {
    name: "contents by way of a chat",
    path: generate("gpt-4o"),
    body: contents,
    answers: [chatAnswer(cachedUsage)],
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
];

/** Rows of images, audio, documents and searches. */
const mediaRows: CostRow[] = [
  {
    name: "an image that is charged by its tokens",
    path: "/v1/images/generations",
    body: { model: "gpt-image-1", prompt: "p", quality: "low" },
    answers: [
      {
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
    ],
    // text 5, images 10 and 40 dollars
    bill: [
      [10, 5_000],
      [40, 10_000],
      [272, 40_000],
    ],
    nanos: 11_330_000,
    units: { images: 1, image_input_tokens: 40 },
    tokens: 322,
  },
  {
    name: "two images that are charged each",
    path: "/v1/images/generations",
    body: { model: "dall-e-3", prompt: "p", quality: "hd", size: "1024x1792" },
    answers: [{ body: { created: 1, data: [{ url: "https://example.com/1" }, { url: "https://example.com/2" }] } }],
    // 0.12 dollars each
    bill: [[2, 120_000_000]],
    nanos: 240_000_000,
    units: { images: 2 },
    tokens: 0,
  },
  {
    name: "an image of Gemini",
    provider: "google",
    path: "/v1/images/generations",
    body: { model: "gemini-2.5-flash-image", prompt: "p" },
    answers: [
      {
        body: {
          candidates: [
            { content: { role: "model", parts: [{ inlineData: { mimeType: "image/png", data: "AA==" } }] } },
          ],
          usageMetadata: {
            promptTokenCount: 10,
            candidatesTokenCount: 1_290,
            totalTokenCount: 1_300,
            candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1_290 }],
          },
        },
      },
    ],
    // 0.30 and 30 dollars
    bill: [
      [10, 300],
      [1_290, 30_000],
    ],
    nanos: 38_703_000,
    units: { images: 1, image_output_tokens: 1_290 },
    tokens: 1_300,
  },
  {
    name: "speech that is charged by characters",
    path: "/v1/audio/speech",
    body: { model: "tts-1", input: "Grüße 👋", voice: "alloy" },
    answers: [{ type: "audio/mpeg", body: "sound" }],
    // 15 dollars for a million characters
    bill: [[7, 15_000]],
    nanos: 105_000,
    units: { characters: 7 },
    tokens: 0,
  },
  {
    name: "streamed speech that is charged by tokens",
    path: "/v1/audio/speech",
    body: { model: "gpt-4o-mini-tts", input: "Hello", voice: "alloy", stream_format: "sse" },
    answers: [
      {
        type: eventStream,
        body: typedEvents(
          { type: "speech.audio.delta", audio: "AA==" },
          { type: "speech.audio.done", usage: { input_tokens: 14, output_tokens: 101, total_tokens: 115 } },
        ),
      },
    ],
    // text 0.60, audio 12 dollars
    bill: [
      [14, 600],
      [101, 12_000],
    ],
    nanos: 1_220_400,
    units: { characters: 5 },
    tokens: 115,
  },
  {
    name: "a transcription that is charged by its length",
    path: "/v1/audio/transcriptions",
    form: { model: "whisper-1" },
    answers: [{ body: { text: "Hi", usage: { type: "duration", seconds: 12.5 } } }],
    // 0.006 dollars a minute
    bill: [[12.5, 100_000]],
    nanos: 1_250_000,
    units: { seconds: 12.5 },
    tokens: 0,
  },
  {
    name: "a transcription that is charged by tokens",
    path: "/v1/audio/transcriptions",
    form: { model: "gpt-4o-transcribe" },
    answers: [
      {
        body: {
          text: "Hi",
          usage: {
            type: "tokens",
            input_tokens: 20,
            input_token_details: { text_tokens: 6, audio_tokens: 14 },
            output_tokens: 45,
            total_tokens: 65,
          },
        },
      },
    ],
    // text 2.50, audio 6, output 10 dollars
    bill: [
      [6, 2_500],
      [14, 6_000],
      [45, 10_000],
    ],
    nanos: 549_000,
    tokens: 65,
  },
  {
    name: "speech that is charged by tokens, which its response does not report",
    path: "/v1/audio/speech",
    body: { model: "gpt-4o-mini-tts", input: "Hello", voice: "alloy" },
    answers: [{ type: "audio/mpeg", body: "sound" }],
    bill: [],
    nanos: null,
    units: { characters: 5 },
    tokens: 0,
  },
  {
    name: "a transcription whose length is a text",
    path: "/v1/audio/transcriptions",
    form: { model: "whisper-1", response_format: "verbose_json" },
    answers: [{ body: { text: "Hi", language: "en", duration: "3.32" } }],
    bill: [[3.32, 100_000]],
    nanos: 332_000,
    units: { seconds: 3.32 },
    tokens: 0,
  },
  {
    name: "a transcription whose length the client tells",
    path: "/v1/audio/transcriptions",
    headers: { "audio-file-duration": "1500" },
    form: { model: "whisper-1", response_format: "text" },
    answers: [{ type: "text/plain", body: "Hi" }],
    bill: [[1.5, 100_000]],
    nanos: 150_000,
    units: { seconds: 1.5 },
    tokens: 0,
  },
  {
    name: "a transcription whose length nobody tells",
    path: "/v1/audio/transcriptions",
    form: { model: "whisper-1", response_format: "text" },
    answers: [{ type: "text/plain", body: "Hi" }],
    bill: [],
    nanos: null,
    tokens: 0,
  },
  {
    name: "a translation",
    path: "/v1/audio/translations",
    headers: { "audio-file-duration": "1500" },
    form: { model: "whisper-1" },
    answers: [{ body: { text: "Hi" } }],
    bill: [[1.5, 100_000]],
    nanos: 150_000,
    units: { seconds: 1.5 },
    tokens: 0,
  },
  {
    name: "a search of Cohere",
    provider: "cohere",
    path: "/v1/rerank",
    body: { model: "rerank-v3.5", query: "q", documents: ["a"] },
    answers: [
      { body: { id: "1", results: [{ index: 0, relevance_score: 0.5 }], meta: { billed_units: { search_units: 1 } } } },
    ],
    // 2 dollars for a thousand searches
    bill: [[1, 2_000_000]],
    nanos: 2_000_000,
    units: { search_units: 1 },
    tokens: 0,
  },
  {
    name: "a search of 101 documents on Bedrock",
    provider: "bedrock",
    path: "/v1/rerank",
    headers: awsHeaders,
    body: { model: "amazon.rerank-v1:0", query: "q", documents: documents(101) },
    answers: [{ body: { results: [{ index: 0, relevanceScore: 0.5 }] } }],
    // 1 dollar for a thousand queries of up to 100 documents
    bill: [[2, 1_000_000]],
    nanos: 2_000_000,
    units: { search_units: 2 },
    tokens: 0,
  },
  {
    name: "a search of Cohere's model on Bedrock",
    provider: "bedrock",
    path: "/v1/rerank",
    headers: awsHeaders,
    body: { model: "cohere.rerank-v3-5:0", query: "q", documents: documents(101) },
    answers: [{ body: { results: [{ index: 0, relevanceScore: 0.5 }] } }],
    // 2 dollars for a thousand queries of up to 100 documents
    bill: [[2, 2_000_000]],
    nanos: 4_000_000,
    units: { search_units: 2 },
    tokens: 0,
  },
  {
    name: "a search of 100 documents on Vertex AI",
    provider: "vertex-ai",
    path: "/v1/rerank",
    headers: { "x-gateway-vertex-project-id": "p" },
    body: { model: "semantic-ranker-default@latest", query: "q", documents: documents(100) },
    answers: [{ body: { records: [{ id: "0", score: 0.5 }] } }],
    // 1 dollar for a thousand queries of up to 100 documents
    bill: [[1, 1_000_000]],
    nanos: 1_000_000,
    units: { search_units: 1 },
    tokens: 0,
  },
  {
    name: "three pages of OCR",
    provider: "mistral-ai",
    path: "/v1/ocr",
    body: { model: "mistral-ocr-latest", document: { type: "document_url", document_url: "data:," } },
    answers: [
      {
        body: {
          pages: [{ index: 0, markdown: "" }],
          model: "mistral-ocr-latest",
          usage_info: { pages_processed: 3 },
        },
      },
    ],
    // 4 dollars for a thousand pages
    bill: [[3, 4_000_000]],
    nanos: 12_000_000,
    units: { pages: 3 },
    tokens: 0,
  },
  {
    name: "a search of the web with Tavily",
    provider: "tavily",
    path: "/v1/search",
    body: { model: "advanced", query: "q" },
    answers: [{ body: { results: [] } }],
    // 2 credits of 0.008 dollars
    bill: [[1, 16_000_000]],
    nanos: 16_000_000,
    units: { web_search: 1 },
    tokens: 0,
  },
  {
    name: "a forwarded request",
    path: "/v1/proxy/chat/completions",
    body: { model: "gpt-4o", messages },
    answers: [chatAnswer(cachedUsage)],
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
  {
    name: "a forwarded request of flex processing to a model that only its response names",
    path: "/v1/proxy/chat/completions",
    body: { model: "my-alias", messages },
    answers: [chatAnswer(cachedUsage, { model: "gpt-5-2025-08-07", service_tier: "flex" })],
    bill: [
      [60, 625],
      [40, 62.5],
      [10, 5_000],
    ],
    nanos: 90_000,
    tokens: 110,
  },
  {
    name: "a request to a provider that costs nothing",
    provider: "echo",
    path: chatPath,
    body: { model: "echo-1", messages },
    answers: [],
    bill: [],
    nanos: 0,
    tokens: 4,
  },
];

/** A row for each kind of request. */
export const requestRows: readonly CostRow[] = [...openAiRows, ...claudeRows, ...geminiRows, ...mediaRows];
