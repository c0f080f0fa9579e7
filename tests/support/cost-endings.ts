// Requests that end in other ways than with one whole response, and what they cost: as cost-rows.ts.

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
  messageUsage,
  typedEvents,
} from "./cost-rows.ts";

const eventStream = "text/event-stream";
const chatPath = "/v1/chat/completions";
const messages = [{ role: "user", content: "Hello there" }];
const chatBody = { model: "gpt-4o", messages };
const streamBody = { ...chatBody, stream: true };
const failure = (status: number): CannedResponse => ({ status, body: { error: { message: "no" } } });

/** A stream that is cut after three tokens, "Half a sentence". */
const half = (then: NonNullable<CannedResponse["then"]>, more: object = {}): CannedResponse => ({
  type: eventStream,
  body: dataEvents(chatChunk("Half a "), chatChunk("sentence", null, more)),
  then,
});
/** "Hello there" has two tokens; four stand around a message and three around the prompt. */
const halfBill: readonly BillItem[] = [
  [9, 2_500],
  [3, 10_000],
];
const halfNanos = 52_500;
const halfTokens = 12;

/** The target of a config; `$UPSTREAM` is replaced by the address of the upstream. */
const target = (provider: string, more: object = {}): object => ({
  provider,
  api_key: "upstream-key",
  custom_host: "$UPSTREAM/v1",
  ...more,
});
const configOf = (config: object) => ({ provider: null, headers: { "x-gateway-config": JSON.stringify(config) } });
const fallback = (targets: readonly object[], codes?: readonly number[]) =>
  configOf({ strategy: { mode: "fallback", ...(codes && { on_status_codes: codes }) }, targets });
const noSecrets = (more: object = {}) => ({
  "default.contains": { operator: "none", words: ["secret"] },
  ...more,
});

const saying = (content: string) => ({
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
});
const secretAnswer = chatAnswer(cachedUsage, saying("a secret"));
const secretBody = { ...chatBody, messages: [{ role: "user", content: "a secret" }] };
/** A message of Claude Sonnet 4.5 with the counts and the price of `cost-rows.ts`. */
const claudeAnswer: CannedResponse = {
  body: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5-20250929",
    content: [{ type: "text", text: "Hi" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: messageUsage,
  },
};
const claudeBill: readonly BillItem[] = [
  [10, 3_000],
  [20, 300],
  [10, 3_750],
  [20, 6_000],
  [5, 15_000],
];
const claudeTarget = target("anthropic", {
  override_params: { model: "claude-sonnet-4-5", max_tokens: 10 },
});

/** Rows of requests that fail or are refused. */
const failedRows: CostRow[] = [400, 401, 429, 500, 503].map((status) => ({
  name: `a chat that fails with ${status}`,
  path: chatPath,
  body: chatBody,
  answers: [failure(status)],
  status,
  bill: [],
  nanos: 0,
  tokens: 0,
}));

const cutRows: CostRow[] = [
  {
    name: "a chat the gateway refuses",
    path: chatPath,
    body: { model: "gpt-4o" },
    answers: [],
    status: 400,
    bill: [],
    nanos: 0,
    tokens: 0,
    requests: 0,
  },
  {
    name: "a stream whose client leaves",
    path: chatPath,
    body: streamBody,
    answers: [half("waits")],
    leaves: true,
    rowStatus: 499,
    bill: halfBill,
    nanos: halfNanos,
    tokens: halfTokens,
    estimated: true,
  },
  {
    name: "a stream whose client leaves after the provider reported counts",
    path: chatPath,
    body: streamBody,
    answers: [half("waits", { usage: { prompt_tokens: 30, completion_tokens: 7, total_tokens: 37 } })],
    leaves: true,
    rowStatus: 499,
    bill: [
      [30, 2_500],
      [7, 10_000],
    ],
    nanos: 145_000,
    tokens: 37,
  },
  {
    name: "a stream the upstream breaks",
    path: chatPath,
    body: streamBody,
    answers: [half("breaks")],
    rowStatus: 502,
    bill: halfBill,
    nanos: halfNanos,
    tokens: halfTokens,
    estimated: true,
  },
  {
    name: "a stream the upstream ends too early",
    path: chatPath,
    body: streamBody,
    answers: [half("ends")],
    rowStatus: 502,
    bill: halfBill,
    nanos: halfNanos,
    tokens: halfTokens,
    estimated: true,
  },
  {
    name: "a stream of a model without a price that breaks",
    path: chatPath,
    body: { ...streamBody, model: "no-such-model" },
    answers: [{ ...half("breaks"), body: String(half("breaks").body).replaceAll("gpt-4o-2024-08-06", "neither") }],
    rowStatus: 502,
    bill: [],
    nanos: null,
    tokens: halfTokens,
    estimated: true,
  },
  {
    name: "a streamed message that breaks: its input was reported, its output is estimated",
    provider: "anthropic",
    path: "/v1/messages",
    body: { model: "claude-sonnet-4-5", max_tokens: 10, messages, stream: true },
    answers: [{ type: eventStream, body: messageStart, then: "breaks" }],
    rowStatus: 502,
    bill: [
      [10, 3_000],
      [20, 300],
      [10, 3_750],
      [20, 6_000],
      [3, 15_000],
    ],
    nanos: 238_500,
    units: { cache_write_1h: 20 },
    tokens: 63,
    estimated: true,
  },
  {
    name: "streamed contents that break cost what Gemini reported last",
    provider: "google",
    path: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    body: { contents: [{ role: "user", parts: [{ text: "Hello there" }] }] },
    answers: [
      {
        type: eventStream,
        body: dataEvents({
          candidates: [{ content: { role: "model", parts: [{ text: "Half a sentence" }] }, index: 0 }],
          usageMetadata: { promptTokenCount: 50, candidatesTokenCount: 3, totalTokenCount: 53 },
          modelVersion: "gemini-2.5-pro",
        }),
        then: "breaks",
      },
    ],
    rowStatus: 502,
    bill: [
      [50, 1_250],
      [3, 10_000],
    ],
    nanos: 92_500,
    tokens: 53,
  },
  {
    name: "a streamed response that breaks",
    path: "/v1/responses",
    body: { model: "gpt-5", input: "Hello there", stream: true },
    answers: [
      {
        type: eventStream,
        body: typedEvents({
          type: "response.output_text.delta",
          sequence_number: 1,
          item_id: "m",
          output_index: 0,
          delta: "Half a sentence",
        }),
        then: "breaks",
      },
    ],
    rowStatus: 502,
    bill: [
      [2, 1_250],
      [3, 10_000],
    ],
    nanos: 32_500,
    tokens: 5,
    estimated: true,
  },
  {
    name: "a streamed response whose provider reports a failure",
    path: "/v1/responses",
    body: { model: "gpt-5", input: "Hello there", stream: true },
    answers: [
      {
        type: eventStream,
        body: typedEvents(
          {
            type: "response.output_text.delta",
            sequence_number: 1,
            item_id: "m",
            output_index: 0,
            delta: "Half a sentence",
          },
          {
            type: "response.failed",
            sequence_number: 2,
            response: { id: "resp_1", status: "failed", error: { code: "server_error", message: "no" } },
          },
        ),
      },
    ],
    rowStatus: 502,
    bill: [],
    nanos: 0,
    tokens: 0,
  },
  {
    name: "a chat of a model without a price",
    path: chatPath,
    body: { model: "no-such-model", messages },
    answers: [chatAnswer(cachedUsage, { model: "neither" })],
    bill: [],
    nanos: null,
    tokens: 110,
  },
];

/** Rows of requests with several calls. */
const severalCallsRows: CostRow[] = [
  {
    name: "a retry of a call that failed",
    path: chatPath,
    ...configOf({ ...target("openai"), retry: { attempts: 1, on_status_codes: [500] } }),
    body: chatBody,
    answers: [failure(500), chatAnswer(cachedUsage)],
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
  {
    name: "retries that are used up",
    path: chatPath,
    ...configOf({ ...target("openai"), retry: { attempts: 1, on_status_codes: [500] } }),
    body: chatBody,
    answers: [failure(500)],
    status: 500,
    bill: [],
    nanos: 0,
    tokens: 0,
  },
  {
    name: "a fallback after a call that failed",
    path: chatPath,
    ...fallback([target("openai"), claudeTarget]),
    body: chatBody,
    answers: [failure(500), claudeAnswer],
    bill: claudeBill,
    nanos: 268_500,
    units: { cache_write_1h: 20 },
    tokens: 65,
    requests: 2,
  },
  {
    name: "a fallback after a response a guardrail denied: both are charged",
    path: chatPath,
    ...fallback([target("openai", { output_guardrails: [noSecrets({ deny: true })] }), claudeTarget]),
    body: chatBody,
    answers: [secretAnswer, claudeAnswer],
    bill: [...cachedBill, ...claudeBill],
    nanos: 568_500,
    units: { cache_write_1h: 20 },
    tokens: 175,
    requests: 2,
  },
  {
    name: "a fallback after a response that is not wanted: both are charged",
    path: chatPath,
    ...fallback([target("openai", { output_guardrails: [noSecrets()] }), claudeTarget], [246]),
    body: chatBody,
    answers: [secretAnswer, claudeAnswer],
    bill: [...cachedBill, ...claudeBill],
    nanos: 568_500,
    units: { cache_write_1h: 20 },
    tokens: 175,
    requests: 2,
  },
  {
    name: "a fallback after a stream that is not wanted: what the provider began is estimated",
    path: chatPath,
    ...fallback([target("openai", { input_guardrails: [noSecrets()] }), target("openai")], [246]),
    body: { ...secretBody, stream: true },
    answers: [half("waits"), chatStream(cachedUsage)],
    // "a secret" has two tokens like "Hello there"; of the output nothing was sent
    bill: [[9, 2_500], ...cachedBill],
    nanos: 322_500,
    tokens: 119,
    requests: 2,
    estimated: true,
  },
  {
    name: "retries of a response a guardrail denied: each is charged",
    path: chatPath,
    ...configOf({
      ...target("openai", { output_guardrails: [noSecrets({ deny: true })] }),
      retry: { attempts: 2, on_status_codes: [446] },
    }),
    body: chatBody,
    answers: [secretAnswer, secretAnswer, chatAnswer(cachedUsage)],
    bill: [...cachedBill, ...cachedBill, ...cachedBill],
    nanos: 900_000,
    tokens: 330,
  },
  {
    name: "a fallback whose second target fails: the discarded response is charged",
    path: chatPath,
    ...fallback([target("openai", { output_guardrails: [noSecrets({ deny: true })] }), claudeTarget]),
    body: chatBody,
    answers: [secretAnswer, failure(500)],
    status: 500,
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
    requests: 2,
  },
  {
    name: "embeddings that take two calls",
    provider: "bedrock",
    path: "/v1/embeddings",
    headers: {
      "x-gateway-aws-access-key-id": "AKIDEXAMPLE",
      "x-gateway-aws-secret-access-key": "example",
      "x-gateway-aws-region": "us-east-1",
    },
    body: { model: "amazon.titan-embed-text-v2:0", input: ["one", "two"] },
    answers: [{ body: { embedding: [0.5], inputTextTokenCount: 5 } }],
    // 0.02 dollars
    bill: [[10, 20]],
    nanos: 200,
    tokens: 10,
  },
  {
    name: "embeddings of which one call fails: the other is charged",
    provider: "bedrock",
    path: "/v1/embeddings",
    headers: {
      "x-gateway-aws-access-key-id": "AKIDEXAMPLE",
      "x-gateway-aws-secret-access-key": "example",
      "x-gateway-aws-region": "us-east-1",
    },
    body: { model: "amazon.titan-embed-text-v2:0", input: ["one", "two"] },
    answers: [{ body: { embedding: [0.5], inputTextTokenCount: 5 } }, failure(429)],
    status: 429,
    bill: [[5, 20]],
    nanos: 100,
    tokens: 5,
  },
];

const questions = {
  refund: { type: "noul", instructions: "Does the customer ask for a refund?" },
  late: { type: "noul", instructions: "Was the order late?" },
};
const decisionBody = (model: string) => ({ model, state: { message: "My order never came" }, questions });
/** A response that gives each label a probability. */
const labelAnswer = (prompt: number): CannedResponse =>
  chatAnswer(
    { prompt_tokens: prompt, completion_tokens: 1, total_tokens: prompt + 1 },
    {
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "A" },
          finish_reason: "stop",
          logprobs: {
            content: [
              {
                token: "A",
                logprob: -0.1,
                top_logprobs: [
                  { token: "A", logprob: -0.1 },
                  { token: "B", logprob: -2.4 },
                ],
              },
            ],
          },
        },
      ],
    },
  );

const decisionRows: CostRow[] = [
  {
    name: "decisions, one call for each question",
    path: "/v1/decisions",
    body: decisionBody("gpt-4.1-mini"),
    answers: [labelAnswer(100)],
    // 0.40 and 1.60 dollars
    bill: [
      [200, 400],
      [2, 1_600],
    ],
    nanos: 83_200,
    tokens: 202,
  },
  {
    name: "decisions whose prompts are long together and short each",
    path: "/v1/decisions",
    body: decisionBody("gpt-5.4"),
    answers: [labelAnswer(150_000)],
    // 2.50 and 15 dollars for prompts up to 272,000 tokens
    bill: [
      [300_000, 2_500],
      [2, 15_000],
    ],
    nanos: 750_030_000,
    isSum: true,
    tokens: 300_002,
  },
  {
    name: "decisions without a readable answer: both calls are charged",
    path: "/v1/decisions",
    headers: { "x-gateway-beta": "decisions-structured" },
    body: decisionBody("gpt-4o"),
    answers: [chatAnswer(cachedUsage, saying("I would rather not say."))],
    status: 502,
    bill: [...cachedBill, ...cachedBill],
    nanos: 600_000,
    tokens: 220,
  },
  {
    name: "decisions whose second call fails: the first is charged",
    path: "/v1/decisions",
    headers: { "x-gateway-beta": "decisions-structured" },
    body: decisionBody("gpt-4o"),
    answers: [chatAnswer(cachedUsage, saying("I would rather not say.")), failure(500)],
    status: 500,
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
];

/** Rows of requests and responses a guardrail denies. */
const deniedRows: CostRow[] = [
  {
    name: "a request a guardrail denies",
    path: chatPath,
    headers: { "x-gateway-config": JSON.stringify({ input_guardrails: [noSecrets({ deny: true })] }) },
    body: secretBody,
    answers: [],
    status: 446,
    bill: [],
    nanos: 0,
    tokens: 0,
    requests: 0,
  },
  {
    name: "a request a guardrail denies softly",
    path: chatPath,
    headers: {
      "x-gateway-config": JSON.stringify({
        input_guardrails: [
          { "default.contains": { operator: "none", words: ["secret"], soft_deny_200: true }, deny: true },
        ],
      }),
    },
    body: secretBody,
    answers: [],
    bill: [],
    nanos: 0,
    tokens: 0,
    requests: 0,
  },
  {
    name: "a response a guardrail denies",
    path: chatPath,
    headers: { "x-gateway-config": JSON.stringify({ output_guardrails: [noSecrets({ deny: true })] }) },
    body: chatBody,
    answers: [secretAnswer],
    status: 446,
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
  {
    name: "a response a guardrail denies softly",
    path: chatPath,
    headers: {
      "x-gateway-config": JSON.stringify({
        output_guardrails: [
          { "default.contains": { operator: "none", words: ["secret"], soft_deny_200: true }, deny: true },
        ],
      }),
    },
    body: chatBody,
    answers: [secretAnswer],
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
  {
    name: "a stream that is held back and denied",
    path: chatPath,
    headers: {
      "x-gateway-config": JSON.stringify({
        output_guardrails: [noSecrets({ deny: true, stream_mode: "buffer" })],
      }),
    },
    body: streamBody,
    answers: [
      {
        type: eventStream,
        body: `${dataEvents(chatChunk("a secret"), chatChunk("", "stop"), {
          ...chatChunk(""),
          choices: [],
          usage: cachedUsage,
        })}data: [DONE]\n\n`,
      },
    ],
    status: 446,
    bill: cachedBill,
    nanos: cachedNanos,
    tokens: 110,
  },
  {
    name: "a stream that is held back and breaks, and its retry: both are estimated",
    path: chatPath,
    headers: {
      "x-gateway-config": JSON.stringify({
        output_guardrails: [noSecrets({ deny: true, stream_mode: "buffer" })],
        retry: { attempts: 1, on_status_codes: [502] },
      }),
    },
    body: streamBody,
    answers: [half("ends")],
    status: 502,
    bill: [...halfBill, ...halfBill],
    nanos: 105_000,
    tokens: 24,
    estimated: true,
  },
];

/** A row for each way in which a request ends. */
export const endingRows: readonly CostRow[] = [
  ...failedRows,
  ...cutRows,
  ...severalCallsRows,
  ...decisionRows,
  ...deniedRows,
];
