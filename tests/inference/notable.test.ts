import assert from "node:assert/strict";
import { test } from "node:test";
import { scanEvents, toByteText } from "../../src/inference/stream/completion-observer.ts";

const find = (text: string) => scanEvents(toByteText(new TextEncoder().encode(text)));

/** The searched parts, as patterns. */
function search(text: string): { notable: boolean; finishes: boolean } {
  const notable = /\[DONE\]|"usage"\s*:\s*\{|"error"\s*:\s*[{"]/.exec(text);
  const before = notable ? text.slice(0, notable.index) : text;
  return { notable: notable !== null, finishes: /"finish_reason"\s*:\s*"/.test(before) };
}

const parts = [
  '"usage"',
  '"error"',
  "[DONE]",
  '"finish_reason"',
  ":",
  " : ",
  "\n",
  "{",
  '"',
  "}",
  "[",
  "]",
  "null",
  "é",
  "a",
  "usage",
  'sage"',
  'rror"',
  "DONE]",
  'reason"',
  'xusage"',
  "data: ",
  " ",
  "\t",
  "0",
  '"delta"',
  "content",
];

for (const seed of [1, 2, 3]) {
  test(`scanEvents() finds what the patterns find in random text (seed ${seed})`, () => {
    let state = seed;
    const next = (limit: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * limit);
    };
    for (let round = 0; round < 20_000; round++) {
      const text = Array.from({ length: 1 + next(12) }, () => parts[next(parts.length)]).join("");
      const wanted = search(text);
      const { at, finishes } = find(text);
      assert.equal(at >= 0, wanted.notable, JSON.stringify(text));
      assert.equal(finishes, wanted.finishes, JSON.stringify(text));
    }
  });
}

for (const [text, wanted] of [
  ['data: {"choices":[],"usage":null}\n\n', false],
  ['data: {"choices":[],"usage":{"prompt_tokens":1}}\n\n', true],
  ['data: {"error":{"message":"x"}}\n\n', true],
  ['data: {"error":null}\n\n', false],
  ["data: [DONE]\n\n", true],
  ["data: [DONE", false],
] as const) {
  test(`scanEvents() says ${wanted} for ${JSON.stringify(text)}`, () => assert.equal(find(text).at >= 0, wanted));
}
