import assert from "node:assert/strict";
import { test } from "node:test";
import { createObjectStore, type ObjectStore } from "../../../src/control/object-store.ts";
import { type Database, openDatabase } from "../../../src/db/client.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { createIndexStores } from "../../../src/db/stores/log-index.ts";
import { createLogObjectStore, type LogObjectStore } from "../../../src/db/stores/log-objects.ts";
import { referredMs } from "../../../src/db/stores/log-repeats.ts";
import { ContentsAwayError, createLogStore } from "../../../src/db/stores/logs.ts";
import { createAddressGuard } from "../../../src/lib/address.ts";
import { createIdFactory } from "../../../src/lib/ids.ts";
import { createOutbound } from "../../../src/lib/outbound.ts";
import { createIndexedLog } from "../../../src/logs/index/indexed-log.ts";
import { LogOffload } from "../../../src/logs/index/offload.ts";
import { zstdCodec } from "../../../src/serve/text-codec.ts";
import { createRuntimeTransport } from "../../support/gateway.ts";
import { plainDetails } from "../../support/log-record.ts";
import { startObjectStore } from "../../support/object-store.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const mine = { organisationId: "o", workspaceId: "w" };

/** A store in memory. */
function createMemoryStore() {
  const objects = new Map<string, Uint8Array>();
  const store: ObjectStore = {
    put: async (name, content) => void objects.set(name, Uint8Array.from(content)),
    async get(name, wanted) {
      const found = objects.get(name);
      if (!found || !("start" in wanted)) throw new Error(`no object ${name}`);
      return found.slice(wanted.start, wanted.start + wanted.bytes);
    },
    remove: async (name) => void objects.delete(name),
  };
  return { objects, store };
}

async function openLog(objects: ObjectStore, codec?: typeof zstdCodec) {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  let now = Date.UTC(2026, 0, 1);
  const createId = createIdFactory(() => now);
  const store = createLogStore(database, codec, objects);
  const log = {
    database,
    store,
    createId,
    now: () => now,
    later(ms: number) {
      now += ms;
    },
    /** Stores a batch of two rows, and returns their ids. */
    async append(name: string, organisationId = "o") {
      const ids = [createId(), createId()];
      const details = ids.map((id) => ({ ...plainDetails, id, organisation_id: organisationId, workspace_id: "w" }));
      const bodies = ids.map((_, index) => `${name} ä ${index}`);
      const lengths = JSON.stringify(bodies.map(({ length }) => [length, 0]));
      const heads = JSON.stringify(bodies.map(() => [{ "x-name": name }, {}, [false, false]]));
      const [firstId = "", lastId = ""] = ids;
      const content = `${lengths}\n${heads}\n${bodies.join("")}`;
      const batch = { organisationId, workspaceId: "w", firstId, lastId, counted: "", charged: "", content };
      await store.append([{ ...batch, details: JSON.stringify(details) }]);
      return ids;
    },
    bodyOf: async (id = "", scope = mine) => (await store.find(scope, id))?.content?.request.body,
    count: async (table: string) => Number((await database.read(`SELECT count(*) AS n FROM ${table}`)).rows[0]?.n),
    async purge(times: {
      contents?: number;
      rows?: number;
      organisations?: { organisationId: string; time: number }[];
    }) {
      const indexed = createIndexedLog(store, createIndexStores(database), () => now);
      const { rows = 0, contents = rows, organisations = [] } = times;
      while (await indexed.purge({ rows, contents, statistics: 0, organisations }));
    },
  };
  return log;
}

type Log = Awaited<ReturnType<typeof openLog>>;

function createOffload(log: Log, objects: ObjectStore, store: LogObjectStore = createLogObjectStore(log.database)) {
  return new LogOffload(store, objects, log);
}

/** Finds what waits, and moves it once it has waited long enough. */
async function moveAll(log: Log, offload: LogOffload): Promise<void> {
  while (await offload.step());
  log.later(6 * minuteMs);
  while (await offload.step());
}

for (const [name, codec] of [
  ["plain", undefined],
  ["compressed", zstdCodec],
] as const) {
  test(`contents move to objects of their organisation, and are found there: ${name}`, async () => {
    const { objects, store } = createMemoryStore();
    const log = await openLog(store, codec);
    const ids: string[][] = [];
    for (let batch = 0; batch < 5; batch++) ids.push(await log.append(`mine ${batch}`));
    const [foreign] = await log.append("theirs", "o2");
    const offload = createOffload(log, store);
    assert.equal(await offload.step(), false, "an object waits for more");
    assert.equal(objects.size, 0);
    await moveAll(log, offload);
    assert.deepEqual([await log.count("log_bodies"), await log.count("log_places")], [0, 6]);
    const names = [...objects.keys()].sort();
    assert.equal(names.length, 2);
    assert.match(names[0] ?? "", /^o\/2026\/01\/01\/00\/[0-9A-Z]{26}$/);
    assert.match(names[1] ?? "", /^o2\/2026\/01\/01\/00\//);
    for (const [batch, [first, second]] of ids.entries()) {
      assert.deepEqual([await log.bodyOf(first), await log.bodyOf(second)], [`mine ${batch} ä 0`, `mine ${batch} ä 1`]);
    }
    assert.equal((await log.store.find(mine, ids[0]?.[0] ?? ""))?.content?.request.headers["x-name"], "mine 0");
    assert.equal(await log.bodyOf(foreign), undefined);
    assert.equal(await log.bodyOf(foreign, { organisationId: "o2", workspaceId: "w" }), "theirs ä 0");
    const { rows } = await log.database.read("SELECT seq FROM log_batches ORDER BY seq");
    const contents = await log.store.readContents(mine, Number(rows[1]?.seq));
    assert.equal(contents.get(ids[1]?.[1] ?? "")?.request.body, "mine 1 ä 1");
    assert.equal((await log.store.readContents(mine, Number(rows[5]?.seq))).size, 0, "another organisation's batch");
    await log.database.close();
  });
}

test("requests of different hours are in different objects", async () => {
  const { objects, store } = createMemoryStore();
  const log = await openLog(store);
  for (let hour = 0; hour < 6; hour++) {
    await log.append(`hour ${hour}`);
    log.later(45 * minuteMs);
  }
  await moveAll(log, createOffload(log, store));
  assert.equal(objects.size, 3);
  await log.database.close();
});

test("while the store is away contents stay in the database", async () => {
  const { objects, store } = createMemoryStore();
  const log = await openLog(store);
  const [first] = await log.append("one");
  const away = new Error("away");
  const offload = createOffload(log, { ...store, put: () => Promise.reject(away) });
  assert.equal(await offload.step(), false);
  log.later(6 * minuteMs);
  await assert.rejects(() => offload.step(), away);
  assert.equal(await offload.step(), false, "it waits after a failure");
  assert.deepEqual([await log.bodyOf(first), await log.count("log_bodies"), objects.size], ["one ä 0", 1, 0]);
  await moveAll(log, createOffload(log, store));
  assert.deepEqual([await log.bodyOf(first), await log.count("log_bodies"), objects.size], ["one ä 0", 0, 1]);
  await log.database.close();
});

/** A store whose calls fail from the nth on, before or after their effect, as of a process that is killed. */
function killAt(target: LogObjectStore & ObjectStore, calls: number, isAfter: boolean): LogObjectStore & ObjectStore {
  let count = 0;
  return new Proxy(target, {
    get(object, name) {
      const method = Reflect.get(object, name);
      return async (...values: unknown[]) => {
        const isLast = count === calls;
        if (count++ > calls || (isLast && !isAfter)) throw new Error("killed");
        const result: unknown = await Reflect.apply(method, object, values);
        if (isLast) throw new Error("killed");
        return result;
      };
    },
  });
}

test("a process that is killed at any moment loses no contents, and leaves no object behind", async () => {
  for (let calls = 0, isDone = false; !isDone; calls++) {
    for (const isAfter of [false, true]) {
      const { objects, store } = createMemoryStore();
      const log = await openLog(store);
      const ids = await Promise.all(Array.from({ length: 3 }, (_, index) => log.append(`batch ${index}`)));
      const killed = killAt({ ...createLogObjectStore(log.database), ...store }, calls, isAfter);
      const offload = createOffload(log, killed, killed);
      const failed = await moveAll(log, offload).then(
        () => false,
        () => true,
      );
      isDone = !failed;
      for (const [index, [first]] of ids.entries()) assert.equal(await log.bodyOf(first), `batch ${index} ä 0`);
      log.later(11 * minuteMs);
      await moveAll(log, createOffload(log, store));
      for (const [index, [first]] of ids.entries()) assert.equal(await log.bodyOf(first), `batch ${index} ä 0`);
      const { rows } = await log.database.read("SELECT name FROM log_objects");
      assert.deepEqual(
        [...objects.keys()],
        rows.map(({ name }) => String(name)),
        `killed at call ${calls}`,
      );
      assert.deepEqual([await log.count("log_bodies"), await log.count("log_places"), objects.size], [0, 3, 1]);
      await log.database.close();
    }
    assert.ok(calls < 100);
  }
});

test("processes that move at the same time move each batch once", async () => {
  const { objects, store } = createMemoryStore();
  const log = await openLog(store);
  const ids = await Promise.all(Array.from({ length: 8 }, (_, index) => log.append(`batch ${index}`)));
  const movers = [1, 2, 3].map(() => createOffload(log, store));
  await Promise.all(movers.map((mover) => mover.step()));
  log.later(6 * minuteMs);
  for (let round = 0; round < 4; round++) await Promise.all(movers.map((mover) => mover.step()));
  for (const [index, [first]] of ids.entries()) assert.equal(await log.bodyOf(first), `batch ${index} ä 0`);
  assert.deepEqual([await log.count("log_places"), objects.size], [8, 1]);
  await log.database.close();
});

test("objects are deleted once their contents or rows are past their time", async () => {
  const { objects, store } = createMemoryStore();
  const log = await openLog(store);
  const offload = createOffload(log, store);
  const ids: string[] = [];
  const begin = log.now();
  for (let day = 0; day < 4; day++) {
    ids.push((await log.append(`day ${day}`))[0] ?? "");
    await log.append(`day ${day}`, "o2");
    log.later(dayMs);
    await moveAll(log, offload);
  }
  assert.equal(objects.size, 8);
  const sweep = async () => {
    while (await offload.step());
    const early = objects.size;
    log.later(3 * minuteMs);
    while (await offload.step());
    return [early, objects.size];
  };
  await log.purge({ contents: begin + dayMs });
  assert.equal(await log.bodyOf(ids[0]), undefined);
  assert.deepEqual(await sweep(), [8, 6], "somebody may still read what was removed just now");
  await log.purge({ organisations: [{ organisationId: "o", time: begin + 3 * dayMs }] });
  assert.deepEqual([await log.bodyOf(ids[2]), await log.bodyOf(ids[3])], [undefined, "day 3 ä 0"]);
  assert.deepEqual(await sweep(), [6, 4]);
  assert.equal([...objects.keys()].filter((name) => name.startsWith("o/")).length, 1);
  await log.purge({ rows: log.now() });
  assert.deepEqual(await sweep(), [4, 0]);
  assert.deepEqual([await log.count("log_objects"), await log.count("log_places")], [0, 0]);
  await log.database.close();
});

/** The client of a store on loopback, as the log's thread has it. */
function createClient(s3: Awaited<ReturnType<typeof startObjectStore>>["s3"]): ObjectStore {
  const guard = createAddressGuard({ trustedHosts: [] });
  return createObjectStore(s3, {
    outbound: createOutbound({ transport: createRuntimeTransport(), guard }),
    clock: Date,
  });
}

/** Whether contents that were moved can be read, and what readers learn if not. */
async function readMoved(log: Log, id: string, database: Database) {
  const stored = await log.store.find(mine, id);
  const { rows } = await database.read("SELECT seq FROM log_batches");
  const read = await log.store.readContents(mine, Number(rows[0]?.seq)).then(
    (contents) => contents.get(id)?.request.body,
    (error: unknown) => (error instanceof ContentsAwayError ? "away" : error),
  );
  return { body: stored?.content?.request.body, isAway: stored?.isAway, read };
}

test("a store over S3: signed requests, parts of objects, and what is said while it is away", async () => {
  const { server, objects, state, s3 } = await startObjectStore();
  const client = createClient(s3);
  const log = await openLog(client, zstdCodec);
  try {
    const [id = ""] = await log.append("one");
    await log.append("two");
    await moveAll(log, createOffload(log, client));
    assert.match([...objects.keys()][0] ?? "", /^\/files\/gateway\/o\/2026\/01\/01\/00\/[0-9A-Z]{26}$/);
    const found = { body: "one ä 0", isAway: undefined, read: "one ä 0" };
    const away = { body: undefined, isAway: true, read: "away" };
    assert.deepEqual(await readMoved(log, id, log.database), found);
    for (const change of [{ status: 503 }, { breaksOff: true }, { ignoresRanges: true }]) {
      Object.assign(state, change);
      assert.deepEqual(await readMoved(log, id, log.database), away, JSON.stringify(change));
      Object.assign(state, { status: 200, breaksOff: false, ignoresRanges: false });
    }
    assert.deepEqual(await readMoved(log, id, log.database), found);
    const without = { ...log, store: createLogStore(log.database, zstdCodec) };
    assert.deepEqual(await readMoved(without, id, log.database), away, "no store is configured any more");
    await log.purge({ rows: log.now() });
    assert.equal(objects.size, 1, "contents of newer batches may refer to it");
    log.later(referredMs);
    await log.purge({ rows: log.now() });
    log.later(3 * minuteMs);
    const offload = createOffload(log, client);
    while (await offload.step());
    assert.equal(objects.size, 0);
  } finally {
    await log.database.close();
    await server.close();
  }
});
