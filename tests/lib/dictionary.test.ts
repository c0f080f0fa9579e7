import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeDictionary, encodeDictionary, toDictionary } from "../../src/lib/dictionary.ts";
import { runNow } from "../../src/lib/steps.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `text-${index}`);

const cases: readonly [name: string, texts: readonly string[]][] = [
  ["nothing", []],
  ["one string", ["a"]],
  ["few strings", ["", "a", "b\0c", "\ud83d\ude00", "\ud83d", "\ufeffmark"]],
  ["many strings", ["\ufeffmark", "", "a\0b", "é", "\ud83d\ude00", ...numbered(5_000)]],
  ["many strings with half a surrogate pair", ["\ud83d", "\ude00", ...numbered(600)]],
  // several of them have the same digest
  ["very many strings", numbered(300_000)],
];

for (const [name, texts] of cases) {
  test(`a dictionary of ${name} is the same after it was stored`, () => {
    const { dictionary, places } = runNow(toDictionary(texts), Number.POSITIVE_INFINITY);
    for (const one of [dictionary, decodeDictionary(encodeDictionary(dictionary))]) {
      assert.equal(one.size, texts.length);
      assert.ok(texts.every((text, index) => one.at(places[index] ?? -1) === text));
      assert.ok(texts.every((text, index) => one.indexOf(text) === places[index]));
      assert.equal(one.indexOf("absent"), -1);
      assert.equal(one.indexOf("text-"), -1);
      assert.deepEqual(
        one
          .findAll((text) => text === "text-7" || text === "text-70")
          .map((place) => one.at(place))
          .sort(),
        texts.filter((text) => text === "text-7" || text === "text-70"),
      );
    }
  });
}

test("decodeDictionary() refuses other bytes", () => {
  assert.throws(() => decodeDictionary(Uint8Array.of(7, 0, 0, 0, 0, 0, 0, 0)), RangeError);
  const bytes = encodeDictionary(runNow(toDictionary(numbered(600)), Number.POSITIVE_INFINITY).dictionary);
  assert.throws(() => decodeDictionary(bytes.subarray(0, -1)), RangeError);
});
