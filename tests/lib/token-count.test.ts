import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateTokens } from "../../src/lib/token-count.ts";

for (const [text, tokens] of [
  ["", 0],
  ["Hello there", 2],
  ["Half a sentence", 3],
  ["漢字", 2],
  // a caller's text is no control token
  ["<|endoftext|>", 7],
] as const) {
  test(`${JSON.stringify(text)} has ${tokens} tokens`, async () => {
    assert.equal(await estimateTokens([text]), tokens);
  });
}

test("a long text has as many tokens as its words", async () => {
  assert.equal(await estimateTokens(["Hello".concat(" there".repeat(5_000))]), 5_001);
});

test("strings of together more than 65,536 characters count a token for four bytes", async () => {
  assert.equal(await estimateTokens(["é".repeat(40_000), "a".repeat(40_002)]), 30_001);
});

for (const [name, letter] of [
  ["one letter", "a"],
  ["ideographs", "漢字"],
  ["emoji", "😀"],
] as const) {
  test(`a word of ${name} takes no time that grows with its square`, async () => {
    const text = letter.repeat(64 * 1024).slice(0, 64 * 1024);
    await estimateTokens(["a"]);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const start = performance.now();
    try {
      assert.ok((await estimateTokens([text])) > 1_000);
    } finally {
      clearInterval(timer);
    }
    // as one word it takes six to nine seconds
    assert.ok(performance.now() - start < 3_000);
    assert.ok(turns >= 10, "others have a turn");
  });
}
