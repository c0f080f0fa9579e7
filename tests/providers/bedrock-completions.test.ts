import assert from "node:assert/strict";
import { after, test } from "node:test";
import { bedrock } from "../../src/providers/bedrock/mod.ts";
import { type ConformanceCase, jsonFixture, testConformance } from "../conformance/suite.ts";
import { chunkStream } from "../support/aws-message.ts";
import { createTestGateway, readJson, requestHeaders, waitForLog } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const answerHeaders = { "x-amzn-bedrock-input-token-count": "7", "x-amzn-bedrock-output-token-count": "3" };
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const metrics = { "amazon-bedrock-invocationMetrics": { inputTokenCount: 7, outputTokenCount: 3 } };
const asked = {
  prompt: "A harbour",
  max_tokens: 9,
  temperature: 0.5,
  top_p: 0.9,
  stop: "END",
  user: "u",
  own: 1,
};

interface Maker {
  model: string;
  /** Body of `asked`, and the dropped fields. */
  body: object;
  dropped: readonly string[];
  answer: object;
  /** Finish reason of the response. */
  reason?: string;
  /** Absent: its models do not stream. */
  events?: readonly object[];
  /** Fields of a streaming request. */
  streamed?: object;
}

const makers: readonly Maker[] = [
  {
    model: "cohere.command-text-v14",
    body: {
      own: 1,
      prompt: "A harbour",
      max_tokens: 9,
      temperature: 0.5,
      p: 0.9,
      end_sequences: ["END"],
    },
    dropped: ["user"],
    answer: { id: "g", prompt: "A harbour", generations: [{ id: "a", text: "At six.", finish_reason: "MAX_TOKENS" }] },
    reason: "length",
    events: [
      { text: "At ", is_finished: false, index: 0 },
      { text: "six.", is_finished: false, index: 0 },
      { is_finished: true, finish_reason: "COMPLETE", index: 0, ...metrics },
    ],
    streamed: { stream: true },
  },
  {
    model: "us.meta.llama3-8b-instruct-v1:0",
    body: { own: 1, prompt: "A harbour", max_gen_len: 9, temperature: 0.5, top_p: 0.9 },
    dropped: ["stop", "user"],
    answer: { generation: "At six.", prompt_token_count: 7, generation_token_count: 3, stop_reason: "length" },
    reason: "length",
    events: [
      { generation: "At ", prompt_token_count: 7, generation_token_count: 1, stop_reason: null },
      { generation: "six.", prompt_token_count: null, generation_token_count: 2, stop_reason: null },
      { generation: "", generation_token_count: 3, stop_reason: "stop", ...metrics },
    ],
  },
  {
    model: "mistral.mixtral-8x7b-instruct-v0:1",
    body: { own: 1, prompt: "A harbour", max_tokens: 9, temperature: 0.5, top_p: 0.9, stop: ["END"] },
    dropped: ["user"],
    answer: { outputs: [{ text: "At six.", stop_reason: "stop" }] },
    events: [
      { outputs: [{ text: "At ", stop_reason: null }] },
      { outputs: [{ text: "six.", stop_reason: null }] },
      { outputs: [{ text: "", stop_reason: "stop" }], ...metrics },
    ],
  },
  {
    model: "amazon.titan-text-express-v1",
    body: {
      own: 1,
      inputText: "A harbour",
      textGenerationConfig: { maxTokenCount: 9, temperature: 0.5, topP: 0.9, stopSequences: ["END"] },
    },
    dropped: ["user"],
    answer: {
      inputTextTokenCount: 7,
      results: [{ tokenCount: 3, outputText: "At six.", completionReason: "CONTENT_FILTERED" }],
    },
    reason: "content_filter",
    events: [
      { outputText: "At ", index: 0, completionReason: null },
      { outputText: "six.", index: 0, completionReason: null },
      { outputText: "", index: 0, completionReason: "FINISH", ...metrics },
    ],
  },
  {
    model: "ai21.j2-ultra-v1",
    body: { own: 1, prompt: "A harbour", maxTokens: 9, temperature: 0.5, topP: 0.9, stopSequences: ["END"] },
    dropped: ["user"],
    answer: {
      id: 1,
      prompt: { text: "A harbour", tokens: Array(7).fill({}) },
      completions: [{ data: { text: "At six.", tokens: [{}, {}, {}] }, finishReason: { reason: "length" } }],
    },
    reason: "length",
  },
  {
    model: "anthropic.claude-v2:1",
    body: {
      own: 1,
      prompt: "\n\nHuman: A harbour\n\nAssistant:",
      max_tokens_to_sample: 9,
      temperature: 0.5,
      top_p: 0.9,
      stop_sequences: ["END"],
    },
    dropped: ["user"],
    answer: { completion: "At six.", stop_reason: "max_tokens", stop: null },
    reason: "length",
    events: [
      { completion: "At ", stop_reason: null },
      { completion: "six.", stop_reason: null },
      { completion: "", stop_reason: "stop_sequence", stop: "END", ...metrics },
    ],
  },
];

const choice = (text: string, finish_reason: string | null) => ({ index: 0, text, logprobs: null, finish_reason });

function casesOf({ model, body, dropped, answer, reason = "stop", events, streamed }: Maker): ConformanceCase[] {
  const head = { id: "chatcmpl-bedrock", object: "text_completion", created: 0, model };
  const path = `/model/${encodeURIComponent(model)}/invoke`;
  const base = { operation: "complete" as const, request: { model, ...asked }, dropped };
  const whole: ConformanceCase = {
    ...base,
    name: `a completion of ${model}`,
    sent: { path, body },
    answer,
    answerHeaders,
    wanted: { ...head, choices: [choice("At six.", reason)], usage },
  };
  const uncounted: ConformanceCase = { ...whole, name: `a completion of ${model} without counts`, answerHeaders: {} };
  const counts = /llama|titan|j2/.test(model) ? { usage } : {};
  const cases = [whole, { ...uncounted, wanted: { ...head, choices: [choice("At six.", reason)], ...counts } }];
  if (!events) {
    return [
      ...cases,
      { ...base, name: `a stream of ${model}`, request: { model, prompt: "a", stream: true }, refused: /stream/ },
    ];
  }
  return [
    ...cases,
    {
      ...base,
      name: `a stream of ${model}`,
      request: { ...base.request, stream: true },
      sent: { path: `${path}-with-response-stream`, body: { ...body, ...streamed } },
      stream: chunkStream(events),
      chunks: [
        { ...head, choices: [choice("At ", null)] },
        { ...head, choices: [choice("six.", null)] },
        { ...head, choices: [choice("", "stop")] },
      ],
      usage,
    },
  ];
}

testConformance(bedrock, makers.flatMap(casesOf));

const refusals: readonly (readonly [string, object, RegExp])[] = [
  [
    "a completion of a model for chats",
    { model: "anthropic.claude-sonnet-4-6", prompt: "a" },
    /does not support text completion/,
  ],
  ["a completion of an unknown vendor", { model: "x.y", prompt: "a" }, /does not support text completion/],
  ["a completion of two prompts", { model: "mistral.m", prompt: ["a", "b"] }, /single string/],
  ["a completion of tokens", { model: "mistral.m", prompt: [1, 2] }, /single string/],
  ["two completions", { model: "meta.llama3", prompt: "a", n: 2 }, /one choice/],
];
testConformance(
  bedrock,
  refusals.map(([name, request, refused]) => ({ name, request, refused, operation: "complete" })),
);

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport });
after(() => gateway.close());

test("bedrock embeddings of Cohere's models count the tokens in the header", async () => {
  wire.answer = () => Response.json(jsonFixture("bedrock", "embeddings-cohere.json"), { headers: answerHeaders });
  const trace = crypto.randomUUID();
  const response = await gateway.fetch("/v1/embeddings", {
    method: "POST",
    headers: requestHeaders({
      "x-gateway-provider": "bedrock",
      authorization: "Bearer key",
      "x-gateway-trace-id": trace,
    }),
    body: JSON.stringify({ model: "cohere.embed-english-v3", input: ["a", "b"] }),
  });
  const { usage: told } = await readJson<{ usage: object }>(response);
  assert.deepEqual(told, { prompt_tokens: 7, total_tokens: 7 });
  const row = await waitForLog(gateway, trace);
  assert.equal(row.usage?.input_tokens, 7);
});

test("bedrock embeddings that take several calls sum the tokens in their headers", async () => {
  wire.answer = () => Response.json({ embeddings: [{ embedding: [1] }] }, { headers: answerHeaders });
  const response = await gateway.fetch("/v1/embeddings", {
    method: "POST",
    headers: requestHeaders({ "x-gateway-provider": "bedrock", authorization: "Bearer key" }),
    body: JSON.stringify({ model: "amazon.nova-2-multimodal-embeddings-v1:0", input: ["a", "b", "c"] }),
  });
  assert.equal((await readJson<{ usage: { prompt_tokens: number } }>(response)).usage.prompt_tokens, 21);
});

test("bedrock completions are logged with the tokens of their stream", async () => {
  const { model, events = [] } = makers[1] ?? { model: "" };
  const type = { "content-type": "application/vnd.amazon.eventstream" };
  wire.answer = () => new Response(chunkStream(events), { headers: type });
  const trace = crypto.randomUUID();
  const response = await gateway.fetch("/v1/completions", {
    method: "POST",
    headers: requestHeaders({
      "x-gateway-provider": "bedrock",
      authorization: "Bearer key",
      "x-gateway-trace-id": trace,
    }),
    body: JSON.stringify({ model, prompt: "A harbour", stream: true }),
  });
  assert.match(await response.text(), /"text":"six."[\s\S]*\[DONE\]/);
  const row = await waitForLog(gateway, trace);
  assert.deepEqual([row.usage?.input_tokens, row.usage?.output_tokens], [7, 3]);
});
