import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Counts, costAt, costOf, toCents } from "../../src/pricing/cost.ts";
import { findPrice, findPriceTiers, type ModelPrice, priceAt, type TokenKind } from "../../src/pricing/prices.ts";

/** A price as the list writes it. */
function priced(parts: {
  tokens?: Partial<Record<TokenKind, number>>;
  batch?: Partial<Record<TokenKind, number>>;
  units?: Record<string, number>;
  images?: Record<string, Record<string, number>>;
  fixed?: number[];
}): ModelPrice {
  const kinds = (prices = {}) => new Map(Object.entries(prices) as [TokenKind, number][]); // as given
  return {
    name: "priced",
    tokens: kinds(parts.tokens),
    batch: kinds(parts.batch),
    units: new Map(Object.entries(parts.units ?? {})),
    images: new Map(
      Object.entries(parts.images ?? {}).map(([quality, sizes]) => [quality, new Map(Object.entries(sizes))]),
    ),
    ...(parts.fixed && { fixed: parts.fixed }),
  };
}

const [request, response] = ["request_token", "response_token"] as const;
const plain = { [request]: 2.5, [response]: 10 };
const full = {
  ...plain,
  cache_read_input_token: 1.25,
  cache_write_input_token: 3.125,
  request_audio_token: 40,
  response_audio_token: 80,
  cache_read_audio_input_token: 2.5,
};
const pictures = { images: { default: { default: 0.04 }, hd: { default: 0.08, "1024x1792": 0.12 } } };

type Row = [name: string, counts: Counts, price: ModelPrice, nanos: number | undefined, batch?: boolean];
const rows: Row[] = [
  ["text", { input_tokens: 1_000, output_tokens: 500 }, priced({ tokens: plain }), 7_500_000],
  ["one token of 7.5 cents a million", { input_tokens: 1 }, priced({ tokens: { [request]: 0.075 } }), 75],
  ["half a nano-dollar up", { input_tokens: 1 }, priced({ tokens: { [request]: 0.0005 } }), 1],
  ["less than half down", { input_tokens: 1 }, priced({ tokens: { [request]: 0.000499 } }), 0],
  [
    "halves rounded once",
    { input_tokens: 1, output_tokens: 1 },
    priced({ tokens: { [request]: 0.0005, [response]: 0.0005 } }),
    1,
  ],
  ["0.1 and 0.2", { input_tokens: 3, output_tokens: 3 }, priced({ tokens: { [request]: 0.1, [response]: 0.2 } }), 900],
  ["nothing", {}, priced({ tokens: plain }), undefined],
  ["nothing but a call", {}, priced({ fixed: [0.01] }), 10_000_000],
  [
    "a cache at its own prices",
    { input_tokens: 100, cached_tokens: 30, cache_write_tokens: 20 },
    priced({ tokens: full }),
    50 * 2_500 + 30 * 1_250 + 20 * 3_125,
  ],
  [
    "a cache without its own",
    { input_tokens: 100, cached_tokens: 30, cache_write_tokens: 20 },
    priced({ tokens: plain }),
    250_000,
  ],
  [
    "a cache kept for an hour",
    { input_tokens: 100, cache_write_tokens: 50, units: { cache_write_1h: 20 } },
    priced({ tokens: full, units: { cache_write_1h: 0.000006 } }),
    50 * 2_500 + 30 * 3_125 + 20 * 6_000,
  ],
  [
    "an hour without its own price",
    { input_tokens: 100, cache_write_tokens: 50, units: { cache_write_1h: 20 } },
    priced({ tokens: full }),
    50 * 2_500 + 50 * 3_125,
  ],
  [
    "sound",
    { input_tokens: 100, output_tokens: 60, audio_input_tokens: 40, audio_output_tokens: 50 },
    priced({ tokens: full }),
    60 * 2_500 + 40 * 40_000 + 10 * 10_000 + 50 * 80_000,
  ],
  [
    "sound from a cache",
    { input_tokens: 100, cached_tokens: 30, audio_input_tokens: 40, units: { cached_audio_tokens: 10 } },
    priced({ tokens: full }),
    40 * 2_500 + 20 * 1_250 + 30 * 40_000 + 10 * 2_500,
  ],
  [
    "sound without its own price",
    { input_tokens: 10, output_tokens: 10, audio_input_tokens: 9, audio_output_tokens: 9 },
    priced({ tokens: plain }),
    125_000,
  ],
  ["reasoning as output", { output_tokens: 10, reasoning_tokens: 9 }, priced({ tokens: plain }), 100_000],
  ["more cached than sent", { input_tokens: 10, cached_tokens: 30 }, priced({ tokens: full }), 12_500],
  [
    "pictures sent",
    { input_tokens: 10, units: { image_input_tokens: 4 } },
    priced({ tokens: { ...plain, request_image_token: 8 } }),
    6 * 2_500 + 4 * 8_000,
  ],
  [
    "pictures by quality and size",
    { units: { images: 2 }, image: { quality: "hd", size: "1024x1792" } },
    priced(pictures),
    240_000_000,
  ],
  [
    "pictures of another size",
    { units: { images: 1 }, image: { quality: "hd", size: "7x7" } },
    priced(pictures),
    80_000_000,
  ],
  ["pictures of another quality", { units: { images: 1 }, image: { quality: "auto" } }, priced(pictures), 40_000_000],
  [
    "pictures, their tokens for nothing",
    { input_tokens: 10, output_tokens: 1_000, units: { images: 1 } },
    priced({ ...pictures, tokens: { [request]: 5, response_image_token: 40 } }),
    40_050_000,
  ],
  [
    "pictures by their tokens",
    { output_tokens: 1_000, units: { images: 1 } },
    priced({ tokens: { response_image_token: 40 } }),
    40_000_000,
  ],
  [
    "pictures by their tokens, where there is a price of each as well",
    { output_tokens: 1_000, units: { images: 1 } },
    priced({ ...pictures, tokens: { response_image_token: 32 } }),
    32_000_000,
  ],
  [
    "pictures whose tokens were not counted",
    { units: { images: 1 } },
    priced({ ...pictures, tokens: { response_image_token: 32 } }),
    40_000_000,
  ],
  [
    "pictures and the text beside them",
    { output_tokens: 1_100, units: { images: 1, image_output_tokens: 1_000 } },
    priced({ ...pictures, tokens: { [response]: 10, response_image_token: 32 } }),
    33_000_000,
  ],
  ["pictures each", { units: { images: 3 } }, priced({ units: { generated_images: 0.035 } }), 105_000_000],
  ["pictures without a price", { units: { images: 3 } }, priced({ tokens: plain }), undefined],
  ["pages", { units: { pages: 2 } }, priced({ tokens: { [request]: 4_000 } }), 8_000_000],
  ["pages by their own name", { units: { pages: 2 } }, priced({ tokens: plain, units: { pages: 0.001 } }), 2_000_000],
  ["searches", { units: { search_units: 3 } }, priced({ tokens: { [request]: 2_000 } }), 6_000_000],
  [
    "searches that were counted in tokens",
    { input_tokens: 50, units: { search_units: 3 } },
    priced({ tokens: { [request]: 0.02 } }),
    1_000,
  ],
  ["characters", { units: { characters: 20 } }, priced({ tokens: { [request]: 15 } }), 300_000],
  ["characters of a model that counts tokens", { units: { characters: 20 } }, priced({ tokens: plain }), undefined],
  [
    "seconds by the minute",
    { units: { seconds: 12.3 } },
    priced({ tokens: { [request]: 6_000 }, units: { request_audio_token: 0.006 } }),
    1_230_000,
  ],
  [
    "an hour and a bit",
    { units: { seconds: 3_600.001 } },
    priced({ units: { request_audio_token: 0.006 } }),
    360_000_100,
  ],
  ["a third of a nano-dollar", { units: { seconds: 0.02 } }, priced({ units: { request_audio_token: 0.000001 } }), 0],
  ["seconds without a price", { units: { seconds: 12.3 } }, priced({ tokens: plain }), undefined],
  [
    "sound by tokens where the list has minutes",
    { input_tokens: 14, audio_input_tokens: 14 },
    priced({ tokens: { ...plain, request_audio_token: 6 }, units: { request_audio_token: 0.006 } }),
    84_000,
  ],
  [
    "searches of the web",
    { input_tokens: 1, units: { web_search: 2 } },
    priced({ tokens: plain, units: { web_search: 0.01 } }),
    20_002_500,
  ],
  [
    "searches of the web without a price",
    { input_tokens: 1, units: { web_search: 2 } },
    priced({ tokens: plain }),
    2_500,
  ],
  ["parts of things", { units: { megapixels: 1.048 } }, priced({ units: { megapixels: 0.000027 } }), 28_296],
  ["what each call costs", { input_tokens: 1 }, priced({ tokens: plain, fixed: [0.01, 0.000002] }), 10_004_500],
  ["tokens without a price", { input_tokens: 7 }, priced({ units: { pages: 1 } }), undefined],
  ["a free model", { input_tokens: 7 }, priced({ tokens: { [request]: 0 } }), 0],
  [
    "a batch at its own price",
    { input_tokens: 100, output_tokens: 10 },
    priced({ tokens: plain, batch: { [request]: 1, [response]: 3 } }),
    130_000,
    true,
  ],
  [
    "a batch at half the price",
    { input_tokens: 3, output_tokens: 1 },
    priced({ tokens: { [request]: 0.0005, [response]: 0.15 } }),
    76,
    true,
  ],
  [
    "a batch with one price of its own",
    { input_tokens: 100, cached_tokens: 50, output_tokens: 10 },
    priced({ tokens: full, batch: { [request]: 1 } }),
    50_000 + 31_250 + 50_000,
    true,
  ],
  [
    "a batch with searches of the web, which cost the same",
    { input_tokens: 2, units: { web_search: 2 } },
    priced({ tokens: plain, units: { web_search: 0.01 } }),
    20_002_500,
    true,
  ],
  ["a batch of pages", { units: { pages: 2 } }, priced({ tokens: { [request]: 4_000 } }), 4_000_000, true],
  [
    "a million million tokens",
    { input_tokens: 1e12 },
    priced({ tokens: { [request]: 0.123456789 } }),
    123_456_789_000_000,
  ],
  [
    "more than can be told",
    { output_tokens: Number.MAX_SAFE_INTEGER },
    priced({ tokens: plain }),
    Number.MAX_SAFE_INTEGER,
  ],
];
for (const [name, counts, price, nanos, batch] of rows) {
  test(`costOf() of ${name}`, () => {
    assert.equal(costOf(counts, price, { batch }), nanos);
  });
}

for (const [provider, model, counts, nanos] of [
  [
    "openai",
    "gpt-4o",
    { input_tokens: 1_000, cached_tokens: 400, output_tokens: 10 },
    600 * 2_500 + 400 * 1_250 + 100_000,
  ],
  ["openai", "whisper-1", { units: { seconds: 60 } }, 6_000_000],
  ["openai", "tts-1", { units: { characters: 1_000 } }, 15_000_000],
  [
    "openai",
    "gpt-4o-transcribe",
    { input_tokens: 14, audio_input_tokens: 14, output_tokens: 45 },
    14 * 6_000 + 45 * 10_000,
  ],
  ["openai", "gpt-4o-mini-tts", { input_tokens: 10, output_tokens: 100 }, 6_000 + 1_200_000],
  ["openai", "gpt-4o-mini-tts", { units: { characters: 100 } }, undefined],
  ["mistral-ai", "mistral-ocr-latest", { units: { pages: 3 } }, 12_000_000],
  ["cohere", "rerank-v3.5", { units: { search_units: 1 } }, 2_000_000],
  ["jina", "jina-reranker-v3", { input_tokens: 100 }, 5_000],
  ["azure-openai", "tts", { units: { characters: 2 } }, 30_000],
  ["google", "gemini-2.5-pro", { input_tokens: 200_000 }, 200_000 * 1_250],
  ["google", "gemini-2.5-pro", { input_tokens: 200_001 }, 200_001 * 2_500],
  ["openai", "no-such-model", { input_tokens: 1 }, undefined],
] as const) {
  test(`${provider} ${model} costs ${nanos} for ${JSON.stringify(counts)}`, () => {
    assert.equal(costAt(counts, findPriceTiers(provider, model)), nanos);
  });
}

test("findPriceTiers() returns the prices findPrice() does, and the same ones again", () => {
  const priceTiers = findPriceTiers("google", "gemini-2.5-pro");
  assert.ok(priceTiers);
  for (const tokens of [0, 200_000, 200_001, 1e9]) {
    assert.deepEqual(priceAt(priceTiers, tokens), findPrice("google", "gemini-2.5-pro", tokens));
  }
  assert.equal(findPriceTiers("google", "gemini-2.5-pro"), priceTiers);
  assert.equal(findPriceTiers("google", "x".repeat(300)), undefined);
});

test("toCents() is exact to the nano-dollar", () => {
  for (const [nanos, text] of [
    [1, "1e-7"],
    [12_345, "0.0012345"],
    [10_000_000, "1"],
    [123_456_789_012_345, "12345678.9012345"],
  ] as const) {
    assert.equal(String(toCents(nanos)), text);
  }
});

/** A decimal as a whole number of 10^-18. */
function scaled(value: number, places: number): bigint {
  const [text = "", exponent = "0"] = String(value).split("e");
  const [before = "", behind = ""] = text.split(".");
  return BigInt(before + behind) * 10n ** BigInt(places + Number(exponent) - behind.length);
}

test("costOf() is the sum of whole numbers, whatever the prices and counts", () => {
  const price = fc.integer({ min: 0, max: 999_999_999 }).map((digits) => Number(`${digits}e-6`));
  const count = fc.oneof(fc.nat(1_000), fc.nat(1_000_000_000), fc.integer({ min: 0, max: 100_000_000_000 }));
  const counts = fc.record({ text: count, out: count, read: count, write: count, sound: count, made: count });
  const prices = fc.tuple(price, price, price, price, price, price);
  fc.assert(
    fc.property(counts, prices, fc.boolean(), fc.nat(1_000_000), (told, [a, b, c, d, e, f], batch, milliseconds) => {
      const model = priced({
        tokens: {
          [request]: a,
          [response]: b,
          cache_read_input_token: c,
          cache_write_input_token: d,
          request_audio_token: e,
          response_audio_token: f,
        },
        units: { thousandths: 0.000123 },
      });
      const given = {
        input_tokens: told.text + told.read + told.write + told.sound,
        output_tokens: told.out + told.made,
        cached_tokens: told.read,
        cache_write_tokens: told.write,
        audio_input_tokens: told.sound,
        audio_output_tokens: told.made,
        units: { thousandths: milliseconds / 1_000 },
      };
      const { text, out, read, write, sound, made } = told;
      const sums = [
        [text, a],
        [out, b],
        [read, c],
        [write, d],
        [sound, e],
        [made, f],
      ] as const;
      // 10^-21 dollars
      const whole = sums.reduce((sum, [many, each]) => sum + BigInt(many) * scaled(each, 15), 0n);
      const all = whole + BigInt(milliseconds) * scaled(0.000123, 18);
      const nano = (batch ? 2n : 1n) * 10n ** 12n;
      const wanted = (2n * all + nano) / (2n * nano);
      assert.equal(costOf(given, model, { batch }) ?? 0, Math.min(Number(wanted), Number.MAX_SAFE_INTEGER));
    }),
    { numRuns: 500 },
  );
});
