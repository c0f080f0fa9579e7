import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { firstPlainIssue } from "../../src/lib/issues.ts";
import { findNearest } from "../../src/lib/nearest.ts";

const long = "x".repeat(100_000);
const cases: readonly [what: string, schema: v.GenericSchema, value: unknown, said: string][] = [
  ["a missing member", v.looseObject({ messages: v.array(v.unknown()) }), {}, "required"],
  ["an unknown member", v.strictObject({}), { a: 1 }, "is not a known field"],
  ["a number for a string", v.looseObject({ model: v.string() }), { model: 5 }, "must be a string"],
  ["a long text for a number", v.number(), long, "must be a number"],
  ["a number for a string or a list", v.union([v.string(), v.array(v.string())]), 5, "must be a string or a list"],
  ["a string for an object", v.looseObject({}), "a", "must be an object"],
  ["a string for true or false", v.boolean(), "yes", "must be true or false"],
  ["another word", v.picklist(["a", "b"]), "c", 'must be "a" or "b"'],
  ["a number that is too small", v.pipe(v.number(), v.minValue(1)), 0, "must be at least 1"],
  ["a number that is too large", v.pipe(v.number(), v.maxValue(2)), 3, "must be at most 2"],
  ["a fraction", v.pipe(v.number(), v.integer()), 1.5, "must be a whole number"],
  ["an empty list", v.pipe(v.array(v.unknown()), v.minLength(1)), [], "must not be empty"],
  ["a string that is too long", v.pipe(v.string(), v.maxLength(2)), "abc", "must have at most 2 characters"],
  ["a string of another form", v.pipe(v.string(), v.regex(/^a$/)), "b", "has a value that cannot be used"],
  ["a schema with words of its own", v.string("must be text"), 5, "must be text"],
];

for (const [what, schema, value, said] of cases) {
  test(`${what} is "${said}"`, () => {
    const { issues } = v.safeParse(schema, value, firstPlainIssue);
    assert.equal(issues?.[0].message, said);
  });
}

test("findNearest() finds names that were misspelt or cut", () => {
  const known = ["openai", "azure-openai", "anthropic", "together-ai", "mistral-ai"];
  assert.deepEqual(findNearest("opnai", known), ["openai"]);
  assert.deepEqual(findNearest("Anthropic ", known), ["anthropic"]);
  assert.deepEqual(findNearest("mistral", known), ["mistral-ai"]);
  assert.deepEqual(findNearest("nothing-like-it", known), []);
  assert.deepEqual(findNearest("x".repeat(10_000), known), []);
});
