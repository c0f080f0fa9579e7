import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { listModels, listPricedProviders } from "../../src/pricing/prices.ts";
import { builtInProviders } from "../../src/providers/registry.ts";
import { ModelFacts } from "../../src/schemas/model-facts.ts";

/** Priced models with their facts. */
const described = builtInProviders.flatMap((provider) =>
  listModels(provider.slug).map((model) => ({ provider, model, facts: provider.describe(model) })),
);

test("facts of priced models agree with each other", () => {
  assert.ok(listPricedProviders().length > 20);
  for (const { provider, model, facts } of described) {
    const name = `${provider.slug} ${model}`;
    assert.ok(v.is(ModelFacts, facts), name);
    const { contextWindow = Number.POSITIVE_INFINITY, maxInputTokens = 0, maxOutputTokens = 0 } = facts;
    assert.ok(maxInputTokens <= contextWindow && maxOutputTokens <= contextWindow, name);
    if (facts.images === "none") assert.equal(facts.inputs?.includes("image") ?? false, false, name);
    if (facts.reasons === true) assert.notEqual(facts.thinking, "none", name);
    if (facts.reasons === false) assert.ok(facts.thinking === undefined || facts.thinking === "none", name);
    if (facts.takesTools !== undefined) assert.ok(facts.outputs?.includes("text"), name);
    if (facts.outputs?.includes("embeddings")) assert.equal(facts.takesTools, undefined, name);
  }
});

test("each pattern of the cards is one that the operator's file could have, and stands once", () => {
  for (const { slug, facts } of builtInProviders) {
    const patterns = (facts?.cards ?? []).flatMap(({ match }) => match);
    assert.equal(new Set(patterns).size, patterns.length, slug);
    for (const pattern of patterns) {
      assert.equal(pattern, pattern.toLowerCase(), `${slug} ${pattern}`);
      assert.ok(pattern.split("*").length <= 5, `${slug} ${pattern}`);
    }
  }
});

test("current models have a window, modalities and abilities in the list", () => {
  for (const [slug, ...models] of [
    ["openai", "gpt-4o", "gpt-4.1-mini", "o3", "gpt-5", "gpt-5.4", "gpt-5.5-pro", "gpt-5.6-sol", "gpt-6-luna"],
    ["anthropic", "claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-4-8", "claude-opus-5", "claude-fable-5"],
    [
      "google",
      "gemini-2.5-pro",
      "gemini-2.5-flash-lite",
      "gemini-3.1-pro-preview",
      "gemini-3.6-flash",
      "gemini-3.8-flash",
    ],
    ["vertex-ai", "gemini-3.5-flash", "anthropic.claude-opus-4-8", "claude-sonnet-4-6"],
    ["bedrock", "us.anthropic.claude-opus-4-8-v1:0", "anthropic.claude-sonnet-4-5-20250929-v1:0"],
    ["azure-openai", "my-gpt-5.4", "gpt-4o"],
    ["deepseek", "deepseek-v4-pro"],
    ["x-ai", "grok-4.20"],
    ["moonshot", "kimi-k2.6", "kimi-k3"],
    ["z-ai", "glm-5.1"],
  ] as const) {
    const provider = builtInProviders.find((one) => one.slug === slug);
    for (const model of models) {
      const { contextWindow, inputs, outputs, takesTools, reasons } = provider?.describe(model) ?? {};
      const known = [contextWindow, inputs, outputs, takesTools, reasons].map((fact) => fact !== undefined);
      assert.deepEqual(known, Array(5).fill(true), `${slug} ${model}`);
    }
  }
});

test("hosts of other makers' models do not show the days on which these retire at their makers", () => {
  for (const slug of ["vertex-ai", "bedrock", "bedrock-mantle", "azure-openai", "azure-ai"]) {
    const found = described.filter(({ provider, facts }) => provider.slug === slug && facts.retiredOn !== undefined);
    assert.deepEqual(
      found.map(({ model }) => model),
      [],
      slug,
    );
  }
});
