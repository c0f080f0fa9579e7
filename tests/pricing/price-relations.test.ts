import assert from "node:assert/strict";
import { test } from "node:test";
import { priceList } from "../../src/pricing/tables/price-list.ts";

interface Entry {
  /** Provider and model. */
  name: string;
  prices: ReadonlyMap<string, number>;
}

function readEntries(): Entry[] {
  let provider = "";
  return priceList
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [model = "", ...parts] = line.split(" ");
      if (model === "#") {
        provider = parts.join(" ");
        return [];
      }
      const prices = parts.map((part) => part.split("=")).map(([kind = "", value]) => [kind, Number(value)] as const);
      return [{ name: `${provider} ${model}`, prices: new Map(prices) }];
    });
}

const entries = readEntries();

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
  { low: "audio-in", high: "audio-out" },
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

for (const [name, wanted] of [
  ["openai gpt-realtime", { read: 0.4, "audio-read": 0.4 }],
  ["openai gpt-4o-mini-realtime-preview", { read: 0.3, "audio-in": 10, "audio-out": 20, "audio-read": 0.3 }],
  ["openai gpt-5-pro", { read: undefined }],
  ["azure-openai codex-mini-latest", { read: 0.375, write: undefined }],
  ["azure-openai gpt-4o-mini-tts", { in: 0.6, "audio-out": 12 }],
  ["bedrock anthropic.claude-3-7-sonnet-20250219-v1:0", { read: 0.3, write: 3.75 }],
  ["google gemini-3.1-pro-preview-gt-200k", { read: 0.4, write: undefined }],
  ["minimax MiniMax-M2.7-highspeed", { in: 0.6, out: 2.4, read: 0.06, write: 0.375 }],
] as const) {
  test(`the corrected prices of ${name} stay`, () => {
    const prices = entries.find((entry) => entry.name === name)?.prices;
    for (const [kind, price] of Object.entries(wanted)) assert.equal(prices?.get(kind), price, kind);
  });
}
