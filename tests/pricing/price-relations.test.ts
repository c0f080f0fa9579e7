import assert from "node:assert/strict";
import { test } from "node:test";
import list from "../../src/pricing/price-list.json" with { type: "json" };
import { pricePages } from "../support/price-pages.ts";

interface Entry {
  /** Provider and model. */
  name: string;
  prices: ReadonlyMap<string, number>;
}

/** Numbers of an object and of those in it, by the names that lead to them. */
function numbersOf(value: object, path = ""): [string, number][] {
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === "number" ? [[path + name, inner] as [string, number]] : numbersOf(inner, `${path}${name}.`),
  );
}

const entries = Object.entries(list.providers).flatMap(([provider, { models }]) =>
  Object.entries(models).map(
    ([model, prices]): Entry => ({ name: `${provider} ${model}`, prices: new Map(numbersOf(prices)) }),
  ),
);

/** A price that must not be above another one of the same model, and the models whose vendor sets it so. */
interface Relation {
  low: string;
  high: string;
  exceptions?: RegExp;
}

/** Classifiers write one label, and a captioner is paid for the audio it hears. */
const shortAnswers = /llama-guard-3-8b$|qwen3-omni-30b-a3b-captioner$/;
/** MiniMax asks less for a write than for input. OpenRouter lists only the storage of what Gemini keeps. */
const cheapWrites = /^openrouter ~?google\/|^minimax /;

const kinds = ["in", "out", "read", "write", "audio-in", "audio-out", "audio-read"];
const relations: Relation[] = [
  { low: "in", high: "out", exceptions: shortAnswers },
  { low: "batch.in", high: "batch.out" },
  { low: "read", high: "in" },
  { low: "in", high: "write", exceptions: cheapWrites },
  { low: "audio-read", high: "audio-in" },
  { low: "read", high: "audio-read" },
  { low: "in", high: "audio-in" },
  { low: "audio-in", high: "audio-out" },
  { low: "out", high: "audio-out" },
  { low: "in", high: "image-in" },
  { low: "image-in", high: "image-out" },
  ...kinds.flatMap((kind) => [
    { low: `batch.${kind}`, high: kind },
    { low: `flex.${kind}`, high: kind },
    { low: kind, high: `priority.${kind}` },
  ]),
];

/** Entries that have both prices, the first above the second. */
function breaches({ low, high, exceptions }: Relation, of: readonly Entry[] = entries): string[] {
  const broken = of.filter(({ prices }) => (prices.get(low) ?? 0) > (prices.get(high) ?? Number.POSITIVE_INFINITY));
  return broken.map(({ name }) => name).filter((name) => exceptions?.test(name) !== true);
}

for (const relation of relations) {
  test(`${relation.low} is at most ${relation.high}`, () => {
    assert.deepEqual(breaches(relation), []);
  });
}

for (const { exceptions } of relations.filter((one) => one.exceptions)) {
  test(`the exceptions ${exceptions} are entries of the list`, () => {
    for (const name of String(exceptions).slice(1, -1).split("|")) {
      assert.ok(
        entries.some((entry) => new RegExp(name).test(entry.name)),
        name,
      );
    }
  });
}

test("a relation finds an entry that breaks it", () => {
  const entry = { name: "p m", prices: new Map(Object.entries({ in: 4, read: 16 })) };
  assert.deepEqual(breaches({ low: "read", high: "in" }, [entry]), ["p m"]);
});

test("no price is negative or no number", () => {
  const broken = entries.filter(({ prices }) => [...prices.values()].some((price) => !(price >= 0)));
  assert.deepEqual(broken, []);
});

test("what a cache reads has a price of input beside it, at most 200 times as high", () => {
  const broken = entries.filter(({ prices }) => {
    const [read, input] = [prices.get("read"), prices.get("in")];
    return read !== undefined && (input === undefined || (read > 0 && input / read > 200));
  });
  assert.deepEqual(broken, []);
});

test("no model that writes text costs more than 700 dollars for a million tokens", () => {
  const broken = entries.filter(({ prices }) => (prices.get("out") ?? 0) > 700);
  assert.deepEqual(broken, []);
});

test("no token of audio or of an image costs more than 250 dollars for a million", () => {
  const tokens = ["audio-in", "audio-out", "audio-read", "image-in", "image-out"];
  const broken = entries.filter(({ prices }) => tokens.some((kind) => (prices.get(kind) ?? 0) > 250));
  assert.deepEqual(broken, []);
});

/** Whether two prices are the same but for the last digits of a floating-point number. */
const isSame = (one: number | undefined, other: number): boolean => Math.abs((one ?? 0) - other) < 1e-9;
const of = ({ prices }: Entry, kind: string): number => prices.get(kind) ?? 0;
const priceOf = new Map(entries.map(({ name, prices }) => [name, prices]));

const perMillion = 1e6;
/** Dollars for a million tokens that are cached for an hour. */
const hourOf = (entry: Entry): number => of(entry, "units.cache_write_1h") * perMillion;

test("an hour in a cache costs at least what five minutes do, and these at least what input does", () => {
  const cached = entries.filter(({ prices }) => prices.has("units.cache_write_1h"));
  assert.ok(cached.length > 50);
  const broken = cached.filter((entry) => hourOf(entry) < of(entry, "write") || of(entry, "write") < of(entry, "in"));
  assert.deepEqual(broken, []);
});

test("what Claude reads from a cache costs a tenth of input, what it writes one and a quarter, for an hour twice", () => {
  const claude = /^(?:anthropic|bedrock|bedrock-mantle|claude-platform-aws|vertex-ai) .*claude-/;
  // its prices are published in whole cents
  const rounded = /claude-3-haiku/;
  const cached = entries.filter(({ name, prices }) => claude.test(name) && prices.has("write") && !rounded.test(name));
  assert.ok(cached.length > 100);
  const broken = cached.filter((entry) => {
    const input = of(entry, "in");
    const parts = [of(entry, "read") / 0.1, of(entry, "write") / 1.25, hourOf(entry) / 2];
    return parts.some((part) => !isSame(part, input));
  });
  assert.deepEqual(broken, []);
});

test("Claude from 4.5 on costs a tenth more at regional endpoints of Bedrock than at the global one", () => {
  const global = entries.filter(({ name }) => /^bedrock global\.anthropic\./.test(name));
  assert.ok(global.length > 15);
  for (const entry of global) {
    const model = entry.name.slice("bedrock global.".length);
    for (const region of ["", "us.", "eu."]) {
      const regional = priceOf.get(`bedrock ${region}${model}`);
      if (!regional && region !== "") continue;
      for (const [kind, price] of entry.prices) assert.ok(isSame(regional?.get(kind), price * 1.1), `${model} ${kind}`);
    }
  }
});

test("OpenAI reads from a cache at a half, a quarter or a tenth of the price of input", () => {
  const cached = entries.filter(({ name, prices }) => name.startsWith("openai ") && prices.has("read"));
  const share = (entry: Entry) => of(entry, "read") / of(entry, "in");
  const broken = cached.filter((entry) => ![0.5, 0.25, 0.1].some((part) => isSame(share(entry), part)));
  assert.deepEqual(broken, []);
});

for (const mode of ["batch", "flex"]) {
  test(`${mode} costs half`, () => {
    // Google asks four fifths for embeddings in batches, and a reseller has its own prices
    const own = /^(?:google|vertex-ai) .*embedding|^deepbricks /;
    const broken = entries.filter(({ name, prices }) =>
      kinds.some((kind) => {
        const price = prices.get(`${mode}.${kind}`);
        return price !== undefined && !own.test(name) && !isSame(price * 2, prices.get(kind) ?? 0);
      }),
    );
    assert.deepEqual(broken, []);
  });
}

const tierEnd = /-(lte|gt)-(\d+k)$/;

test("prices of long prompts stand beside those of short ones, with the same kinds, and are not lower", () => {
  const tiered = entries.filter(({ name }) => tierEnd.test(name));
  assert.ok(tiered.length > 100);
  for (const { name, prices } of tiered) {
    const model = name.replace(tierEnd, "");
    assert.equal(priceOf.has(model), false, `${model} is never found`);
    const isLong = tierEnd.exec(name)?.[1] === "gt";
    const other = priceOf.get(name.replace(tierEnd, `-${isLong ? "lte" : "gt"}-$2`));
    assert.ok(other, `${name} is alone`);
    if (isLong) continue;
    for (const [kind, price] of prices) {
      // priority processing takes no long prompts
      if (!kind.startsWith("priority.")) assert.ok((other.get(kind) ?? -1) >= price, `${name} ${kind}`);
    }
  }
});

/** Snapshots whose price is another than that of the model of today. */
const olderPrices =
  /gpt-4o-2024-05-13|(?:realtime|audio)-preview-2024-10-01|^dashscope |^openrouter (?:qwen|anthropic\/claude-3\.5-haiku)/;

test("a model costs what its snapshots cost", () => {
  const snapshot = /-20\d\d-\d\d-\d\d$/;
  const tokens = [...kinds, "image-in", "image-out"];
  const broken = entries.filter(({ name, prices }) => {
    const model = snapshot.test(name) && !olderPrices.test(name) && priceOf.get(name.replace(snapshot, ""));
    return model && tokens.some((kind) => model.has(kind) && prices.has(kind) && model.get(kind) !== prices.get(kind));
  });
  assert.deepEqual(broken, []);
});

const { openai, longPrompts, priority, images, anthropic, bedrock, gemini, vertex } = pricePages;

for (const [name, wanted, page] of [
  [
    "openai gpt-realtime",
    { in: 4, read: 0.4, "audio-in": 32, "audio-read": 0.4, "audio-out": 64, "image-in": 5 },
    openai,
  ],
  ["openai gpt-4o-mini-realtime-preview", { read: 0.3, "audio-in": 10, "audio-out": 20, "audio-read": 0.3 }, openai],
  ["openai gpt-5-pro", { in: 15, out: 120, read: undefined }, openai],
  ["openai chatgpt-4o-latest", { in: 5, out: 15, read: undefined }, openai],
  ["openai gpt-4.1-nano", { in: 0.1, out: 0.4, read: 0.025, "priority.in": 0.2, "priority.read": 0.05 }, openai],
  ["openai gpt-4o-audio-preview", { in: 2.5, out: 10, "audio-in": 40, "audio-out": 80 }, openai],
  ["openai gpt-audio-mini", { in: 0.6, out: 2.4, "audio-in": 10, "audio-out": 20 }, openai],
  ["openai gpt-4o-mini-tts", { in: 0.6, "audio-out": 12 }, openai],
  ["openai gpt-4o-transcribe", { in: 2.5, out: 10, "audio-in": 6 }, openai],
  ["openai gpt-4o-mini-transcribe", { in: 1.25, out: 5, "audio-in": 3 }, openai],
  ["openai whisper-1", { in: undefined, "audio-in": undefined, "units.request_audio_token": 0.006 }, openai],
  ["openai o1-mini-2024-09-12", { in: 1.1, out: 4.4, read: 0.55 }, openai],
  ["openai o3-deep-research", { in: 10, out: 40, read: 2.5 }, openai],
  ["openai o4-mini-deep-research-2025-06-26", { in: 2, out: 8, read: 0.5 }, openai],
  [
    "openai o3",
    { "flex.in": 1, "flex.read": 0.25, "priority.in": 3.5, "priority.read": 0.875, "priority.out": 14 },
    openai,
  ],
  ["openai o4-mini", { "flex.out": 2.2, "priority.in": 2, "priority.read": 0.5, "priority.out": 8 }, openai],
  ["openai gpt-4.1-mini", { "units.web_search": 0.01, "units.web_search_preview": 0.025 }, openai],
  ["openai gpt-4o-mini-search-preview", { "units.web_search": 0.025 }, openai],
  ["openai gpt-4o", { "priority.in": 4.25, "priority.read": 2.125, "priority.out": 17 }, openai],
  ["openai gpt-4o-mini", { "priority.in": 0.25, "priority.read": 0.125, "priority.out": 1 }, openai],
  ["openai gpt-4.1", { "priority.in": 3.5, "priority.read": 0.875, "priority.out": 14 }, priority],
  ["openai gpt-5-mini", { "priority.in": 0.45, "priority.read": 0.045, "priority.out": 3.6 }, priority],
  ["openai gpt-5.4-gt-272k", { in: 5, out: 22.5, read: 0.5, "flex.in": 2.5, "priority.in": undefined }, longPrompts],
  ["openai gpt-5.4-pro-gt-272k", { in: 60, out: 270 }, longPrompts],
  ["openai gpt-image-1", { in: 5, read: 1.25, "image-in": 10, "image-out": 40, "images.low.1024x1024": 0.011 }, images],
  [
    "openai gpt-image-1-mini",
    { in: 2, read: 0.2, "image-in": 2.5, "image-out": 8, "images.low.1024x1024": 0.005 },
    images,
  ],
  ["openai omni-moderation-latest", { in: 0 }, pricePages.moderation],
  ["azure-openai codex-mini-latest", { read: 0.375, write: undefined }, pricePages.azure],
  ["azure-openai gpt-4o-mini-tts", { in: 0.6, "audio-out": 12 }, pricePages.azure],
  ["azure-openai o4-mini-deep-research-2025-06-26", { in: 2, out: 8, read: 0.5 }, pricePages.azure],
  ["anthropic claude-sonnet-4-5-gt-200k", { in: 6, out: 22.5, read: 0.6, write: 7.5 }, anthropic],
  ["anthropic claude-sonnet-4-6", { in: 3, out: 15, "units.web_search": 0.01 }, anthropic],
  ["vertex-ai claude-3-7-sonnet@20250219", { read: 0.3, write: 3.75, "units.web_search": 0.01 }, vertex],
  ["bedrock anthropic.claude-3-7-sonnet-20250219-v1:0", { read: 0.3, write: 3.75 }, bedrock],
  ["bedrock us.anthropic.claude-sonnet-4-6", { in: 3.3, out: 16.5, read: 0.33, write: 4.125 }, bedrock],
  ["bedrock amazon.nova-lite-v1:0", { in: 0.06, out: 0.24, read: 0.015, write: 0.06 }, bedrock],
  ["bedrock amazon.nova-pro-v1:0", { in: 0.8, out: 3.2, read: 0.2, write: 0.8 }, bedrock],
  ["bedrock amazon.titan-embed-image-v1", { in: 0.8, out: undefined }, bedrock],
  ["bedrock amazon.rerank-v1:0", { in: 1_000 }, bedrock],
  ["bedrock cohere.rerank-v3-5:0", { in: 2_000 }, bedrock],
  ["google gemini-2.5-pro-gt-200k", { in: 2.5, out: 15, read: 0.25 }, gemini],
  ["google gemini-3.1-pro-preview-gt-200k", { in: 4, out: 18, read: 0.4, write: undefined }, gemini],
  ["google gemini-2.5-flash-lte-128k", { in: 0.3, read: 0.03, "audio-in": 1, "audio-read": 0.1 }, gemini],
  ["google gemini-2.5-flash-lite-lte-128k", { in: 0.1, "audio-in": 0.3, "audio-read": 0.03 }, gemini],
  ["google gemini-2.0-flash-lte-128k", { in: 0.1, read: 0.025, "audio-in": 0.7, "audio-read": 0.175 }, gemini],
  ["vertex-ai gemini-2.5-pro-gt-200k", { in: 2.5, out: 15, read: 0.25 }, vertex],
  ["vertex-ai gemini-2.5-flash", { in: 0.3, read: 0.03, "audio-in": 1, "audio-read": 0.1 }, vertex],
  ["vertex-ai semantic-ranker-default@latest", { in: 1_000 }, pricePages.ranking],
  ["x-ai grok-4.6-gt-200k", { in: 4, out: 12, read: 1 }, pricePages.xai],
  ["x-ai grok-4.20-0309-reasoning-lte-200k", { in: 1.25, out: 2.5, read: 0.2 }, pricePages.xai],
  ["deepgram nova-3", { "audio-in": undefined, "units.request_audio_token": 0.0043 }, pricePages.deepgram],
  ["minimax MiniMax-M2.7-highspeed", { in: 0.6, out: 2.4, read: 0.06, write: 0.375 }, "https://platform.minimax.io"],
] as const) {
  test(`the prices of ${name} are those of ${page}`, () => {
    const prices = priceOf.get(name);
    assert.ok(prices);
    for (const [kind, price] of Object.entries(wanted)) assert.equal(prices.get(kind), price, kind);
  });
}
