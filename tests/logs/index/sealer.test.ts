import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Database, openDatabase } from "../../../src/db/client.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { referredMs } from "../../../src/db/stores/log-repeats.ts";
import { createLogRetentionStore } from "../../../src/db/stores/log-retention.ts";
import type { LogScope } from "../../../src/db/stores/log-scope.ts";
import { createLogSealingStore, type LogSealingStore } from "../../../src/db/stores/log-sealing.ts";
import { createLogStore } from "../../../src/db/stores/logs.ts";
import { createIdFactory } from "../../../src/lib/ids.ts";
import { scanRows } from "../../../src/logs/index/scan-rows.ts";
import { LogSealer } from "../../../src/logs/index/sealer.ts";
import type { LogDetails } from "../../../src/schemas/logs.ts";
import { createTemporaryFolder } from "../../support/gateway.ts";
import { createLogReader, purge, sealAll } from "../../support/log-lists.ts";
import { plainDetails } from "../../support/log-record.ts";

const start = Date.UTC(2026, 0, 1);
const minuteMs = 60_000;
const mine: LogScope = { organisationId: "o", workspaceId: "w" };

/** A log whose rows begin one millisecond after another. */
function createRows(since = start) {
  let now = since;
  const createId = createIdFactory(() => now);
  return (count: number, changes: Partial<LogDetails> = {}): LogDetails[] =>
    Array.from({ length: count }, () => {
      now++;
      return { ...plainDetails, id: createId(), ...changes };
    });
}

/** Stores rows, so many in a batch. */
async function append(database: Database, rows: readonly LogDetails[], batchRows = 1): Promise<void> {
  const store = createLogStore(database);
  const batches = Array.from({ length: Math.ceil(rows.length / batchRows) }, (_, index) => {
    const list = rows.slice(index * batchRows, (index + 1) * batchRows);
    const { organisation_id: organisationId = "", workspace_id: workspaceId = null } = list[0] ?? {};
    const [firstId = "", lastId = ""] = [list[0]?.id, list.at(-1)?.id];
    const details = JSON.stringify(list);
    return { organisationId, workspaceId, firstId, lastId, details, counted: "", charged: "", content: "[]\n[]\n" };
  });
  await store.append(batches);
}

async function open() {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  return { database, createDetails: createRows(), store: createLogSealingStore(database) };
}

const newestFirst = (rows: readonly LogDetails[]): string[] =>
  rows
    .map(({ id }) => id)
    .sort()
    .reverse();

/** The ids that a reader which knows nothing lists, page by page. */
const listFresh = (database: Database, scope = mine): Promise<string[]> =>
  createLogReader(database).listAll(scope, { limit: 7 });

interface SegmentRow {
  first: number;
  last: number;
  rows: number;
  state: string;
}

async function readSegments(database: Database): Promise<SegmentRow[]> {
  const { rows } = await database.read("SELECT first_seq, last_seq, rows, state FROM log_segments ORDER BY id");
  return rows.map(({ first_seq, last_seq, rows: count, state }) => ({
    first: Number(first_seq),
    last: Number(last_seq),
    rows: Number(count),
    state: String(state),
  }));
}

const count = async (database: Database, table: string): Promise<number> =>
  Number((await database.read(`SELECT count(*) AS n FROM ${table}`)).rows[0]?.n);

const writes = ["begin", "addColumn", "addSlices", "publish"] as const;

/** A store that fails at one of its writes, before or after it is done, as when the process is killed. */
function createKilledStore(store: LogSealingStore, { at, isDone }: { at: number; isDone: boolean }) {
  let number = 0;
  const failing: LogSealingStore = { ...store };
  for (const name of writes) {
    const write = store[name] as (...parts: unknown[]) => Promise<unknown>;
    Object.assign(failing, {
      async [name](...parts: unknown[]) {
        const isLast = number++ === at;
        const result = isLast && !isDone ? undefined : await write(...parts);
        if (isLast) throw new Error("killed");
        return result;
      },
    });
  }
  return { failing, wrote: () => number };
}

for (const isDone of [false, true]) {
  test(`a process that is killed ${isDone ? "after" : "before"} any write of a segment loses and doubles no row`, async () => {
    const { database, createDetails, store } = await open();
    const rows = createDetails(20);
    await append(database, rows, 3);
    let now = start;
    for (let at = 0; ; at++) {
      const more = createDetails(5);
      rows.push(...more);
      await append(database, more, 2);
      const { failing, wrote } = createKilledStore(store, { at, isDone });
      const run = new LogSealer(failing, () => now).run(1);
      await run.catch((error) => assert.match(String(error), /killed/));
      assert.deepEqual(await listFresh(database), newestFirst(rows), `killed at write ${at}`);
      // others take over later
      now += minuteMs;
      await new LogSealer(store, () => now).run(1);
      assert.deepEqual(await listFresh(database), newestFirst(rows), `gone on after write ${at}`);
      if (wrote() <= at) break;
    }
    const live = (await readSegments(database)).filter(({ state }) => state === "live");
    assert.equal(
      live.reduce((sum, segment) => sum + segment.rows, 0),
      rows.length,
    );
    for (const [index, segment] of live.entries()) assert.equal(segment.first, (live[index - 1]?.last ?? 0) + 1);
    // what the killed processes left is removed
    now += 20 * minuteMs;
    const sealer = new LogSealer(store, () => now);
    for (let round = 0; round < 20; round++) await sealer.cleanUp();
    assert.deepEqual(await readSegments(database), live);
    const { rows: orphans } = await database.read(
      `SELECT segment_id FROM log_columns WHERE segment_id NOT IN (SELECT id FROM log_segments)
        UNION SELECT segment_id FROM log_slices WHERE segment_id NOT IN (SELECT id FROM log_segments)`,
    );
    assert.deepEqual(orphans, []);
    assert.deepEqual(await listFresh(database), newestFirst(rows));
    await database.close();
  });
}

test("processes that make segments of one file at once lose and double no row", async () => {
  const folder = createTemporaryFolder();
  const url = `file:${join(folder.path, "log.db")}`;
  const databases = await Promise.all([1, 2, 3].map(() => openDatabase({ url })));
  const [first] = databases;
  assert.ok(first);
  await migrate(first);
  const createDetails = createRows();
  const rows: LogDetails[] = [];
  let isWriting = true;
  const seal = async (database: Database, leaseIsShort: boolean) => {
    // each time is past the lease of the others, so that several make the same segment
    let now = start;
    const sealer = new LogSealer(createLogSealingStore(database), () => {
      if (leaseIsShort) now += minuteMs;
      return leaseIsShort ? now : start;
    });
    while (isWriting) {
      await sealer.run(1);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const sealing = databases.map((database, index) => seal(database, index > 0));
  const lists: Promise<void>[] = [];
  const countLive = async () => (await readSegments(first)).filter(({ state }) => state === "live").length;
  for (let round = 0; round < 40 || (round < 2_000 && (await countLive()) < 5); round++) {
    const more = createDetails(20);
    rows.push(...more);
    await append(first, more, 4);
    const wanted = newestFirst(rows);
    const list = async () => {
      const shown = await createLogReader(first).listAll(mine, { limit: 200 });
      // rows may have come since
      assert.deepEqual(shown.slice(-wanted.length), wanted);
    };
    if (round % 4 === 0) lists.push(list());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await Promise.all(lists);
  isWriting = false;
  await Promise.all(sealing);
  const live = (await readSegments(first)).filter(({ state }) => state === "live");
  assert.ok(live.length >= 5, `${live.length} segments`);
  const inOrder = live.sort((a, b) => a.first - b.first);
  for (const [index, segment] of inOrder.entries()) assert.equal(segment.first, (inOrder[index - 1]?.last ?? 0) + 1);
  assert.deepEqual(await listFresh(first), newestFirst(rows));
  for (const database of databases) await database.close();
  folder.remove();
});

test("a process does not begin a segment that another one makes, until that one takes too long", async () => {
  const { database, createDetails, store } = await open();
  await append(database, createDetails(3));
  let now = start;
  const { failing } = createKilledStore(store, { at: 1, isDone: true });
  await assert.rejects(new LogSealer(failing, () => now).run(1), /killed/);
  const other = new LogSealer(store, () => now);
  now += 29_000;
  assert.equal(await other.run(1), false);
  assert.deepEqual(
    (await readSegments(database)).map(({ state }) => state),
    ["building"],
  );
  now += 2_000;
  assert.equal(await other.run(1), true);
  assert.equal(await other.run(1), false, "nothing is left");
  await append(database, createDetails(1));
  await assert.rejects(new LogSealer(createKilledStore(store, { at: 1, isDone: true }).failing, () => now).run(1));
  now -= 24 * 60 * minuteMs;
  assert.equal(await other.run(1), true, "a clock that is set back does not stop the index");
  await database.close();
});

test("segments are made of rows that are enough, and leave the rest", async () => {
  const { database, createDetails, store } = await open();
  const sealer = new LogSealer(store, () => start);
  const large = { upstream_url: `https://host.test/${"x".repeat(200_000)}` };
  await append(database, createDetails(70, large));
  assert.equal(await sealer.run(), false);
  await append(database, createDetails(30, large));
  assert.equal(await sealer.run(), true);
  assert.equal(await sealer.run(), false);
  const [segment, ...others] = await readSegments(database);
  assert.deepEqual(others, []);
  // 16 MiB of them
  assert.equal(segment?.rows, 84);
  assert.equal((await listFresh(database)).length, 100);
  await database.close();
});

test("a closed sealer gives up, and another one makes the segment", async () => {
  const { database, createDetails, store } = await open();
  const rows = createDetails(10);
  await append(database, rows);
  const sealer = new LogSealer(store, () => start);
  const run = sealer.run(1);
  await sealer.close();
  assert.equal(await run, false);
  assert.equal(await sealer.run(1), false);
  assert.deepEqual(await listFresh(database), newestFirst(rows));
  assert.equal(await new LogSealer(store, () => start + minuteMs).run(1), true);
  assert.deepEqual(await listFresh(database), newestFirst(rows));
  await database.close();
});

test("other work runs between the parts of a segment", async () => {
  const { database, createDetails } = await open();
  await append(database, createDetails(50, { upstream_url: "x".repeat(100_000) }));
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  await sealAll(database);
  clearInterval(timer);
  // one for each part that is read, and for each column
  assert.ok(turns > 20, `${turns} turns`);
  await database.close();
});

test("a list goes on while its segments are replaced and removed", async () => {
  const { database, createDetails, store } = await open();
  const rows = createDetails(30);
  await append(database, rows, 3);
  let now = start;
  const sealer = new LogSealer(store, () => now);
  await sealer.run(1);
  const reader = createLogReader(database, 0);
  const views = await reader.index.views(mine);
  const [view] = views;
  assert.ok(view && views.length === 1);
  await database.write(['UPDATE log_batches SET details = replace(details, \'"model":"m"\', \'"model":"other"\')']);
  await sealer.run(1);
  await purge(database, { rows: start + 24 * 60 * minuteMs, statistics: start + 24 * 60 * minuteMs }, () => now);
  assert.deepEqual(
    (await readSegments(database)).map(({ state }) => state),
    ["removed", "removed"],
  );
  const opened = await view.open(["model", "id"]);
  assert.equal(opened.slices[0]?.end, 30);
  const models = opened.columnOf("model");
  assert.equal(models.kind === "strings" && models.values.at(0), "m");
  assert.deepEqual(await listFresh(database), []);
  now += 11 * minuteMs;
  while (await sealer.cleanUp());
  for (const table of ["log_segments", "log_columns", "log_slices", "log_changes"]) {
    assert.equal(await count(database, table), 0, table);
  }
  // no wrong rows: what is gone is an error
  await assert.rejects(view.open(["model"]), /a segment is gone/);
  await database.close();
});

test("rows that were changed are indexed again, also when they change while their segment is made", async () => {
  const { database, createDetails, store } = await open();
  const rows = createDetails(12, { model: "m1" });
  await append(database, rows, 2);
  const change = (from: string, to: string) =>
    database.write([
      { sql: "UPDATE log_batches SET details = replace(details, ?, ?) WHERE seq = 3", args: [`"${from}"`, `"${to}"`] },
    ]);
  const reader = createLogReader(database);
  const ofModel = async (model: string) =>
    (await reader.find(mine, { limit: 50, conditions: [{ field: "model", oneOf: new Set([model]) }] })).length;
  assert.equal(await ofModel("m1"), 12);
  await change("m1", "m2");
  assert.deepEqual([await ofModel("m1"), await ofModel("m2")], [10, 2], "before there is a segment");
  let isChanged = false;
  const changing: LogSealingStore = {
    ...store,
    async addColumn(...parts) {
      if (!isChanged) await change("m2", "m3");
      isChanged = true;
      await store.addColumn(...parts);
    },
  };
  const sealer = new LogSealer(changing, () => start);
  assert.equal(await sealer.run(1), true);
  assert.equal(await ofModel("m2"), 2, "the segment has the rows as they were read");
  assert.equal(await sealer.run(1), true);
  assert.deepEqual([await ofModel("m2"), await ofModel("m3")], [0, 2]);
  assert.equal(await sealer.run(1), false);
  await sealer.cleanUp();
  assert.equal(await count(database, "log_changes"), 0, "changes that are indexed are forgotten");
  await change("m3", "m4");
  assert.equal(await sealer.run(1), true);
  assert.deepEqual([await ofModel("m3"), await ofModel("m4")], [0, 2]);
  assert.deepEqual(await reader.listAll(mine, { limit: 5 }), newestFirst(rows));
  await database.close();
});

test("rows that come while a segment is made are listed once", async () => {
  const { database, createDetails, store } = await open();
  const rows = createDetails(20);
  await append(database, rows, 2);
  const reader = createLogReader(database);
  const list = () => reader.listAll(mine, { limit: 6 });
  const shown: string[][] = [];
  const slow: LogSealingStore = {
    ...store,
    async addSlices(...parts) {
      const more = createDetails(3);
      rows.push(...more);
      await append(database, more);
      shown.push(await list());
      await store.addSlices(...parts);
    },
  };
  await new LogSealer(slow, () => start).run(1);
  assert.deepEqual(shown, [newestFirst(rows)]);
  assert.deepEqual(await list(), newestFirst(rows));
  assert.deepEqual(await listFresh(database), newestFirst(rows));
  await database.close();
});

/** Hides rows that are past their time, and removes them and their batches, which stay for an hour longer. */
async function remove(database: Database, time: number): Promise<void> {
  await purge(database, { rows: time });
  const expired = { organisationId: null, time: time + referredMs };
  while ((await createLogRetentionStore(database).removeBatches(expired, time)) > 0);
}

test("rows of removed batches are not listed, also while their segment has younger ones", async () => {
  const { database, createDetails } = await open();
  const rows = createDetails(40);
  await append(database, rows, 4);
  const reader = createLogReader(database);
  await sealAll(database);
  await append(database, createDetails(2));
  assert.equal((await reader.listAll(mine, { limit: 9 })).length, 42);
  // half of the fifth batch is older
  await remove(database, start + 19);
  assert.equal(await count(database, "log_batches"), 8);
  for (const one of [reader, createLogReader(database)]) {
    const page = await one.find(mine, { limit: 24 });
    assert.equal(page.length, 24);
    assert.equal(page.at(-1)?.id, rows[18]?.id);
    assert.deepEqual(await one.find(mine, { limit: 24, upper: rows[18]?.id ?? "" }), [], "there is no further page");
    const times: number[] = [];
    const all = { lower: "", upper: "~", conditions: [], fields: ["time"] } as const;
    await scanRows(one.index, mine, all, ({ numbers }) => times.push(...numbers("time")));
    assert.equal(Math.min(...times), start + 1, "statistics count removed rows");
    assert.equal(times.length, 42);
  }
  assert.equal((await readSegments(database))[0]?.state, "live");
  await remove(database, start + 1_000);
  assert.equal(await count(database, "log_batches"), 0);
  assert.deepEqual(await reader.find(mine, { limit: 10 }), []);
  assert.deepEqual(
    (await readSegments(database)).map(({ state }) => state),
    ["live", "live"],
  );
  await append(database, createRows(start + 2_000)(3));
  assert.equal((await reader.listAll(mine, { limit: 2 })).length, 3);
  await sealAll(database);
  assert.equal((await reader.listAll(mine, { limit: 2 })).length, 3);
  await database.close();
});

test("rows of segments without a column have no value in its field", async () => {
  const { database, createDetails } = await open();
  await append(database, createDetails(5, { cost: 7, model: "m1", metadata: { team: "t" } }));
  await sealAll(database);
  await database.write(["DELETE FROM log_columns WHERE field IN ('cost', 'model', 'metadata.team')"]);
  await append(database, createDetails(2, { cost: 7, model: "m1", metadata: { team: "t" } }));
  const reader = createLogReader(database);
  for (const condition of [
    { field: "cost", least: 0 },
    { field: "model", oneOf: new Set(["m1", ""]) },
    { field: "model", isGiven: true },
    { field: "metadata.team", oneOf: new Set(["t"]) },
  ] as const) {
    assert.equal((await reader.list(mine, { limit: 10, conditions: [condition] })).length, 2);
  }
  const seen: string[] = [];
  const all = { lower: "", upper: "~", conditions: [], fields: ["cost", "model", "metadata.team"] } as const;
  await scanRows(reader.index, mine, all, ({ length, numbers, strings }) => {
    const textAt = (field: "model" | "metadata.team", place: number): string | null => {
      const { codes, values } = strings(field);
      const code = codes[place] ?? 0;
      return code === 0 ? null : values.at(code - 1);
    };
    for (let place = 0; place < length; place++) {
      seen.push(`${numbers("cost")[place]} ${textAt("model", place)} ${textAt("metadata.team", place)}`);
    }
  });
  assert.deepEqual(seen.sort(), [...Array(2).fill("7 m1 t"), ...Array(5).fill("NaN null null")]);
  await database.close();
});

test("many tenants share a segment, and each sees its own rows", async () => {
  const { database, createDetails } = await open();
  const tenants = Array.from({ length: 600 }, (_, index) => ({
    organisation_id: `o${index % 300}`,
    workspace_id: `w${index}`,
  }));
  for (const tenant of tenants) await append(database, createDetails(2, tenant), 2);
  await sealAll(database);
  assert.equal((await readSegments(database))[0]?.rows, 1_200);
  for (const index of [0, 299, 300, 599]) {
    const organisationId = `o${index % 300}`;
    assert.equal((await listFresh(database, { organisationId, workspaceId: `w${index}` })).length, 2);
    assert.equal((await listFresh(database, { organisationId, workspaceId: null })).length, 4);
    const views = await createLogReader(database).index.views({ organisationId, workspaceId: `w${index}` });
    const opened = await Promise.all(views.map((view) => view.open(["id"])));
    assert.deepEqual(
      opened.flatMap(({ slices }) => slices.map(({ workspaceId }) => workspaceId)),
      [`w${index}`],
    );
  }
  await database.close();
});
