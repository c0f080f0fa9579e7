import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Schema, Validator } from "@cfworker/json-schema";
import { shiftDecimal } from "../../src/pricing/decimals.ts";
import list from "../../src/pricing/price-list.json" with { type: "json" };
import { findPrice, listModels, listPricedProviders } from "../../src/pricing/prices.ts";

for (const [provider, model, kind, wanted] of [
  ["openai", "gpt-4o", "request_token", 2.5],
  ["openai", "gpt-4o", "response_token", 10],
  ["openai", "gpt-4o", "cache_read_input_token", 1.25],
  ["anthropic", "claude-3-5-haiku-20241022", "cache_write_input_token", 1],
  ["anyscale", "meta-llama/Llama-2-70b-chat-hf", "request_token", 1],
  ["workers-ai", "@cf/meta/llama-3.1-8b-instruct", "request_token", 0.282],
] as const) {
  test(`findPrice() knows ${kind} of ${provider} ${model}`, () => {
    assert.equal(findPrice(provider, model)?.tokens.get(kind), wanted);
  });
}

test("findPrice() knows prices of batches, units and images", () => {
  const haiku = findPrice("anthropic", "claude-3-5-haiku-20241022");
  assert.deepEqual(
    [...(haiku?.batch ?? [])],
    [
      ["request_token", 0.4],
      ["response_token", 2],
    ],
  );
  assert.equal(haiku?.units.get("cache_write_1h"), 0.0000016);
  assert.equal(findPrice("azure-ai", "Stable-Diffusion-3.5-Large")?.images.get("default")?.get("default"), 0.08);
});

for (const [tokens, name] of [
  [0, "gemini-2.5-pro-lte-200k"],
  [200_000, "gemini-2.5-pro-lte-200k"],
  [200_001, "gemini-2.5-pro-gt-200k"],
] as const) {
  test(`findPrice() accepts the tier of ${tokens} tokens`, () => {
    assert.equal(findPrice("google", "gemini-2.5-pro", tokens)?.name, name);
  });
}

for (const [provider, model, name] of [
  ["bedrock", "arn:aws:bedrock:us-east-1::foundation-model/cohere.rerank-v3-5:0", "cohere.rerank-v3-5:0"],
  [
    "bedrock",
    "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-3-haiku-20240307-v1:0",
    "anthropic.claude-3-haiku-20240307-v1:0",
  ],
  ["google", "models/gemini-2.5-pro", "gemini-2.5-pro-lte-200k"],
  ["vertex-ai", "anthropic.claude-sonnet-4-5@20250929", "claude-sonnet-4-5@20250929-lte-200k"],
] as const) {
  test(`findPrice() knows ${model} of ${provider}`, () => {
    assert.equal(findPrice(provider, model)?.name, name);
  });
}

for (const [provider, model, name] of [
  ["openai", "ft:gpt-4o-mini-2024-07-18:acme::A1b2C3", "ft:gpt-4o-mini-2024-07-18"],
  ["openai", "ft:gpt-4o-mini-2024-07-18:acme:helper:A1b2C3:ckpt-step-90", "ft:gpt-4o-mini-2024-07-18"],
  ["openai", "ft:gpt-4o", "ft:gpt-4o"],
  // the list has no tuned one
  ["openai", "ft:gpt-4.1-nano:acme::A1b2C3", "gpt-4.1-nano"],
  ["azure-openai", "gpt-4o-2024-08-06.ft-0e208cf33a6a466994aff31a08aba678", "gpt-4o-2024-08-06.ft"],
  ["openai", "ft:no-such-model:acme::A1b2C3", undefined],
  ["openai", "ft::acme", undefined],
] as const) {
  test(`findPrice() knows ${name} for the tuned ${model}`, () => {
    assert.equal(findPrice(provider, model)?.name, name);
  });
}

test("findPrice() drops the region of Bedrock's names", () => {
  const name = "anthropic.claude-3-haiku-20240307-v1:0";
  assert.ok(findPrice("bedrock", name));
  assert.equal(findPrice("bedrock", `eu.${name}`)?.name, name);
  assert.equal(findPrice("openai", "us.gpt-4o"), undefined);
});

for (const [provider, model] of [
  ["openai", "no-such-model"],
  ["no-such-provider", "gpt-4o"],
  ["__proto__", "constructor"],
  ["openai", "constructor"],
  ["openai", ""],
] as const) {
  test(`findPrice() knows nothing of ${provider} ${model}`, () => {
    assert.equal(findPrice(provider, model), undefined);
  });
}

test("listModels() names each model once, without bounds of prompts", () => {
  const models = listModels("google");
  assert.equal(models.filter((name) => name === "gemini-2.5-pro").length, 1);
  assert.deepEqual(models, models.toSorted());
  assert.ok(!models.some((name) => /-(?:lte|gt)-/.test(name)));
  assert.deepEqual(listModels("no-such-provider"), []);
});

const read = (name: string) => readFileSync(new URL(`../../src/pricing/${name}`, import.meta.url), "utf8");
const schema: Schema = JSON.parse(read("price-list.schema.json"));
const validator = new Validator(schema, "2020-12", false);

test("the price list follows its schema", () => {
  assert.deepEqual(validator.validate(list).errors, []);
});

for (const [what, model] of [
  ["a kind of token that there is not", { inn: 1 }],
  ["a negative price", { in: -1 }],
  ["a price in quotes", { in: "1" }],
  ["an entry without prices", {}],
  ["a kind of token of batches that there is not", { in: 1, batch: { units: 1 } }],
] as const) {
  test(`the schema of the price list refuses ${what}`, () => {
    const broken = {
      ...list,
      providers: { acme: { source: "https://acme.test", date: "2026-01-01", models: { model } } },
    };
    assert.equal(validator.validate(broken).valid, false);
  });
}

test("no name of a model occurs twice", () => {
  const names = read("price-list.json").match(/^ {8}"/gm) ?? [];
  assert.equal(names.length, Object.values(list.providers).flatMap(({ models }) => Object.keys(models)).length);
});

test("every entry of the list is read whole", () => {
  assert.deepEqual(listPricedProviders(), Object.keys(list.providers));
  for (const provider of listPricedProviders()) {
    for (const model of listModels(provider)) assert.ok(findPrice(provider, model), `${provider} ${model}`);
  }
});

for (const [value, places, wanted] of [
  [2.5, -4, 0.00025],
  [0.15, -4, 0.000015],
  [0.07, 2, 7],
  [0.0000016, 2, 0.00016],
  [1.4e-7, 2, 0.000014],
  [0, -4, 0],
  [1e21, -4, 1e17],
] as const) {
  test(`shiftDecimal() makes ${wanted} of ${value} and ${places}`, () => {
    assert.equal(shiftDecimal(value, places), wanted);
  });
}
