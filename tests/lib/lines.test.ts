import assert from "node:assert/strict";
import { test } from "node:test";
import { readLines } from "../../src/lib/lines.ts";

async function* pieces(text: string, length: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let start = 0; start < bytes.length; start += length) yield bytes.slice(start, start + length);
}

async function read(text: string, length: number, maxBytes = 10, offset = 0) {
  const lines: [string, number, boolean][] = [];
  for await (const { bytes, end, isTooLong } of readLines(pieces(text, length), { maxBytes, offset })) {
    lines.push([new TextDecoder().decode(bytes), end, isTooLong]);
  }
  return lines;
}

for (const length of [1, 2, 3, 100]) {
  test(`readLines() returns lines and where they end, from pieces of ${length}`, async () => {
    assert.deepEqual(await read("ab\n\n€\r\nlong and longer\nend", length), [
      ["ab", 3, false],
      ["", 4, false],
      ["€\r", 9, false],
      ["", 25, true],
      ["end", 28, false],
    ]);
  });
}

test("readLines() counts from where the text begins, and gives no empty line at the end", async () => {
  assert.deepEqual(await read("ab\n", 2, 10, 100), [["ab", 103, false]]);
  assert.deepEqual(await read("", 2), []);
  assert.deepEqual(await read("much too long for this", 4), [["", 22, true]]);
});
