import assert from "node:assert/strict";
import { after, test } from "node:test";
import { countTokens } from "../../src/lib/token-count.ts";
import { createTokenThread } from "../../src/serve/token-thread.ts";

const thread = createTokenThread();
after(() => thread.close());

const texts = ["Hello there", "Half a sentence", "Grüße 👋 <|endoftext|>", "word ".repeat(2_000)];

test("a thread counts the tokens that are counted in place", async () => {
  for (const text of texts) assert.equal(await thread.count([text]), await countTokens([text]), text.slice(0, 30));
  assert.equal(await thread.count(["Hello there"]), 2);
});

test("a thread answers several requests at once, each with its count", async () => {
  const counts = await Promise.all(Array.from({ length: 20 }, (_, index) => thread.count(["one ".repeat(index + 1)])));
  const wanted = await Promise.all(counts.map((_, index) => countTokens(["one ".repeat(index + 1)])));
  assert.deepEqual(counts, wanted);
});

test("a thread that was ended is followed by a new one", async () => {
  const own = createTokenThread();
  const first = own.count(["Hello there"]);
  await own.close();
  await Promise.allSettled([first]);
  assert.equal(await own.count(["Hello there"]), 2);
  await own.close();
});
