import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens, estimateTokens, withBoundedWaiting } from "../../src/lib/token-count.ts";

for (const [text, tokens] of [
  ["", 0],
  ["Hello there", 2],
  ["Half a sentence", 3],
  ["漢字", 2],
  // a caller's text is no control token
  ["<|endoftext|>", 7],
] as const) {
  test(`${JSON.stringify(text)} has ${tokens} tokens`, async () => {
    assert.equal(await estimateTokens([text], countTokens), tokens);
  });
}

test("a long text has as many tokens as its words", async () => {
  assert.equal(await estimateTokens(["Hello".concat(" there".repeat(5_000))], countTokens), 5_001);
});

test("strings of together more than 65,536 characters are not counted: four bytes are a token", async () => {
  const asked: string[] = [];
  const count = async (strings: readonly string[]) => asked.push(...strings);
  assert.equal(await estimateTokens(["é".repeat(40_000), "a".repeat(40_002)], count), 30_001);
  assert.deepEqual(asked, []);
  assert.equal(await estimateTokens(["a".repeat(65_536)], count), 1);
});

test("what cannot be counted is a token for four bytes", async () => {
  const broken = () => Promise.reject(new Error("no vocabulary"));
  assert.equal(await estimateTokens(["12345678", "9"], broken), 3);
  assert.equal(await estimateTokens([], broken), 0);
});

for (const [name, letter] of [
  ["one letter", "a"],
  ["ideographs", "漢字"],
  ["emoji", "😀"],
] as const) {
  test(`a word of ${name} takes no time that grows with its square`, async () => {
    const text = letter.repeat(64 * 1024).slice(0, 64 * 1024);
    await countTokens(["a"]);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const start = performance.now();
    try {
      assert.ok((await estimateTokens([text], countTokens)) > 1_000);
    } finally {
      clearInterval(timer);
    }
    // as one word it takes six to nine seconds
    assert.ok(performance.now() - start < 3_000);
    assert.ok(turns >= 10, "others have a turn");
  });
}

test("withBoundedWaiting() counts what fits beside what is being counted, and one text of any length", async () => {
  const ends: (() => void)[] = [];
  const count = withBoundedWaiting(() => new Promise((resolve) => ends.push(() => resolve(1))), 100);
  const ask = (length: number) => estimateTokens(["a".repeat(length)], count);
  const [first, second] = [ask(60), ask(40)];
  assert.equal(await ask(40), 10, "four bytes are a token");
  for (const end of ends.splice(0)) end();
  assert.deepEqual([await first, await second], [1, 1]);
  const long = ask(1_000);
  for (const end of ends.splice(0)) end();
  assert.equal(await long, 1);
});
