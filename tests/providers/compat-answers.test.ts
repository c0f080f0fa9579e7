import assert from "node:assert/strict";
import { test } from "node:test";
import { UpstreamError } from "../../src/errors.ts";
import { requireOperation } from "../../src/providers/core/types.ts";
import { createProviderRegistry } from "../../src/providers/registry.ts";
import { type ConformanceCase, fixture, testConformance } from "../conformance/suite.ts";

const registry = createProviderRegistry();
const request = { model: "m", messages: [{ role: "user", content: "When does the lock open?" }] };
const streamed = { ...request, stream: true };

function providerOf(slug: string) {
  return registry.get(slug) ?? assert.fail(`no ${slug}`);
}

function conforms(slug: string, ...cases: readonly ConformanceCase[]): void {
  testConformance(providerOf(slug), cases);
}

const head = { id: "fx-1", object: "chat.completion", created: 1_790_000_000, model: "m" };

/** A response with one choice. */
function answerOf(message: object, rest: object = {}, choice: object = {}) {
  const choices = [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop", ...choice }];
  return { ...head, choices, ...rest };
}

function usageOf(prompt: number, completion: number, rest: object = {}) {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...rest };
}

const chunkHead = { ...head, object: "chat.completion.chunk" };

function chunkOf(delta: object, finish: string | null = null, rest: object = {}) {
  return { ...chunkHead, choices: [{ index: 0, delta, finish_reason: finish }], ...rest };
}

const toStream = (chunks: readonly object[]): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");

// reasoning, by strictness
for (const [slug, member] of [
  ["deepseek", "reasoning_content"],
  ["x-ai", "reasoning_content"],
  ["dashscope", "reasoning_content"],
  ["z-ai", "reasoning_content"],
  ["moonshot", "reasoning_content"],
  ["byteplus", "reasoning_content"],
  ["fireworks-ai", "reasoning_content"],
  ["groq", "reasoning"],
  ["cerebras", "reasoning"],
  ["together-ai", "reasoning"],
  ["openrouter", "reasoning"],
] as const) {
  const answer = answerOf({ content: "At six.", [member]: "Check hours." }, { own: 1 }, { own_choice: 2 });
  const stream = toStream([
    chunkOf({ role: "assistant", content: null, [member]: "" }),
    chunkOf({ content: null, [member]: "Check hours." }),
    chunkOf({ content: "At six.", [member]: null }, null, { own: 1 }),
    chunkOf({ content: "" }, "stop", { usage: usageOf(7, 3) }),
  ]);
  conforms(
    slug,
    { name: "strict responses contain no reasoning", request, answer, wanted: answerOf({ content: "At six." }) },
    {
      name: "other responses contain reasoning under one name",
      request,
      strict: false,
      answer,
      wanted: answerOf(
        {
          content: "At six.",
          reasoning_content: "Check hours.",
          content_blocks: [
            { type: "thinking", thinking: "Check hours." },
            { type: "text", text: "At six." },
          ],
        },
        { own: 1 },
        { own_choice: 2 },
      ),
    },
    {
      name: "strict streams contain no reasoning",
      request: streamed,
      stream,
      chunks: [
        chunkOf({ role: "assistant", content: null }),
        chunkOf({ content: "At six." }),
        chunkOf({ content: "" }, "stop"),
      ],
      usage: usageOf(7, 3),
    },
    {
      name: "other streams contain reasoning under one name",
      request: streamed,
      strict: false,
      stream,
      chunks: [
        chunkOf({ role: "assistant", content: null, reasoning_content: "" }),
        chunkOf({
          content: null,
          reasoning_content: "Check hours.",
          content_blocks: [{ index: 0, delta: { thinking: "Check hours." } }],
        }),
        chunkOf(
          {
            content: "At six.",
            content_blocks: [{ index: 1, delta: { text: "At six." } }],
            ...(member === "reasoning_content" && { [member]: null }),
          },
          null,
          { own: 1 },
        ),
        chunkOf({ content: "" }, "stop"),
      ],
      usage: usageOf(7, 3),
    },
  );
}

// finish reasons
for (const [slug, told, wanted] of [
  ["deepseek", "insufficient_system_resource", "stop"],
  ["together-ai", "eos", "stop"],
  ["zhipu", "sensitive", "content_filter"],
  ["zhipu", "network_error", "stop"],
  ["z-ai", "sensitive", "content_filter"],
  ["groq", "length", "length"],
  ["groq", "tool_calls", "tool_calls"],
  ["groq", "something_new", "stop"],
] as const) {
  const answer = answerOf({ content: "a" }, {}, { finish_reason: told });
  conforms(
    slug,
    {
      name: `${told} is ${wanted}`,
      request,
      answer,
      wanted: answerOf({ content: "a" }, {}, { finish_reason: wanted }),
    },
    { name: `${told} stays where answers are not plain`, request, strict: false, answer, wanted: answer },
    {
      name: `${told} is ${wanted} in streams`,
      request: streamed,
      stream: toStream([chunkOf({ content: "a" }), chunkOf({}, told)]),
      chunks: [chunkOf({ role: "assistant", content: "a" }), chunkOf({}, wanted)],
    },
  );
}

// token counts
const details = (cached: number, reasoning: number) => ({
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning },
});
for (const [slug, name, told, wanted] of [
  [
    "deepseek",
    "tokens from the cache",
    usageOf(100, 5, { prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 }),
    usageOf(100, 5, { prompt_tokens_details: { cached_tokens: 64 } }),
  ],
  [
    "moonshot",
    "tokens from the cache",
    usageOf(100, 5, { cached_tokens: 64 }),
    usageOf(100, 5, { prompt_tokens_details: { cached_tokens: 64 } }),
  ],
  [
    "x-ai",
    "reasoning that is told apart",
    { ...usageOf(100, 5), total_tokens: 135, ...details(64, 30) },
    { ...usageOf(100, 35), ...details(64, 30) },
  ],
  ["x-ai", "reasoning that is told within", usageOf(100, 35, details(64, 30)), usageOf(100, 35, details(64, 30))],
  [
    "x-ai",
    "a prompt without what came from the cache",
    { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, ...details(90, 0) },
    usageOf(100, 5, details(90, 0)),
  ],
  [
    "perplexity-ai",
    "reasoning at the top",
    usageOf(9, 3, { reasoning_tokens: 2, citation_tokens: 120, num_search_queries: 1 }),
    usageOf(9, 3, { completion_tokens_details: { reasoning_tokens: 2 } }),
  ],
  ["openrouter", "what it costs", usageOf(9, 3, { cost: 0.1, cost_details: {} }), usageOf(9, 3)],
] as const) {
  conforms(
    slug,
    {
      name: `${name} is counted`,
      request,
      answer: answerOf({ content: "a" }, { usage: told }),
      wanted: answerOf({ content: "a" }, { usage: wanted }),
    },
    {
      name: `${name} is counted in streams`,
      request: streamed,
      stream: toStream([chunkOf({ content: "a" }, "stop"), { ...chunkHead, choices: [], usage: told }]),
      chunks: [chunkOf({ role: "assistant", content: "a" }, "stop")],
      usage: wanted,
    },
    {
      name: `${name} is counted, and told where answers are not plain`,
      request,
      strict: false,
      answer: answerOf({ content: "a" }, { usage: told }),
      wanted: answerOf({ content: "a" }, { usage: { ...told, ...wanted } }),
    },
  );
}

for (const slug of ["sambanova", "lemonfox-ai"]) {
  conforms(slug, {
    name: "responses without usage get zero counts",
    request,
    answer: answerOf({ content: "a" }),
    wanted: answerOf({ content: "a" }, { usage: usageOf(0, 0) }),
  });
}

// recorded streams
const fixedHead = (id: string, model: string) => ({
  id,
  object: "chat.completion.chunk",
  created: 1_790_000_000,
  model,
});
conforms("deepseek", {
  name: "the recorded stream",
  request: streamed,
  stream: fixture("deepseek", "stream.sse"),
  chunks: [
    [{ role: "assistant", content: null }, null],
    [{ content: "At six." }, null],
    [{ content: "" }, "stop"],
  ].map(([delta, finish_reason]) => ({
    ...fixedHead("fxds01", "deepseek-reasoner"),
    system_fingerprint: "fp_fx",
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  })),
  usage: usageOf(12, 40, details(0, 34)),
});
conforms("groq", {
  name: "the recorded stream",
  request: streamed,
  stream: fixture("groq", "stream.sse"),
  chunks: [
    [{ role: "assistant", content: "" }, null],
    [{ content: "At six." }, null],
    [{}, "stop"],
  ].map(([delta, finish_reason]) => ({
    ...fixedHead("chatcmpl-fxgq", "llama-3.3-70b-versatile"),
    system_fingerprint: "fp_fx",
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  })),
  usage: usageOf(12, 4),
});
const searched = {
  citations: ["https://example.com/tides"],
  search_results: [{ title: "Tides", url: "https://example.com/tides" }],
};
const sonarChunks = [
  ["At ", null],
  ["six.", null],
  ["", "stop"],
].map(([content, finish_reason]) => ({
  ...fixedHead("fxpx01", "sonar"),
  choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason }],
}));
conforms(
  "perplexity-ai",
  {
    name: "the recorded stream, which has no [DONE] and repeats the message",
    request: streamed,
    stream: fixture("perplexity-ai", "stream.sse"),
    chunks: sonarChunks,
    usage: usageOf(9, 3, { completion_tokens_details: { reasoning_tokens: 2 } }),
  },
  {
    name: "the recorded stream with what was found",
    request: streamed,
    strict: false,
    stream: fixture("perplexity-ai", "stream.sse"),
    chunks: sonarChunks.map((chunk) => ({ ...chunk, ...searched })),
  },
);

const call = (index: number, rest: object) => ({ tool_calls: [{ index, ...rest }] });
conforms(
  "deepinfra",
  {
    name: "pings are skipped, and tool calls are forwarded",
    request: streamed,
    stream: `: ping\n\nevent: ping\ndata: 1790000000\n\n${toStream([
      chunkOf(call(0, { id: "call_1", type: "function", function: { name: "tide", arguments: "" } })),
      chunkOf(call(0, { function: { arguments: "{}" } })),
      chunkOf(call(1, { id: "call_2", type: "function", function: { name: "wind", arguments: "{}" } })),
      chunkOf({}, "tool_calls"),
    ])}event: ping\ndata: {"type":"ping"}\n\ndata: [DONE]\n\n`,
    chunks: [
      chunkOf({
        role: "assistant",
        ...call(0, { id: "call_1", type: "function", function: { name: "tide", arguments: "" } }),
      }),
      chunkOf(call(0, { function: { arguments: "{}" } })),
      chunkOf(call(1, { id: "call_2", type: "function", function: { name: "wind", arguments: "{}" } })),
      chunkOf({}, "tool_calls"),
    ],
  },
  {
    name: "usage inside a choice, and one id for all chunks",
    request: streamed,
    stream: toStream([
      chunkOf({ content: "a" }),
      {
        ...chunkHead,
        id: "fx-2",
        created: 1_790_000_009,
        choices: [{ index: 0, delta: { content: "b" }, finish_reason: "stop", usage: usageOf(7, 3) }],
      },
    ]),
    chunks: [chunkOf({ role: "assistant", content: "a" }), chunkOf({ content: "b" }, "stop")],
    usage: usageOf(7, 3),
  },
);

conforms("together-ai", {
  name: "text of completions passes, a copy of a chat's text does not",
  operation: "complete",
  request: { model: "m", prompt: "a", stream: true },
  stream: toStream([{ ...head, choices: [{ index: 0, text: "b", delta: { content: "b" }, finish_reason: "eos" }] }]),
  chunks: [{ ...head, choices: [{ index: 0, text: "b", finish_reason: "stop" }] }],
});
conforms("together-ai", {
  name: "a copy of a chat's text is dropped",
  request: streamed,
  stream: toStream([
    { ...chunkHead, choices: [{ index: 0, text: "b", delta: { content: "b" }, finish_reason: "stop" }] },
  ]),
  chunks: [chunkOf({ role: "assistant", content: "b" }, "stop")],
});

// failures
function mapFailing(slug: string, events: readonly string[], event = ""): unknown {
  const adapter = requireOperation(
    providerOf(slug).bind(() => null),
    "chat",
  );
  const mapper = adapter.streamMapper?.(streamed, { strict: true, drop: assert.fail });
  try {
    for (const data of events) mapper?.map({ event, data });
  } catch (error) {
    return error;
  }
  return undefined;
}

for (const [name, data, status, message] of [
  ["an object", { error: { code: 503, message: "fixture: gone" } }, 503, "openrouter error: fixture: gone"],
  ["a text", { error: "fixture: gone" }, 502, "openrouter error: fixture: gone"],
  [
    "a name",
    { error: { code: "rate_limit_exceeded", message: "fixture: slow" } },
    429,
    "openrouter error: fixture: slow",
  ],
  [
    "an error in a choice",
    { choices: [{ finish_reason: "error", error: { code: 502, message: "fixture: gone" } }] },
    502,
    "openrouter error: fixture: gone",
  ],
] as const) {
  test(`streams that report a failure by ${name} fail`, () => {
    const error = mapFailing("openrouter", [JSON.stringify(data)]);
    assert.ok(error instanceof UpstreamError);
    assert.deepEqual([error.status, error.message, error.provider], [status, message, "openrouter"]);
  });
}

test("openrouter fails at the last event of the recorded stream", () => {
  const events = fixture("openrouter", "stream-error.sse").match(/(?<=^data: ).*$/gm) ?? [];
  assert.equal(events.length, 3);
  assert.equal(mapFailing("openrouter", events.slice(0, 2)), undefined);
  const error = mapFailing("openrouter", events);
  assert.ok(error instanceof UpstreamError);
  assert.deepEqual([error.status, error.message], [502, "openrouter error: Provider disconnected"]);
});

test("openaiCompatible() streams fail at an event named error, whatever it contains", () => {
  const error = mapFailing("perplexity-ai", ['{"message":"fixture: gone","code":"429"}'], "error");
  assert.ok(error instanceof UpstreamError);
  assert.deepEqual([error.status, error.message], [429, "perplexity-ai error: fixture: gone"]);
});

for (const [code, status] of [
  [1002, 429],
  [1004, 401],
  [1008, 402],
  [1013, 502],
] as const) {
  test(`minimax failure ${code} with status 200 becomes ${status}`, () => {
    const adapter = requireOperation(
      providerOf("minimax").bind(() => null),
      "chat",
    );
    const body = { choices: null, base_resp: { status_code: code, status_msg: "fixture: no" } };
    const options = { strict: true, drop: assert.fail };
    assert.throws(
      () => adapter.fromUpstream?.(body, request, options),
      (error) => error instanceof UpstreamError && error.status === status && error.message.endsWith("fixture: no"),
    );
  });
}
conforms("minimax", {
  name: "a success with its status",
  request,
  answer: answerOf({ content: "a" }, { base_resp: { status_code: 0, status_msg: "" } }),
  wanted: answerOf({ content: "a" }),
});
