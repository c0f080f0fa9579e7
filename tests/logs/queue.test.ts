import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogQueue, type LogQueueOptions } from "../../src/logs/queue.ts";
import { describeLoss, type LogRecord } from "../../src/logs/record.ts";
import { bodiesOf, logRecord } from "../support/log-record.ts";

/** A store that records batches, and fails or waits on demand, with a queue over it. */
function setUp(limits?: LogQueueOptions["limits"], flushAfterMs?: number) {
  const batches: LogRecord[][] = [];
  const warnings: string[] = [];
  const state = { failing: false, attempts: 0 };
  /** What each call was given. */
  const asked: string[][] = [];
  const queue = createLogQueue({
    async store(entries) {
      state.attempts++;
      asked.push(ids(entries));
      if (state.failing) throw new Error("away");
      batches.push([...entries]);
    },
    describeLoss: (sample, rows) => describeLoss(sample, rows, `loss-of-${sample.details.organisation_id}`),
    warn: (message) => warnings.push(message),
    flushAfterMs,
    ...(limits && { limits }),
  });
  return { queue, batches, asked, warnings, state, stored: () => batches.flat() };
}

/** Waits for what the queue does by itself; the time bounds a failure and decides nothing. */
async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!condition()) {
    assert.ok(performance.now() < end, "waited 10 s");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const ids = (entries: readonly LogRecord[]) => entries.map(({ details }) => details.id);
const numbered = (count: number) => Array.from({ length: count }, (_, index) => logRecord(`row-${index}`));

test("L1: a row is stored by itself, without a batch to fill", async () => {
  const { queue, stored } = setUp();
  queue.add(logRecord("one"));
  await until(() => stored().length === 1);
  assert.deepEqual(ids(stored()), ["one"]);
  await queue.close();
});

test("L1: rows are stored in order, in batches of at most 64, each once", async () => {
  const { queue, batches, stored } = setUp();
  const rows = numbered(300);
  for (const row of rows) queue.add(row);
  await until(() => stored().length === 300);
  assert.deepEqual(ids(stored()), ids(rows));
  for (const batch of batches) assert.ok(batch.length <= 64, `a batch of ${batch.length}`);
  assert.deepEqual(queue.state(), { rows: 0, bytes: 0, lostRows: 0, lostBodies: 0 });
  await queue.close();
});

test("L1: rows that count in many limits weigh more", () => {
  const { queue } = setUp();
  const sizeOf = (row: LogRecord) => {
    const before = queue.state().bytes;
    queue.add(row);
    return queue.state().bytes - before;
  };
  const increment = { limitId: "l", bucket: "b".repeat(1_000), windowStart: 0, windowEnd: null, used: 1 };
  const plain = sizeOf(logRecord("plain"));
  const counting = sizeOf({ ...logRecord("counting"), counted: Array.from({ length: 100 }, () => increment) });
  assert.ok(counting - plain > 100_000, `${plain} and ${counting} bytes`);
  return queue.close();
});

test("L1: a batch holds at most a megabyte unless one row is larger", async () => {
  const { queue, batches, stored } = setUp();
  for (let index = 0; index < 6; index++) queue.add(logRecord(`row-${index}`, { responseBody: "x".repeat(400_000) }));
  queue.add(logRecord("large", { responseBody: "x".repeat(3_000_000) }));
  queue.add(logRecord("last"));
  await until(() => stored().length === 8);
  assert.deepEqual(ids(stored()), ["row-0", "row-1", "row-2", "row-3", "row-4", "row-5", "large", "last"]);
  for (const batch of batches) {
    const size = batch.reduce((sum, row) => sum + bodiesOf(row), 0);
    assert.ok(size <= 1024 * 1024 || batch.length === 1, `${batch.length} rows of ${size} characters`);
  }
  await queue.close();
});

test("L1: too many bytes drop the oldest bodies first and keep every row", async () => {
  const { queue, stored } = setUp({ rows: 100, bytes: 20_000 });
  for (let index = 0; index < 8; index++) queue.add(logRecord(`row-${index}`, { responseBody: "q".repeat(2_000) }));
  assert.ok(queue.state().bytes <= 20_000);
  await queue.close();
  assert.deepEqual(
    ids(stored()),
    Array.from({ length: 8 }, (_, index) => `row-${index}`),
  );
  const withBody = stored().map(({ content }) => content !== null);
  assert.deepEqual(withBody, [...withBody].sort(), "the oldest went");
  assert.equal(withBody.at(-1), true);
  assert.ok(queue.state().lostBodies > 0);
  assert.equal(queue.state().lostBodies, withBody.filter((kept) => !kept).length);
});

test("L1: too many rows drop the oldest and leave a rows_lost row of their tenant", async () => {
  const { queue, stored } = setUp({ rows: 5, bytes: 1_000_000 });
  for (const row of numbered(12)) queue.add(row);
  await until(() => stored().length === 6);
  const kept = stored().filter(({ details }) => details.operation !== "rows_lost");
  assert.deepEqual(ids(kept), ["row-7", "row-8", "row-9", "row-10", "row-11"]);
  const [loss] = stored().filter(({ details }) => details.operation === "rows_lost");
  assert.equal(loss?.details.organisation_id, "o");
  assert.equal(loss?.details.workspace_id, "w");
  assert.match(loss?.details.error?.message ?? "", /^7 log rows/);
  assert.equal(queue.state().lostRows, 7);
  await queue.close();
});

test("L1: losses are reported to each tenant separately", async () => {
  const { queue, stored } = setUp({ rows: 2, bytes: 1_000_000 });
  for (let index = 0; index < 4; index++) queue.add(logRecord(`a-${index}`, { organisationId: "a" }));
  for (let index = 0; index < 3; index++) queue.add(logRecord(`b-${index}`, { organisationId: "b" }));
  await until(() => stored().length === 4);
  const losses = stored().filter(({ details }) => details.operation === "rows_lost");
  const told = losses.map((loss) => [loss.details.organisation_id, loss.details.error?.message]);
  assert.deepEqual(told, [
    ["a", "4 log rows could not be stored"],
    ["b", "1 log rows could not be stored"],
  ]);
  await queue.close();
});

test("L1: a failing store keeps rows, warns once, and gets all of them when it is back", async () => {
  const { queue, state, warnings, stored } = setUp();
  state.failing = true;
  for (const row of numbered(70)) queue.add(row);
  await until(() => state.attempts >= 2);
  assert.equal(warnings.length, 1);
  assert.equal(queue.state().rows, 70);
  state.failing = false;
  await until(() => stored().length === 70);
  assert.deepEqual(ids(stored()), ids(numbered(70)));
  assert.equal(queue.state().lostRows, 0);
  await queue.close();
});

test("L1: a store that fails again after it came back is warned of again", async () => {
  const { queue, state, warnings, stored } = setUp();
  state.failing = true;
  queue.add(logRecord("one"));
  await until(() => state.attempts >= 1);
  state.failing = false;
  await until(() => stored().length === 1);
  state.failing = true;
  queue.add(logRecord("two"));
  await until(() => warnings.length === 2);
  state.failing = false;
  await queue.close();
  assert.deepEqual(ids(stored()), ["one", "two"]);
});

test("L1: a failing store never holds more than the bounds", async () => {
  const { queue, state } = setUp({ rows: 50, bytes: 40_000 });
  state.failing = true;
  for (let index = 0; index < 500; index++) queue.add(logRecord(`row-${index}`, { responseBody: "x".repeat(5_000) }));
  await until(() => state.attempts >= 2);
  assert.ok(queue.state().rows <= 50, `${queue.state().rows} rows`);
  assert.ok(queue.state().bytes <= 40_000, `${queue.state().bytes} bytes`);
  await queue.close();
});

test("a write that failed is repeated with the same rows: the store may have them already", async () => {
  const { queue, asked, state, stored } = setUp(undefined, 20);
  state.failing = true;
  queue.add(logRecord("one"));
  queue.add(logRecord("two"));
  await until(() => state.attempts >= 1);
  queue.add(logRecord("three"));
  await until(() => state.attempts >= 2);
  for (const row of numbered(100)) queue.add(row);
  await until(() => state.attempts >= 3);
  state.failing = false;
  await until(() => stored().length === 103);
  for (const rows of asked.slice(0, 4)) assert.deepEqual(rows, ["one", "two"]);
  assert.deepEqual(ids(stored()), ["one", "two", "three", ...ids(numbered(100))]);
  await queue.close();
});

test("a write that is repeated has the same rows of losses, and losses since are reported later", async () => {
  const { queue, asked, state, stored } = setUp({ rows: 3, bytes: 1_000_000 }, 20);
  for (const row of numbered(5)) queue.add(row);
  state.failing = true;
  await until(() => state.attempts >= 1);
  for (let index = 5; index < 9; index++) queue.add(logRecord(`row-${index}`));
  await until(() => state.attempts >= 2);
  state.failing = false;
  await until(() => stored().length === 4);
  await queue.close();
  const repeated = ["loss-of-o", "row-2", "row-3", "row-4"];
  assert.deepEqual(asked.slice(0, 3), [repeated, repeated, repeated]);
  assert.deepEqual(asked.at(-1), ["loss-of-o"]);
  const losses = stored().filter(({ details }) => details.operation === "rows_lost");
  assert.deepEqual(
    losses.map(({ details }) => details.error?.message),
    ["2 log rows could not be stored", "4 log rows could not be stored"],
  );
  assert.equal(queue.state().lostRows, 6);
});

test("close() stores what waits, in batches", async () => {
  const { queue, batches, stored } = setUp();
  const rows = numbered(150);
  for (const row of rows) queue.add(row);
  await queue.close();
  assert.deepEqual(ids(stored()), ids(rows));
  for (const batch of batches) assert.ok(batch.length <= 64);
});

test("close() ends although the store fails", async () => {
  const { queue, state } = setUp();
  state.failing = true;
  queue.add(logRecord("one"));
  await queue.close();
  assert.equal(state.attempts, 1);
});

test("close() without rows asks the store for nothing", async () => {
  const { queue, state } = setUp();
  await queue.close();
  assert.equal(state.attempts, 0);
});

test("a row that comes after the end of the queue is counted as lost, and leaves nothing running", async () => {
  const { queue, stored, warnings } = setUp();
  await queue.close();
  queue.add(logRecord("late"));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual([stored().length, queue.state().rows, queue.state().lostRows], [0, 0, 1]);
  assert.deepEqual(warnings, ["Cannot write a log row: the gateway is closed"]);
});
