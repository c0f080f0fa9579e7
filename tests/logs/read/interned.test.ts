import assert from "node:assert/strict";
import { test } from "node:test";
import { StringCollector } from "../../../src/lib/columns.ts";
import { fnv1a } from "../../../src/lib/fnv.ts";
import { Interned } from "../../../src/logs/read/interned.ts";

/** Strings as a column of the index has them. */
function columnOf(texts: readonly string[]) {
  const collector = new StringCollector();
  for (const [row, text] of texts.entries()) collector.set(row, text);
  const column = collector.column(Uint32Array.from(texts, (_, row) => row));
  assert.ok(column);
  return { codes: Uint32Array.from(column.codes), values: column.values };
}

/** Pieces of strings: after each of a pair the digest is the same, if pieces of all pairs before it stand in front. */
const pieces = [
  ["7yzx", "e6ad"],
  ["33zx", "epad"],
  ["33zx", "epad"],
  ["33zx", "epad"],
  ["33zx", "epad"],
  ["33zx", "epad"],
  ["33zx", "epad"],
];

/** Distinct strings with the same digest. */
const collisions = pieces.reduce((all, pair) => all.flatMap((text) => pair.map((piece) => text + piece)), [""]);

test("Interned gives each string one place, in the order in which they come", () => {
  const interned = new Interned();
  const wanted = new Map<string, number>([["", 0]]);
  interned.placeOf("");
  for (let block = 0; block < 6; block++) {
    const texts = Array.from({ length: 3_000 }, (_, row) => `text ${(row * 7 + block * 1_000) % 9_000}`);
    const places = interned.placesOf(columnOf(texts));
    for (const [row, text] of texts.entries()) {
      const known = wanted.get(text) ?? wanted.size;
      wanted.set(text, known);
      assert.equal(places[row], known, text);
    }
  }
  assert.deepEqual(
    Array.from({ length: interned.size }, (_, place) => interned.at(place)),
    [...wanted.keys()],
  );
  assert.equal(interned.placeOf("text 7"), wanted.get("text 7"));
  assert.deepEqual([...interned.placesOf({ codes: new Uint32Array(2), values: columnOf(["a"]).values })], [0, 0]);
});

test("strings with the same digest have separate places, also when there are many", () => {
  const texts = collisions;
  assert.deepEqual([new Set(texts).size, new Set(texts.map((text) => fnv1a(text))).size], [128, 1]);
  const interned = new Interned();
  const first = interned.placesOf(columnOf(texts.slice(0, 80)));
  const all = interned.placesOf(columnOf(texts));
  assert.equal(interned.size, 128);
  assert.deepEqual(all.subarray(0, 80), first);
  for (const [row, text] of texts.entries()) {
    assert.equal(interned.at(all[row] ?? -1), text);
    assert.equal(interned.placeOf(text), all[row]);
  }
});
