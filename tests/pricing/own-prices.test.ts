import assert from "node:assert/strict";
import { test } from "node:test";
import { costAt } from "../../src/pricing/cost.ts";
import { createPriceList, type OwnPricing } from "../../src/pricing/own-prices.ts";
import { findPriceTiers } from "../../src/pricing/prices.ts";

const counts = {
  input_tokens: 100,
  output_tokens: 10,
  cached_tokens: 40,
  cache_write_tokens: 20,
  audio_input_tokens: 10,
  audio_output_tokens: 5,
};

function book(models: Record<string, unknown>, multiplier?: unknown, base: Record<string, string> = {}) {
  const rows = Object.entries(models).map(
    ([slug, prices]) =>
      [
        slug,
        { pricingConfig: prices === null ? null : { pay_as_you_go: prices }, baseModelSlug: base[slug] ?? null },
      ] as const,
  );
  const pricing: OwnPricing = {
    provider: "openai",
    models: new Map(rows),
    adjustments: multiplier === undefined ? null : { multiplier },
  };
  return createPriceList(pricing);
}

const cents = (price: number) => ({ price });
const plain = { request_token: cents(0.001), response_token: cents(0.002) };

for (const [name, prices, multiplier, given, nanos] of [
  ["tokens", plain, undefined, counts, 100 * 10_000 + 10 * 20_000],
  [
    "every kind",
    {
      ...plain,
      cache_read_input_token: cents(0.0001),
      cache_write_input_token: cents(0.002),
      request_audio_token: cents(0.01),
      response_audio_token: cents(0.02),
    },
    undefined,
    counts,
    30 * 10_000 + 40 * 1_000 + 20 * 20_000 + 10 * 100_000 + 5 * 20_000 + 5 * 200_000,
  ],
  ["a default factor", plain, { default: 0.1 }, counts, 120_000],
  [
    "a factor of a kind in place of the default",
    plain,
    { default: 10, response_token: 1 },
    counts,
    100 * 100_000 + 10 * 20_000,
  ],
  [
    "a factor on what stands in",
    plain,
    { cache_read_input_token: 0.1, request_audio_token: 2 },
    counts,
    50 * 10_000 + 40 * 1_000 + 10 * 20_000 + 10 * 20_000,
  ],
  ["a factor with noise", { request_token: cents(0.0003) }, { default: 1.1 }, { input_tokens: 3 }, 9_900],
  [
    "units",
    { additional_units: { pages: cents(0.5), search_units: cents(2) } },
    undefined,
    { units: { pages: 3, search_units: 1 } },
    35_000_000,
  ],
  [
    "a factor on units",
    { additional_units: { pages: cents(0.5) } },
    { default: 2, additional_units: { pages: 3 } },
    { units: { pages: 1 } },
    15_000_000,
  ],
  [
    "images",
    { image: { hd: { default: cents(4), "1024x1024": cents(3) } } },
    undefined,
    { units: { images: 2 }, image: { quality: "hd", size: "1024x1024" } },
    60_000_000,
  ],
  [
    "a factor on images",
    { image: { default: { default: cents(4) } } },
    { default: 3, image: { default: 0.5 } },
    { units: { images: 1 } },
    20_000_000,
  ],
  [
    "a fixed part",
    { fixed_cost: { request: cents(1), response: cents(0.5), other: cents(9) } },
    { default: 2 },
    {},
    30_000_000,
  ],
  [
    "nothing that is a price",
    { request_token: "cheap", response_token: { price: "1" }, image: 3 },
    undefined,
    counts,
    undefined,
  ],
] as const) {
  test(`a custom price: ${name}`, () => {
    assert.equal(costAt(given, book({ m: prices }, multiplier)("m")), nanos);
  });
}

test("an integration without custom prices uses the list's, tiers included", () => {
  const own = book({ gpt: null, tuned: null }, undefined, { tuned: "gpt-4o" });
  assert.deepEqual(own("gpt-4o"), findPriceTiers("openai", "gpt-4o"));
  assert.deepEqual(own("tuned"), findPriceTiers("openai", "gpt-4o"));
  assert.equal(own("gpt"), undefined);
  const google = createPriceList({
    provider: "google",
    models: new Map(),
    adjustments: { multiplier: { default: 2 } },
  });
  assert.equal(costAt({ input_tokens: 200_001 }, google("gemini-2.5-pro")), 200_001 * 5_000);
});

test("prices are cached", () => {
  const own = book({ m: plain }, { default: 2 });
  assert.equal(own("m"), own("m"));
});

for (const multiplier of [null, 3, [], { default: "2" }, { default: -1 }, { default: Number.NaN }]) {
  test(`invalid factors change nothing: ${JSON.stringify(multiplier)}`, () => {
    assert.equal(costAt(counts, book({ m: plain }, multiplier)("m")), 1_200_000);
  });
}
