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
    describeLoss: (loss) => describeLoss(loss, `loss-of-${loss.organisationId}`),
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

test("L1: rows are stored in order, in batches of at most 1,024, each once", async () => {
  const { queue, batches, stored } = setUp();
  const rows = numbered(3_000);
  for (const row of rows) queue.add(row);
  await until(() => stored().length === 3_000);
  assert.deepEqual(ids(stored()), ids(rows));
  for (const batch of batches) assert.ok(batch.length <= 1_024, `a batch of ${batch.length}`);
  assert.deepEqual(queue.state(), { rows: 0, bytes: 0, lostRows: 0, lostBodies: 0, refused: 0 });
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
  const rows = numbered(2_500);
  for (const row of rows) queue.add(row);
  await queue.close();
  assert.deepEqual(ids(stored()), ids(rows));
  for (const batch of batches) assert.ok(batch.length <= 1_024);
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

/** A store whose writes end when the test says so. */
function setUpHeld(options: Partial<LogQueueOptions> = {}) {
  const held: { rows: readonly LogRecord[]; end(error?: Error): void }[] = [];
  const warnings: string[] = [];
  const queue = createLogQueue({
    store: (rows) =>
      new Promise((resolve, reject) => {
        held.push({ rows, end: (error) => (error ? reject(error) : resolve()) });
      }),
    describeLoss: (loss) => describeLoss(loss, `${loss.operation}-of-${loss.organisationId}`),
    warn: (message) => warnings.push(message),
    ...options,
  });
  return { queue, held, warnings };
}

test("a backlog is handed over in large batches, several at a time, before a write ends", async () => {
  const { queue, held } = setUpHeld({ writesAtOnce: 4 });
  for (const row of numbered(64)) queue.add(row);
  await until(() => held.length === 1);
  assert.equal(held[0]?.rows.length, 64, "at low load 64 rows");
  for (const row of numbered(5_000)) queue.add(row);
  await until(() => held.length === 4);
  assert.deepEqual(
    held.map(({ rows }) => rows.length),
    [64, 1_024, 1_024, 1_024],
  );
  for (let ended = 0; ended < held.length; ended++) {
    held[ended]?.end();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await until(() => held.reduce((sum, { rows }) => sum + rows.length, 0) === 5_064);
  for (const one of held) one.end();
  await queue.close();
  assert.equal(queue.state().rows, 0);
});

test("what arrives during a write is one write, of as many rows as configured", async () => {
  const { queue, held } = setUpHeld({ batchRows: 4_096, batchBytes: 64 * 1024 * 1024 });
  for (const row of numbered(64)) queue.add(row);
  await until(() => held.length === 1);
  for (const row of numbered(5_000)) queue.add(row);
  for (const [index, rows] of [64, 4_096, 904].entries()) {
    await until(() => held.length > index);
    assert.equal(held[index]?.rows.length, rows);
    held[index]?.end();
  }
  await queue.close();
});

test("64 rows wait 20 ms for others, 512 rows for none, and none longer than the first of them may", () => {
  const { setTimeout: startTimer } = globalThis;
  const waits: (number | undefined)[] = [];
  globalThis.setTimeout = Object.assign((_: () => void, ms?: number) => {
    waits.push(ms);
    return startTimer(() => {}, 0);
  }, startTimer);
  try {
    for (const flushAfterMs of [10_000, 5]) {
      const { queue } = setUpHeld({ flushAfterMs });
      for (const row of numbered(600)) queue.add(row);
    }
  } finally {
    globalThis.setTimeout = startTimer;
  }
  assert.deepEqual(waits, [10_000, 20, 0, 5, 0]);
});

test("of several writes at a time, the one that failed is repeated with its rows alone", async () => {
  const { queue, held } = setUpHeld({ writesAtOnce: 2, flushAfterMs: 5 });
  for (const row of numbered(64)) queue.add(row);
  await until(() => held.length === 1);
  for (let index = 64; index < 64 + 600; index++) queue.add(logRecord(`row-${index}`));
  await until(() => held.length === 2);
  held[0]?.end(new Error("away"));
  await until(() => held.length >= 2 && queue.state().rows === 664);
  held[1]?.end();
  await until(() => held.length === 3);
  assert.deepEqual(ids(held[2]?.rows ?? []), ids(held[0]?.rows ?? []));
  held[2]?.end();
  await queue.close();
  assert.equal(queue.state().lostRows, 0);
});

test("load() says when rows of more requests might be lost: first of those with limits, then of all", async () => {
  const { queue, held, warnings } = setUpHeld({ limits: { rows: 100, bytes: 1_000_000 } });
  const loads = numbered(80).map((row) => {
    queue.add(row);
    return queue.load();
  });
  assert.deepEqual(
    [11, 12, 48, 49, 73, 74].map((row) => loads[row]),
    ["none", "some", "some", "limited", "limited", "all"],
  );
  await until(() => held.length === 1);
  assert.equal(queue.load(), "all", "rows that are being written are not stored yet");
  for (let refused = 0; refused < 3; refused++) queue.noteRefused({ organisation_id: "o", workspace_id: "w" });
  held[0]?.end();
  await until(() => held.length === 2);
  assert.equal(queue.load(), "none");
  const [report] = held[1]?.rows ?? [];
  assert.equal(report?.details.operation, "requests_shed");
  assert.match(report?.details.error?.message ?? "", /^3 requests were refused/);
  held[1]?.end();
  await queue.close();
  assert.equal(queue.state().refused, 3);
  assert.deepEqual(
    warnings.map((line) => /\d+ requests/.exec(line)?.[0]),
    ["1 requests", "2 requests"],
    "the first at once, the others together",
  );
});

test("bodies that can be dropped do not count as load", async () => {
  const { queue, held } = setUpHeld({ limits: { rows: 1_000, bytes: 100_000 } });
  for (let index = 0; index < 10; index++) queue.add(logRecord(`row-${index}`, { responseBody: "x".repeat(50_000) }));
  assert.equal(queue.load(), "none");
  assert.ok(queue.state().lostBodies > 0);
  const closing = queue.close();
  await until(() => held.length === 1);
  held[0]?.end();
  await closing;
});

test("what lost rows used of limits is stored with the row that reports them", async () => {
  const { queue, held, warnings } = setUpHeld({ limits: { rows: 2, bytes: 1_000_000 } });
  const counter = { limitId: "l", bucket: "b", windowStart: 0, windowEnd: null };
  for (const row of numbered(5)) queue.add({ ...row, counted: [{ ...counter, used: 7 }] });
  const closing = queue.close();
  await until(() => held.length === 1);
  const [loss, ...rows] = held[0]?.rows ?? [];
  held[0]?.end();
  await closing;
  assert.deepEqual(loss?.counted, [{ ...counter, used: 21 }]);
  assert.equal(rows.length, 2);
  assert.deepEqual(
    warnings.map((line) => /\d+/.exec(line)?.[0]),
    ["1", "2"],
  );
});

test("a row whose bodies the store rejects for good is stored without them, and holds up no other", async () => {
  const stored: LogRecord[] = [];
  const warnings: string[] = [];
  const queue = createLogQueue({
    async store(entries) {
      if (entries.some(({ content }) => content?.responseBody === "large")) throw new Error("too big");
      stored.push(...entries);
    },
    describeLoss: (loss) => describeLoss(loss, "loss"),
    isPermanent: () => true,
    warn: (message) => warnings.push(message),
  });
  for (const [index, body] of ["small", "large", "small"].entries())
    queue.add(logRecord(`row-${index}`, { responseBody: body }));
  await queue.close();
  assert.deepEqual(ids(stored), ["row-0", "row-1", "row-2"]);
  assert.deepEqual(
    stored.map(({ content }) => content !== null),
    [true, false, true],
  );
  const { lostBodies, lostRows } = queue.state();
  assert.deepEqual({ lostBodies, lostRows }, { lostBodies: 1, lostRows: 0 });
  assert.equal(warnings[0], "Cannot write a log row with its bodies: the store rejected it");
});

test("a report of losses that the store rejects for good ends, also with what the rows used", async () => {
  const asked: string[][] = [];
  const queue = createLogQueue({
    async store(entries) {
      asked.push(ids(entries));
      if (entries.some(({ details }) => details.operation === "rows_lost")) throw new Error("malformed");
    },
    describeLoss: (loss) => describeLoss(loss, "loss"),
    isPermanent: () => true,
    warn: () => {},
    limits: { rows: 2, bytes: 1_000_000 },
  });
  const counter = { limitId: "l", bucket: "b", windowStart: 0, windowEnd: null };
  for (const row of numbered(3)) queue.add({ ...row, counted: [{ ...counter, used: 7 }] });
  await queue.close();
  assert.deepEqual(asked, [["loss", "row-1", "row-2"], ["loss"], ["loss"], ["row-1"], ["row-2"]]);
});
