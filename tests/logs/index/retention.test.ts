import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Database, openDatabase } from "../../../src/db/client.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { createIndexStores } from "../../../src/db/stores/log-index.ts";
import type { LogScope } from "../../../src/db/stores/log-scope.ts";
import { createLogStore } from "../../../src/db/stores/logs.ts";
import { createGateway } from "../../../src/gateway.ts";
import { decodeColumn } from "../../../src/lib/columns.ts";
import { createIdFactory, firstIdOf } from "../../../src/lib/ids.ts";
import { createIndexedLog } from "../../../src/logs/index/indexed-log.ts";
import { scanRows } from "../../../src/logs/index/scan-rows.ts";
import type { LogDetails } from "../../../src/schemas/logs.ts";
import { createTemporaryFolder, masterKeys } from "../../support/gateway.ts";
import { createLogReader, purge, sealAll } from "../../support/log-lists.ts";
import { plainDetails } from "../../support/log-record.ts";

const start = Date.UTC(2026, 0, 1);
const dayMs = 86_400_000;
const mine: LogScope = { organisationId: "o", workspaceId: "w" };

async function open(url = ":memory:") {
  const database = await openDatabase({ url });
  await migrate(database);
  let now = start;
  const createId = createIdFactory(() => now);
  const store = createLogStore(database);
  const reader = createLogReader(database);
  return {
    database,
    store,
    reader,
    /** Stores a row of a day, with contents, as the only one of its batch. */
    async append(
      day: number,
      {
        organisationId = "o",
        body = "hello",
        ...changes
      }: Partial<LogDetails> & { organisationId?: string; body?: string } = {},
    ) {
      now = start + day * dayMs;
      const id = createId();
      const details = {
        ...plainDetails,
        ...changes,
        id,
        organisation_id: organisationId,
        workspace_id: "w",
        trace_id: `day ${day}`,
      };
      const content = `${JSON.stringify([[body.length, 0]])}\n${JSON.stringify([[{}, {}]])}\n${body}`;
      const batch = { organisationId, workspaceId: "w", firstId: id, lastId: id, counted: "", charged: "", content };
      await store.append([{ ...batch, details: JSON.stringify([details]) }]);
      return id;
    },
    /** Traces of all rows that lists show. */
    traces: async (scope = mine) =>
      (await reader.list(scope, { limit: 100 })).map(({ trace_id }) => trace_id).reverse(),
    /** Rows that statistics count, and the sum of their costs. */
    async count(scope = mine) {
      let [rows, cost] = [0, 0];
      await scanRows(
        reader.index,
        scope,
        { lower: "", upper: "~", conditions: [], fields: ["cost"] },
        ({ length, numbers }) => {
          rows += length;
          for (const one of numbers("cost")) cost += one || 0;
        },
      );
      return { rows, cost };
    },
    /** Rows of a table. */
    async size(table: string) {
      return Number((await database.read(`SELECT count(*) AS n FROM ${table}`)).rows[0]?.n);
    },
  };
}

const day = (number: number): number => start + number * dayMs;

test("contents are removed first, then rows, then statistics", async () => {
  const log = await open();
  const ids: string[] = [];
  for (let number = 0; number < 10; number++) ids.push(await log.append(number, { cost: 1 }));
  await purge(log.database, { contents: day(6), rows: day(3) });
  assert.deepEqual(await log.traces(), ["day 3", "day 4", "day 5", "day 6", "day 7", "day 8", "day 9"]);
  assert.equal(await log.store.find(mine, ids[2] ?? ""), undefined);
  assert.equal((await log.store.find(mine, ids[5] ?? ""))?.content, null);
  assert.equal((await log.store.find(mine, ids[6] ?? ""))?.content?.request.body, "hello");
  assert.deepEqual([await log.size("log_batches"), await log.size("log_bodies")], [7, 4]);
  assert.deepEqual(await log.count(), { rows: 10, cost: 10 });
  await purge(log.database, { rows: day(20), statistics: day(5) });
  assert.deepEqual(await log.traces(), []);
  assert.deepEqual(await log.count(), { rows: 5, cost: 5 }, "older rows leave a segment");
  await purge(log.database, { rows: day(20), statistics: day(20) });
  assert.deepEqual(await log.count(), { rows: 0, cost: 0 });
  await log.append(30, { cost: 2 });
  assert.deepEqual(await log.count(), { rows: 1, cost: 2 });
  await log.database.close();
});

/** Everything that the live segments store of strings, as text. */
async function readStrings(database: Database): Promise<string> {
  const sql = `SELECT data FROM log_columns JOIN log_segments ON id = segment_id WHERE state = 'live' AND field <> 'id'`;
  const contents = (await database.read(sql)).rows.map(({ data }) => {
    const column = data instanceof ArrayBuffer ? decodeColumn(new Uint8Array(data)) : undefined;
    if (column?.kind !== "strings") return "";
    return Array.from({ length: column.values.size }, (_, place) => column.values.at(place)).join();
  });
  return contents.join();
}

test("figures and names of users past their time leave a segment with newer rows, which remain as they are", async () => {
  const log = await open();
  const keys = Object.fromEntries(Array.from({ length: 70 }, (_, key) => [`key${key}`, `of-${key}`]));
  for (let number = 0; number < 10; number++) {
    const metadata = { ...keys, _user: `user-${number}`, key69: `last-${number}` };
    await log.append(number, { cost: number, metadata });
    await log.append(number, { cost: 1, organisationId: "other", metadata: { _user: `other-${number}` } });
  }
  await sealAll(log.database);
  const before = await log.reader.list(mine, { limit: 100, lower: firstIdOf(day(6)) });
  await purge(log.database, { rows: day(6), statistics: day(6) });
  const other: LogScope = { organisationId: "other", workspaceId: "w" };
  assert.deepEqual(
    [await log.count(), await log.count(other)],
    [
      { rows: 4, cost: 6 + 7 + 8 + 9 },
      { rows: 4, cost: 4 },
    ],
  );
  const stored = await readStrings(log.database);
  for (let number = 0; number < 10; number++) {
    for (const name of [`user-${number}`, `last-${number}`, `other-${number}`]) {
      assert.equal(stored.includes(name), number >= 6, name);
    }
  }
  assert.deepEqual(await log.reader.list(mine, { limit: 100 }), before);
  const conditions = [{ field: "metadata.key69" as const, oneOf: new Set(["last-7"]) }];
  assert.deepEqual(
    (await log.reader.list(mine, { limit: 100, conditions })).map(({ trace_id }) => trace_id),
    ["day 7"],
  );
  for (const { id } of before) assert.equal((await log.store.find(mine, id))?.content?.request.body, "hello");
  await log.database.close();
});

test("a segment is not made anew for rows of the last twelve hours, and at most once an hour looked at", async () => {
  const log = await open();
  for (let quarter = 0; quarter < 12; quarter++) await log.append(quarter / 4, { cost: 1 });
  await sealAll(log.database);
  const stores = createIndexStores(log.database);
  let [now, looks] = [day(100), 0];
  const sealing = {
    ...stores.sealing,
    findOld(firstId: string, afterId: number) {
      looks++;
      return stores.sealing.findOld(firstId, afterId);
    },
  };
  const indexed = createIndexedLog(log.store, { ...stores, sealing }, () => now);
  const counts: number[] = [];
  for (let hour = 0; hour < 28; hour += 4) {
    const times = { contents: 0, rows: day(1), statistics: day(1) + (hour / 24) * dayMs, organisations: [] };
    now = day(100) + (hour / 24) * dayMs;
    while (await indexed.purge(times));
    const looked = looks;
    while (await indexed.purge(times));
    assert.equal(looks, looked);
    counts.push((await log.count()).rows);
  }
  assert.deepEqual(counts, [8, 8, 8, 8, 5, 5, 5]);
  await log.database.close();
});

test("rows leave all segments, also those behind a newer one", async () => {
  const log = await open();
  for (let number = 0; number < 40; number++) {
    await log.append(number === 0 ? 90 : number, { cost: 1 });
    await sealAll(log.database);
  }
  await purge(log.database, { rows: day(60), statistics: day(35) });
  assert.deepEqual(await log.count(), { rows: 6, cost: 6 });
  await log.database.close();
});

test("a change of rows reaches a segment that old rows left", async () => {
  const log = await open();
  for (let number = 0; number < 6; number++) await log.append(number, { cost: 1 });
  await sealAll(log.database);
  await purge(log.database, { rows: day(2), statistics: day(2) });
  await log.database.write([
    { sql: "UPDATE log_batches SET details = json_set(details, '$[0].cost', 100) WHERE seq = 4", args: [] },
  ]);
  await purge(log.database, { rows: day(4), statistics: day(3) });
  assert.deepEqual(await log.count(), { rows: 3, cost: 102 });
  await log.database.close();
});

test("a batch is not removed before the index has it", async () => {
  const log = await open();
  for (let number = 0; number < 4; number++) await log.append(number, { cost: 1 });
  const stores = createIndexStores(log.database);
  const broken = { ...stores, sealing: { ...stores.sealing, begin: async () => undefined } };
  const times = { contents: day(3), rows: day(3), statistics: 0, organisations: [] };
  const withoutIndex = createIndexedLog(log.store, broken, () => start);
  while (await withoutIndex.purge(times));
  assert.equal(await log.size("log_batches"), 4);
  assert.deepEqual(await log.traces(), ["day 3"], "but lists do not show it");
  const whole = createIndexedLog(log.store, stores, () => start);
  while (await whole.purge(times));
  assert.equal(await log.size("log_batches"), 1);
  assert.deepEqual(await log.count(), { rows: 4, cost: 4 });
  await log.database.close();
});

test("a change of rows reaches the index before they are removed, and keeps rows that are gone", async () => {
  const log = await open();
  for (let number = 0; number < 6; number++) {
    await log.append(number, { cost: 1, model: `m${number}`, metadata: { team: `t${number}`, _user: "u" } });
  }
  await purge(log.database, { rows: day(2) });
  const setCost = (seq: number, cost: number) =>
    log.database.write([
      { sql: "UPDATE log_batches SET details = json_set(details, '$[0].cost', ?) WHERE seq = ?", args: [cost, seq] },
    ]);
  await setCost(4, 100);
  await purge(log.database, { rows: day(5) });
  assert.equal(await log.size("log_batches"), 1);
  assert.deepEqual(await log.count(), { rows: 6, cost: 105 });
  const scan = { lower: "", upper: "~", fields: ["model"] } as const;
  for (const [field, value] of [
    ["model", "m1"],
    ["metadata.team", "t0"],
    ["endUser", "u"],
  ] as const) {
    let rows = 0;
    const conditions = [{ field, oneOf: new Set([value]) }];
    await scanRows(log.reader.index, mine, { ...scan, conditions }, ({ length }) => {
      rows += length;
    });
    assert.equal(rows, value === "u" ? 6 : 1, field);
  }
  await log.database.close();
});

test("an organisation may keep its rows for a shorter time than others", async () => {
  const log = await open();
  for (let number = 0; number < 6; number++) {
    await log.append(number);
    await log.append(number, { organisationId: "short" });
  }
  const short: LogScope = { organisationId: "short", workspaceId: "w" };
  await purge(log.database, { rows: day(1), organisations: [{ organisationId: "short", time: day(4) }] });
  assert.deepEqual(await log.traces(), ["day 1", "day 2", "day 3", "day 4", "day 5"]);
  assert.deepEqual(await log.traces(short), ["day 4", "day 5"]);
  assert.deepEqual([await log.size("log_batches"), await log.size("log_bodies")], [7, 7]);
  assert.equal((await log.count(short)).rows, 6);
  // a longer time later does not bring back rows
  await purge(log.database, { rows: day(1) });
  assert.deepEqual(await log.traces(short), ["day 4", "day 5"]);
  await log.database.close();
});

test("one step removes at most 1 MiB, and the file becomes smaller", async () => {
  const folder = createTemporaryFolder();
  const path = join(folder.path, "log.db");
  const log = await open(`file:${path}`);
  for (let number = 0; number < 60; number++) await log.append(number, { body: "x".repeat(400_000) });
  const removed: number[] = [];
  const stores = createIndexStores(log.database);
  const watched = createIndexedLog(
    log.store,
    {
      ...stores,
      retention: {
        hide: (expired) => stores.retention.hide(expired),
        needsSealing: (expired) => stores.retention.needsSealing(expired),
        removeBatches: (expired, now) => stores.retention.removeBatches(expired, now),
        removeObject: (time, now) => stores.retention.removeObject(time, now),
        removeHooks: (time) => stores.retention.removeHooks(time),
        removeStatistics: (time, now) => stores.retention.removeStatistics(time, now),
        shrink: () => stores.retention.shrink(),
        async removeContents(time) {
          const count = await stores.retention.removeContents(time);
          removed.push(count);
          return count;
        },
      },
    },
    () => start,
  );
  const times = { contents: day(55), rows: 0, statistics: 0, organisations: [] };
  await log.database.read("PRAGMA wal_checkpoint(TRUNCATE)");
  const before = statSync(path).size;
  while (await watched.purge(times));
  assert.equal(Math.max(...removed), 2);
  assert.equal(
    removed.reduce((sum, count) => sum + count),
    55,
  );
  await log.database.read("PRAGMA wal_checkpoint(TRUNCATE)");
  const after = statSync(path).size;
  assert.ok(before > 24_000_000 && after < 10_000_000, `${before} -> ${after}`);
  assert.equal((await log.database.read("PRAGMA integrity_check")).rows[0]?.integrity_check, "ok");
  await log.database.close();
  folder.remove();
});

for (const [options, message] of [
  [{ logBodyRetentionDays: 31 }, /LOG_BODY_RETENTION_DAYS: it must be at most LOG_RETENTION_DAYS, 30/],
  [
    { logRetentionDays: 60, rollupRetentionDays: 59 },
    /ROLLUP_RETENTION_DAYS: it must be at least LOG_RETENTION_DAYS, 60/,
  ],
] as const) {
  test(`a gateway does not start with ${JSON.stringify(options)}`, async () => {
    await assert.rejects(createGateway({ database: ":memory:", masterKeys, ...options }).start(), message);
  });
}

async function readColumn(database: Database, sql: string): Promise<unknown> {
  return Object.values((await database.read(sql)).rows[0] ?? {})[0];
}

test("new files can become smaller", async () => {
  const folder = createTemporaryFolder();
  const { database } = await open(`file:${join(folder.path, "log.db")}`);
  assert.equal(await readColumn(database, "PRAGMA auto_vacuum"), 2);
  await database.close();
  folder.remove();
});
