import assert from "node:assert/strict";
import { test } from "node:test";
import { mapParallel } from "../../src/lib/parallel.ts";

/** Work that ends on demand. */
function createWork() {
  const open = new Map<number, { resolve(made: string): void; reject(error: Error): void }>();
  const begun: number[] = [];
  const work = (item: number): Promise<string> => {
    begun.push(item);
    return new Promise((resolve, reject) => open.set(item, { resolve, reject }));
  };
  return { open, begun, work };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

test("mapParallel() keeps the order of the items and its limit", async () => {
  const { open, begun, work } = createWork();
  const all = mapParallel([1, 2, 3], 2, work);
  assert.deepEqual(begun, [1, 2]);
  open.get(2)?.resolve("two");
  await turn();
  assert.deepEqual(begun, [1, 2, 3]);
  open.get(3)?.resolve("three");
  open.get(1)?.resolve("one");
  assert.deepEqual(await all, ["one", "two", "three"]);
});

test("mapParallel() begins nothing after a failure, and ends when what runs has ended", async () => {
  const { open, begun, work } = createWork();
  let isOver = false;
  const all = mapParallel([1, 2, 3], 2, work).finally(() => {
    isOver = true;
  });
  all.catch(() => {});
  open.get(1)?.reject(new Error("broken"));
  await turn();
  assert.deepEqual({ begun, isOver }, { begun: [1, 2], isOver: false });
  open.get(2)?.reject(new Error("later"));
  await assert.rejects(all, /broken/);
});

test("mapParallel() makes nothing of nothing", async () => {
  assert.deepEqual(await mapParallel([], 4, createWork().work), []);
});
