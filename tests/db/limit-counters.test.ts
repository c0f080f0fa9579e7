import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createLimitCounterStore } from "../../src/db/stores/limit-counters.ts";
import { addToCounters } from "../../src/db/stores/logs.ts";
import type { LimitIncrement } from "../../src/schemas/logs.ts";

let database: Database;
before(async () => {
  database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const add = (organisationId: string, rows: readonly LimitIncrement[]) =>
    addToCounters(organisationId, JSON.stringify(rows));
  const row = (limitId: string, bucket: string, windowStart: number, used: number) => {
    return { limitId, bucket, windowStart, windowEnd: null, used };
  };
  await database.write([
    add("o-1", [row("l", "one", 0, 5), row("l", "two", 0, 7), row("l", "one", 60_000, 9), row("l", "7", 0, 3)]),
    add("o-1", [row("l", "gone", 0, -2), row("other", "one", 0, 11)]),
    add("o-2", [row("l", "one", 0, 13)]),
  ]);
});
after(() => database.close());

const name = (bucket: string, windowStart = 0, organisationId = "o-1") => {
  return { organisationId, limitId: "l", bucket, windowStart };
};

test("readUsed() returns counters in the order of their names, and 0 for those that are not stored", async () => {
  const { readUsed } = createLimitCounterStore(database);
  const names = [
    name("one"),
    name("one", 0, "o-2"),
    name("none"),
    name("7"),
    name("one", 60_000),
    name("gone"),
    name("one"),
  ];
  const usedOf = async (list: typeof names) => (await readUsed(list)).map(({ used }) => used);
  assert.deepEqual(await usedOf(names), [5, 13, 0, 3, 9, 0, 5]);
  assert.deepEqual(await usedOf([name("one", 0, "o-3"), name("two", 60_000)]), [0, 0]);
  assert.deepEqual(await readUsed([]), []);
});

test("list() returns the buckets of one limit in one window", async () => {
  const { list } = createLimitCounterStore(database);
  const found = await list({ organisationId: "o-1", limitId: "l", windowStart: 0 });
  assert.deepEqual(found, [
    { bucket: "7", used: 3 },
    { bucket: "gone", used: 0 },
    { bucket: "one", used: 5 },
    { bucket: "two", used: 7 },
  ]);
  assert.deepEqual(await list({ organisationId: "o-2", limitId: "l", windowStart: 60_000 }), []);
});
