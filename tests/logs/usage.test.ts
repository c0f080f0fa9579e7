import assert from "node:assert/strict";
import { test } from "node:test";
import { toLoggedUsage, withAllCounts } from "../../src/logs/usage.ts";

const none = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cache_write_tokens: 0,
  audio_input_tokens: 0,
  audio_output_tokens: 0,
};

/** Counts of input, output and both; all others are 0. */
const sides = (input_tokens: number, output_tokens: number, rest: object = {}) => ({
  ...none,
  input_tokens,
  output_tokens,
  total_tokens: input_tokens + output_tokens,
  ...rest,
});

for (const [name, usage, wanted] of [
  ["nothing", undefined, null],
  ["null", null, null],
  ["a text", "10", null],
  ["an empty object", {}, null],
  ["plain counts", { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }, sides(3, 4)],
  ["counts without total", { prompt_tokens: 3, completion_tokens: 4 }, sides(3, 4)],
  [
    "details of a chat",
    {
      prompt_tokens: 30,
      completion_tokens: 40,
      total_tokens: 70,
      prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 3, audio_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 7, audio_tokens: 11, accepted_prediction_tokens: 1 },
    },
    sides(30, 40, {
      cached_tokens: 2,
      reasoning_tokens: 7,
      cache_write_tokens: 3,
      audio_input_tokens: 5,
      audio_output_tokens: 11,
    }),
  ],
  [
    "a chat's counts with those of Claude beside them",
    {
      prompt_tokens: 30,
      completion_tokens: 4,
      total_tokens: 34,
      prompt_tokens_details: { cached_tokens: 20 },
      cache_read_input_tokens: 20,
      cache_creation_input_tokens: 6,
    },
    sides(30, 4, { cached_tokens: 20, cache_write_tokens: 6 }),
  ],
  [
    "a message, whose input does not hold what the cache did",
    {
      input_tokens: 18,
      cache_read_input_tokens: 2048,
      cache_creation_input_tokens: 384,
      output_tokens: 12,
      output_tokens_details: { thinking_tokens: 5 },
    },
    sides(2450, 12, { cached_tokens: 2048, cache_write_tokens: 384, reasoning_tokens: 5 }),
  ],
  [
    "a message that tells of its cache by time",
    {
      input_tokens: 1,
      output_tokens: 2,
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
    },
    sides(31, 2, { cache_write_tokens: 30, units: { cache_write_1h: 20 } }),
  ],
  [
    "a message that has no cache",
    { input_tokens: 18, output_tokens: 12, cache_read_input_tokens: null, cache_creation_input_tokens: 0 },
    sides(18, 12),
  ],
  [
    "a response",
    {
      input_tokens: 36,
      output_tokens: 87,
      total_tokens: 123,
      input_tokens_details: { cached_tokens: 12 },
      output_tokens_details: { reasoning_tokens: 64 },
    },
    sides(36, 87, { cached_tokens: 12, reasoning_tokens: 64 }),
  ],
  ["embeddings", { prompt_tokens: 9, total_tokens: 9 }, sides(9, 0)],
  ["embeddings that count all tokens only", { total_tokens: 9 }, sides(9, 0)],
  [
    "images",
    {
      input_tokens: 50,
      output_tokens: 4160,
      total_tokens: 4210,
      input_tokens_details: { text_tokens: 10, image_tokens: 40 },
    },
    { ...sides(50, 4160), units: { image_input_tokens: 40 } },
  ],
  [
    "a transcription",
    {
      type: "tokens",
      input_tokens: 14,
      output_tokens: 45,
      total_tokens: 59,
      input_token_details: { text_tokens: 0, audio_tokens: 14 },
    },
    sides(14, 45, { audio_input_tokens: 14 }),
  ],
  ["a transcription that says how long it is", { type: "duration", seconds: 9 }, null],
  [
    "a realtime session",
    {
      input_tokens: 20,
      output_tokens: 30,
      total_tokens: 50,
      input_token_details: { cached_tokens: 4, text_tokens: 5, audio_tokens: 15 },
      output_token_details: { text_tokens: 10, audio_tokens: 20 },
    },
    sides(20, 30, { cached_tokens: 4, audio_input_tokens: 15, audio_output_tokens: 20 }),
  ],
  [
    "negative, broken and endless counts",
    { prompt_tokens: -1, completion_tokens: 1.5, total_tokens: Number.POSITIVE_INFINITY },
    null,
  ],
  ["texts as counts", { prompt_tokens: "3", prompt_tokens_details: "x", completion_tokens_details: null }, null],
  ["counts above what is exact", { prompt_tokens: 2 ** 53 }, null],
  ["counts that no response has", { prompt_tokens: 100_000_001, completion_tokens: 4 }, sides(0, 4)],
] as const) {
  test(`B3: toLoggedUsage() reads ${name}`, () => assert.deepEqual(toLoggedUsage(usage), wanted));
}

test("rows of earlier versions lack counts: they are shown as 0", () => {
  const { input_tokens, output_tokens, total_tokens } = sides(3, 4);
  assert.deepEqual(withAllCounts({ input_tokens, output_tokens, total_tokens }), sides(3, 4));
  assert.equal(withAllCounts(null), null);
});
