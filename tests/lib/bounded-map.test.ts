import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedMap, memoizeText } from "../../src/lib/bounded-map.ts";

test("BoundedMap forgets the oldest entry when it is full, and no other", () => {
  const map = new BoundedMap<string, number>(3);
  for (const [index, key] of ["a", "b", "c", "d"].entries()) map.set(key, index);
  assert.equal(map.size, 3);
  assert.deepEqual(
    ["a", "b", "c", "d"].map((key) => map.get(key)),
    [undefined, 1, 2, 3],
  );
});

test("BoundedMap changes an entry it has without forgetting another", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3);
  assert.deepEqual([map.get("a"), map.get("b"), map.size], [3, 2, 2]);
});

test("BoundedMap forgets what is not used before what is", () => {
  const map = new BoundedMap<string, number>(3);
  for (const key of ["a", "b", "c"]) map.set(key, 1);
  map.get("a");
  map.set("d", 1);
  assert.deepEqual([...map.entries()].map(([key]) => key).toSorted(), ["a", "c", "d"]);
  for (let index = 0; index < 100; index++) {
    map.get("a");
    map.set(`other ${index}`, 1);
  }
  assert.deepEqual([map.get("a"), map.size], [1, 3]);
});

test("BoundedMap forgets one entry where all are used", () => {
  const map = new BoundedMap<number, number>(100);
  for (let key = 0; key < 100; key++) map.set(key, key);
  for (let key = 0; key < 100; key++) map.get(key);
  map.set(100, 100);
  assert.deepEqual([map.size, map.get(0), map.get(99), map.get(100)], [100, undefined, 99, 100]);
});

test("BoundedMap takes what is set again for the youngest", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 1);
  map.set("a", 2);
  map.set("c", 1);
  assert.deepEqual([map.get("a"), map.get("b"), map.get("c")], [2, undefined, 1]);
});

test("BoundedMap deletes and clears", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.delete("a");
  map.set("c", 3);
  assert.deepEqual([map.get("a"), map.get("b"), map.get("c")], [undefined, 2, 3]);
  map.clear();
  assert.equal(map.size, 0);
});

test("BoundedMap keeps names of object members apart", () => {
  const map = new BoundedMap<string, number>(10);
  assert.equal(map.get("__proto__"), undefined);
  map.set("__proto__", 1);
  assert.deepEqual([map.get("__proto__"), map.get("constructor")], [1, undefined]);
});

test("memoizeText() parses a text once, undefined results included", () => {
  const parsed: string[] = [];
  const read = memoizeText(10, (text) => {
    parsed.push(text);
    return text === "none" ? undefined : text.length;
  });
  assert.deepEqual([read("abc"), read("abc"), read("none"), read("none")], [3, 3, undefined, undefined]);
  assert.deepEqual(parsed, ["abc", "none"]);
});

test("memoizeText() does not cache long text, failures, or more than its limit", () => {
  const parsed: string[] = [];
  const read = memoizeText(
    2,
    (text) => {
      parsed.push(text);
      if (text === "bad") throw new Error("bad");
      return text;
    },
    3,
  );
  for (const text of ["long", "long", "a", "b", "c", "a"]) assert.equal(read(text), text);
  for (const _ of [1, 2]) assert.throws(() => read("bad"), /bad/);
  assert.deepEqual(parsed, ["long", "long", "a", "b", "c", "a", "bad", "bad"]);
});
