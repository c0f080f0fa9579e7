import assert from "node:assert/strict";
import { test } from "node:test";
import { compilePattern, PatternSum } from "../src/pattern.ts";

for (const [rule, longest] of [
  ["abc", 3],
  ["a?b{2,4}", 5],
  ["(?:cat|horse)s?", 6],
  ["^\\bx$", 1],
  ["\\d{4} \\d{4}", 9],
  ["[^ ]{3}", 6],
  [".", 2],
  ["\u{1f600}", 2],
  ["(?i)k", 1],
  ["a+", undefined],
  ["a.*b", undefined],
  ["(?:ab){2,}", undefined],
  ["", 0],
] as const) {
  test(`the longest match of /${rule}/ has ${longest ?? "any number of"} characters`, () => {
    const pattern = compilePattern(rule, new PatternSum(10_000));
    assert.ok(typeof pattern !== "string");
    assert.equal(pattern.longest, longest);
  });
}
