import assert from "node:assert/strict";
import { test } from "node:test";
import { BudgetFullError, ByteBudget } from "../../src/lib/byte-budget.ts";
import type { Timers } from "../../src/lib/timers.ts";

/** Timers that fire when the test says so. */
function createFakeTimers(): Timers & { fire(): void } {
  const actions = new Set<() => void>();
  return {
    start(_delayMs, action) {
      actions.add(action);
      return () => void actions.delete(action);
    },
    close: () => actions.clear(),
    fire() {
      for (const action of [...actions]) action();
    },
  };
}

const owner = (name: string, bytes = 100) => [{ name, bytes }];
/** Whether a promise has settled by now. */
async function isDone(work: Promise<unknown> | undefined): Promise<boolean> {
  const open = Symbol();
  return (await Promise.race([work, new Promise((resolve) => setTimeout(resolve, 1, open))])) !== open;
}

test("ByteBudget gives room at once while there is some", () => {
  const budget = new ByteBudget(100, createFakeTimers());
  const hold = budget.open(owner("a"));
  assert.equal(hold.resize(60), undefined);
  assert.equal(hold.resize(40), undefined);
  assert.equal(budget.used, 40);
  hold.release();
  hold.release();
  assert.equal(budget.used, 0);
});

test("ByteBudget makes a body wait until another one goes", async () => {
  const budget = new ByteBudget(100, createFakeTimers());
  const first = budget.open(owner("a"));
  first.resize(80);
  const second = budget.open(owner("b"));
  const waiting = second.resize(30);
  assert.equal(await isDone(waiting), false);
  first.release();
  await waiting;
  assert.deepEqual([budget.used, budget.waiting], [30, 0]);
});

test("ByteBudget refuses a body that waited too long", async () => {
  const timers = createFakeTimers();
  const budget = new ByteBudget(100, timers);
  const first = budget.open(owner("a"));
  first.resize(80);
  const second = budget.open(owner("b"));
  const waiting = second.resize(30);
  timers.fire();
  await assert.rejects(async () => waiting, BudgetFullError);
  second.release();
  assert.deepEqual([budget.used, budget.waiting], [80, 0]);
});

test("ByteBudget keeps room for others when one owner has its share", async () => {
  const budget = new ByteBudget(100, createFakeTimers());
  const first = budget.open(owner("a", 50));
  first.resize(50);
  const second = budget.open(owner("a", 50));
  const waiting = second.resize(10);
  assert.equal(await isDone(waiting), false);
  const other = budget.open(owner("b", 50));
  await other.resize(50);
  assert.equal(budget.used, 100);
  first.release();
  await waiting;
  assert.equal(budget.used, 60);
});

test("ByteBudget lets a body that is larger than a share go alone", async () => {
  const budget = new ByteBudget(100, createFakeTimers());
  const first = budget.open(owner("a"));
  assert.equal(first.resize(300), undefined);
  const second = budget.open(owner("a"));
  const waiting = second.resize(1);
  assert.equal(await isDone(waiting), false);
  first.release();
  await waiting;
});

test("ByteBudget lets one go on where all that hold something wait for more", async () => {
  const budget = new ByteBudget(100, createFakeTimers());
  const holds = [budget.open(owner("a")), budget.open(owner("b"))];
  for (const hold of holds) hold.resize(50);
  const [first, second] = holds.map((hold) => hold.resize(90));
  await first;
  assert.equal(await isDone(second), false);
  holds[0]?.release();
  await second;
});

test("ByteBudget counts the bodies of one request together while one of them waits", async () => {
  const budget = new ByteBudget(100, createFakeTimers());
  const [first, second] = [budget.open(owner("a")), budget.open(owner("a"))];
  first.resize(60);
  second.resize(30);
  const waiting = [first.resize(first.bytes + 50), first.resize(first.bytes + 50)];
  const other = second.resize(80);
  await Promise.all(waiting);
  assert.deepEqual([first.bytes, budget.used, await isDone(other)], [160, 190, false]);
  first.release();
  await other;
  assert.deepEqual([budget.used, budget.waiting], [80, 0]);
});

test("ByteBudget lets whoever went on beyond the limit end before another one does", async () => {
  const budget = new ByteBudget(100, createFakeTimers());
  const [first, second] = [budget.open(owner("a")), budget.open(owner("a"))];
  first.resize(40);
  second.resize(50);
  const waiting = [first.resize(80), second.resize(100)];
  await waiting[1];
  // it asks for more behind the other, which has waited longer
  await second.resize(200);
  assert.deepEqual([await isDone(waiting[0]), budget.used], [false, 240]);
  second.release();
  await waiting[0];
  assert.equal(budget.used, 80);
});

test("ByteBudget bounds how many wait", () => {
  const budget = new ByteBudget(100, createFakeTimers());
  budget.open(owner("a")).resize(100);
  for (let count = 0; count < 1_000; count++)
    budget
      .open(owner("b"))
      .resize(1)
      ?.catch(() => {});
  assert.throws(() => budget.open(owner("c")).resize(1), BudgetFullError);
});

test("ByteBudget is not wider once a body is given up that waited for more", async () => {
  const timers = createFakeTimers();
  const budget = new ByteBudget(100, timers);
  const kept = budget.open(owner("a"));
  kept.resize(30);
  const left = budget.open(owner("b"));
  left.resize(60);
  const waiting = left.resize(90);
  left.release();
  await waiting;
  timers.fire();
  assert.deepEqual([budget.used, budget.waiting], [30, 0]);
  const next = budget.open(owner("c"));
  assert.equal(await isDone(next.resize(80)), false);
  kept.release();
  assert.deepEqual([budget.used, budget.waiting], [80, 0]);
});
