import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createTextFinder } from "../../src/lib/text-search.ts";

const encoder = new TextEncoder();
const seed = 20_260_114;

test("createTextFinder() finds a text wherever it stands, and nothing that only looks like one", () => {
  const find = createTextFinder(['"thinking"', '"reasoning"', '"reasoning_content"']);
  const cases: readonly (readonly [string, boolean])[] = [
    ['"thinking"', true],
    ['{"delta":{"reasoning_content":"a"}}', true],
    ['x"reasoning"', true],
    ['"reasoning_tokens":3', false],
    ['thinking"', false],
    ['"thinkin"', false],
    ["", false],
  ];
  for (const [text, expected] of cases) assert.equal(find(encoder.encode(text)), expected, text);
});

test("createTextFinder() agrees with a search in the decoded text", () => {
  const words = ['"ab"', '"b"', '"aab"', '"cb"'];
  const find = createTextFinder(words);
  const property = fc.property(fc.array(fc.constantFrom('"', "a", "b", "c"), { maxLength: 40 }), (letters) => {
    const text = letters.join("");
    assert.equal(
      find(encoder.encode(text)),
      words.some((word) => text.includes(word)),
      text,
    );
  });
  fc.assert(property, { seed, numRuns: 2_000 });
});
