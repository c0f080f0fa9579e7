import assert from "node:assert/strict";
import { test } from "node:test";
import { WeightedCache } from "../../src/lib/weighted-cache.ts";

const fill = (cache: WeightedCache<number>, owner: string, count: number, weight: number) => {
  for (let index = 0; index < count; index++) cache.set(`${owner} ${index}`, index, { owner, weight });
};

test("WeightedCache stays under its limit, whatever is stored", () => {
  const cache = new WeightedCache<number>(1_000);
  for (let index = 0; index < 500; index++) {
    cache.set(`text ${index}`, index, { owner: `owner ${index % 7}`, weight: 1 + (index % 250) });
    assert.ok(cache.weight <= 1_000);
  }
  assert.ok(cache.weight > 500);
});

test("WeightedCache takes from the owner who has most", () => {
  const cache = new WeightedCache<number>(1_000);
  fill(cache, "quiet", 10, 20);
  fill(cache, "loud", 1_000, 50);
  assert.equal(Array.from({ length: 10 }, (_, index) => cache.get(`quiet ${index}`)).includes(undefined), false);
  assert.equal(cache.get("loud 999"), 999);
});

test("WeightedCache forgets of an owner what is not used before what is", () => {
  const cache = new WeightedCache<number>(100);
  fill(cache, "a", 4, 25);
  cache.get("a 0");
  cache.set("a 4", 4, { owner: "a", weight: 25 });
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((index) => cache.get(`a ${index}`)),
    [0, undefined, 2, 3, 4],
  );
});

test("WeightedCache does not remember what is too heavy, and counts what is stored again once", () => {
  const cache = new WeightedCache<number>(100);
  cache.set("a", 1, { owner: "a", weight: 26 });
  assert.deepEqual([cache.get("a"), cache.weight, cache.size], [undefined, 0, 0]);
  for (const owner of ["a", "b", "a"]) cache.set("b", 1, { owner, weight: 20 });
  assert.deepEqual([cache.get("b"), cache.weight, cache.size], [1, 20, 1]);
  cache.delete("b");
  assert.deepEqual([cache.get("b"), cache.weight, cache.size], [undefined, 0, 0]);
});
