import assert from "node:assert/strict";
import { test } from "node:test";
import { UnpricedCalls } from "../../src/pricing/unpriced-calls.ts";

test("UnpricedCalls counts calls by provider, and warns once for each model", () => {
  const warnings: string[] = [];
  const calls = new UnpricedCalls((message) => warnings.push(message));
  for (const model of ["a", "a", "b", null]) calls.note("openai", model);
  calls.note("groq", "a");
  assert.deepEqual(
    [...calls.counts()],
    [
      ["openai", 4],
      ["groq", 1],
    ],
  );
  assert.deepEqual(
    warnings.map((message) => message.slice(0, message.indexOf(":"))),
    ["openai a", "openai b", "openai without a model", "groq a"].map((name) => `Cannot price calls of ${name}`),
  );
});

test("UnpricedCalls names a limited number of models, shortened, and counts all", () => {
  const warnings: string[] = [];
  const calls = new UnpricedCalls((message) => warnings.push(message));
  for (let index = 0; index < 3_000; index++) calls.note("openai", `${index}${"x".repeat(10_000)}`);
  assert.equal(calls.counts().get("openai"), 3_000);
  assert.equal(warnings.length, 1_001);
  assert.match(warnings.at(-1) ?? "", /1000 models: further ones are only counted$/);
  assert.ok(warnings.every(({ length }) => length < 400));
});
