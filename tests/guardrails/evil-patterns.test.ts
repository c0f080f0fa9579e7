import assert from "node:assert/strict";
import { test } from "node:test";
import { prepareGuard } from "../support/guardrails.ts";
import { measureGap } from "../support/loop-gap.ts";
import { sample } from "../support/sample.ts";

/** Milliseconds of processor time that one piece of work may hold the loop. */
const limitMs = 50;

/** Patterns that take backtracking engines exponential or quadratic time, and those with many states. */
const patterns = [
  "(a+)+$",
  "(a*)*b",
  "(a|a)*b",
  "(a|aa)+$",
  "(.*)*x",
  "(.*a){12}",
  "(x+x+)+y",
  "^(([a-z])+.)+[A-Z]([a-z])+$",
  "^(a?){50}a{50}$",
  "(?:a{1,20}){1,20}b",
  "[ab]*a[ab]{400}c",
  "(a|b|ab)*c",
  "\\s+$",
  "^\\s*(\\S+\\s*)*$",
  "(\\w+\\d*)+z",
  "(?i)(a|A|\\x{e1})+z",
  "^(\\d+)*$|a+b",
  "(a+b?)+c",
  "([a-zA-Z]+)*1",
  "a.*a.*a.*a.*b",
  "(?s)a.{0,300}a.{0,300}b",
  "(?:(?:a*)*)*b",
  "^(?:.?){200}b",
  "(\\pL+\\s?)+!",
  "((a|b)*|(b|c)*)*d",
  "a{500}b",
  "(?:a|b|c|d|e){300}f",
  "(a*?)*?b",
  "\\b(\\w+)\\b \\b(\\w+)\\b!",
  "^(a|[^b])*b{20}$",
];
const text = "a".repeat(1024 * 1024 - 1);

test("there are 30 evil patterns", () => assert.equal(new Set(patterns).size, 30));

for (const rule of sample(patterns, 6)) {
  test(`${rule} on a mebibyte leaves the event loop free`, async () => {
    const run = prepareGuard([{ "default.regexMatch": { rule, not: true } }], { text: `${text}!` });
    const { gapMs } = await measureGap(run, limitMs / 2);
    assert.ok(gapMs < limitMs, `the loop was held for ${Math.round(gapMs)} ms`);
  });
}
