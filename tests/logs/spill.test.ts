import assert from "node:assert/strict";
import { copyFileSync, existsSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "@libsql/client";
import { type Database, isRefusedStatement, openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { type LogSpillSettings, openLogSpill } from "../../src/db/stores/log-spill.ts";
import { createLogStore } from "../../src/db/stores/logs.ts";
import { createIdFactory } from "../../src/lib/ids.ts";
import { packRecords } from "../../src/logs/pack.ts";
import { createLogQueue } from "../../src/logs/queue.ts";
import { describeLoss, type LogRecord } from "../../src/logs/record.ts";
import { createRedactor } from "../../src/logs/redact.ts";
import { sealBatch } from "../../src/logs/seal.ts";
import { createSpillingLog, type SpillingLog } from "../../src/logs/spill.ts";
import type { LogBatch } from "../../src/schemas/logs.ts";
import { zstdCodec } from "../../src/serve/text-codec.ts";
import { createRandom } from "../support/gateway.ts";
import { plainDetails } from "../support/log-record.ts";
import { createFolder, waitFor } from "../support/process.ts";
import { rounds } from "../support/sample.ts";

const createId = createIdFactory(Date.now);
const redactor = createRedactor({ mac: () => "", keyPrefix: "gk", sensitiveNames: [], aliasPrefixes: [] });
const tenants = ["one", "two", "three"];
/** What a row adds to the budget of its tenant, in nano-dollars: no sum of others equals it by accident. */
const nanosOf = (index: number) => 1_000_003 * (index + 1);

/** A row of one of the tenants that counts in a budget. */
function createRow(index: number, body = "Hello"): LogRecord {
  const organisation_id = tenants[index % tenants.length] ?? "";
  const counter = { limitId: "budget", bucket: "b", windowStart: 0, windowEnd: null };
  const headers = { sensitiveHeaders: [], requestHeaders: {}, responseHeaders: {} };
  return {
    details: { ...plainDetails, id: createId(), organisation_id, trace_id: `trace-${index}` },
    content: { ...headers, requestBody: body, responseBody: body },
    counted: [{ ...counter, used: nanosOf(index) }],
    charged: [counter],
  };
}

async function seal(rows: readonly LogRecord[]): Promise<LogBatch[]> {
  return (await packRecords(rows, redactor)).map((batch) => sealBatch(batch, redactor));
}

/** What happens to the next write. */
type Fault = "none" | "away" | "answer lost" | "late";

/** A log over files, whose writes fail on demand. */
interface TestLog {
  readonly folder: string;
  readonly database: Database;
  readonly lines: string[];
  log: SpillingLog;
  /** Asked for each write. */
  fault: () => Fault;
  /** Goes on with writes that hang. */
  release: () => void;
  append(rows: readonly LogRecord[]): Promise<void>;
  /** As after a kill: nothing of the former log is asked again. */
  restart(changes?: Partial<LogSpillSettings>): Promise<SpillingLog>;
  close(): Promise<void>;
}

async function openLog(maxBytes = 64 * 2 ** 20): Promise<TestLog> {
  const folder = createFolder();
  const database = await openDatabase({ url: `file:${join(folder, "log.db")}` });
  await migrate(database);
  const store = createLogStore(database, zstdCodec);
  const lines: string[] = [];
  const opened: SpillingLog[] = [];
  let late: (() => void)[] = [];
  const open = async (changes: Partial<LogSpillSettings> = {}) => {
    const location = { url: `file:${join(folder, "spill")}`, maxBytes };
    const log = createSpillingLog({
      file: await openLogSpill({ location, installation: "i", ...changes }, zstdCodec),
      async store(batches) {
        const fault = test.fault();
        if (fault === "away") throw new Error("The database is away");
        if (fault === "late") await new Promise<void>((resolve) => late.push(resolve));
        await store.append(batches);
        if (fault === "answer lost") throw new Error("The connection was reset");
      },
      isPermanent: isRefusedStatement,
      warn: (message) => lines.push(message),
      log: (line) => lines.push(line),
      patienceMs: 20,
      replayPatienceMs: 50,
      pauseMs: 1,
    });
    opened.push(log);
    return log;
  };
  const test: TestLog = {
    folder,
    database,
    lines,
    log: await open(),
    fault: () => "none",
    release() {
      for (const go of late) go();
      late = [];
    },
    append: async (rows) => test.log.append(await seal(rows)),
    async restart(changes) {
      test.log = await open(changes);
      return test.log;
    },
    async close() {
      test.release();
      for (const one of opened) await one.close();
      await database.close();
    },
  };
  return test;
}

/** Traces of the stored rows in the order of writing, and the sum of the budgets. */
async function readStored(database: Database): Promise<{ traces: string[]; nanos: number }> {
  const { rows } = await database.read("SELECT value ->> 'trace_id' AS trace FROM log_batches, json_each(details)");
  const { rows: sums } = await database.read("SELECT coalesce(sum(used), 0) AS nanos FROM limit_counters");
  return { traces: rows.map(({ trace }) => String(trace)), nanos: Number(sums[0]?.nanos) };
}

/** Each row is stored once, and so is its money. */
async function checkStored(database: Database, count: number, what = ""): Promise<void> {
  const { traces, nanos } = await readStored(database);
  const wanted = Array.from({ length: count }, (_, index) => `trace-${index}`);
  assert.deepEqual([...traces].sort(), [...wanted].sort(), what);
  assert.equal(
    nanos,
    wanted.reduce((sum, _, index) => sum + nanosOf(index), 0),
    what,
  );
}

const isEmpty = async (log: SpillingLog) => (await log.state()).rows === 0;

async function untilEmpty(log: SpillingLog): Promise<void> {
  let [done, ended] = [false, false];
  const looking = (async () => {
    while (!done && !ended) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      done = await isEmpty(log);
    }
  })();
  await waitFor("the file to be empty", 20_000, () => done).finally(() => {
    ended = true;
  });
  await looking;
}

test("rows of an outage wait in the file and are stored in order, with their money, once the database is back", async () => {
  const open = await openLog();
  open.fault = () => "away";
  for (let index = 0; index < 40; index++) await open.append([createRow(index * 3)]);
  assert.equal((await open.log.state()).rows, 40);
  assert.deepEqual((await readStored(open.database)).traces, []);
  assert.ok(open.lines.some((line) => /they wait in a file/.test(line)));
  open.fault = () => "none";
  await untilEmpty(open.log);
  const { traces } = await readStored(open.database);
  assert.deepEqual(
    traces,
    Array.from({ length: 40 }, (_, index) => `trace-${index * 3}`),
  );
  assert.equal(open.lines.filter((line) => /they wait in a file/.test(line)).length, 1, "one warning");
  await waitFor("the report", 5_000, () => open.lines.some((line) => line.startsWith("The 40 log rows")));
  await open.append([createRow(1_000)]);
  assert.equal((await open.log.state()).rows, 0, "later rows go to the database");
  await open.close();
});

test("a batch whose answer was lost is stored once, and its money counts once", async () => {
  const open = await openLog();
  let writes = 0;
  open.fault = () => (writes++ < 3 ? "answer lost" : "none");
  await open.append(Array.from({ length: 9 }, (_, index) => createRow(index)));
  await untilEmpty(open.log);
  assert.ok(writes > 3);
  await checkStored(open.database, 9);
  await open.close();
});

test("a write that hangs holds nobody, and ends well beside its copy in the file", async () => {
  const open = await openLog();
  let writes = 0;
  open.fault = () => (writes++ === 0 ? "late" : "away");
  await open.append([createRow(0), createRow(1)]);
  await open.append([createRow(2)]);
  assert.equal((await open.log.state()).rows, 3);
  open.release();
  open.fault = () => "none";
  await untilEmpty(open.log);
  await checkStored(open.database, 3);
  await open.close();
});

test("a write of what is in the file that is never answered is made again, and stored once", async () => {
  const open = await openLog();
  const faults: Fault[] = ["away", "late", "late"];
  open.fault = () => faults.shift() ?? "none";
  await open.append([createRow(0), createRow(1)]);
  await untilEmpty(open.log);
  await checkStored(open.database, 2);
  open.release();
  await open.log.recover();
  await checkStored(open.database, 2);
  await open.close();
});

test("a process that starts after a kill stores what is in the file once, also what was stored already", async () => {
  const open = await openLog();
  open.fault = () => "answer lost";
  await open.append([createRow(0), createRow(1)]);
  open.fault = () => "away";
  for (let index = 2; index < 10; index++) await open.append([createRow(index)]);
  const former = open.log;
  const next = await open.restart();
  await assert.rejects(next.recover(), /away/, "a start without the database fails");
  open.fault = () => "none";
  await next.recover();
  await checkStored(open.database, 10);
  // the former one finds nothing left to do
  await untilEmpty(former);
  await checkStored(open.database, 10);
  await open.close();
});

test("rows of another installation stay in the file", async () => {
  const open = await openLog();
  open.fault = () => "away";
  await open.append([createRow(0)]);
  const other = await open.restart({ installation: "other" });
  open.fault = () => "none";
  await other.recover();
  assert.equal((await other.state()).rows, 0);
  await open.close();
  const own = await openLogSpill(
    { location: { url: `file:${join(open.folder, "spill")}`, maxBytes: 2 ** 20 }, installation: "i" },
    zstdCodec,
  );
  const { rows } = await own.state();
  await own.close();
  // its own log may have stored it meanwhile
  const database = await openDatabase({ url: `file:${join(open.folder, "log.db")}` });
  assert.equal(rows + (await readStored(database)).traces.length, 1);
  await database.close();
});

test("rows that find no room in the file are counted exactly, and all others are stored", async () => {
  const open = await openLog(2 ** 20);
  const random = createRandom(7);
  const noise = () => Array.from({ length: 3_000 }, () => random().toString(36).slice(2)).join("");
  open.fault = () => "away";
  const queue = createLogQueue({
    store: (rows) => open.append(rows),
    describeLoss: (loss) => describeLoss(loss, createId()),
    warn: () => {},
    flushAfterMs: 1,
    limits: { rows: 20, bytes: 64 * 2 ** 20 },
  });
  const count = 90;
  for (let index = 0; index < count; index++) {
    queue.add(createRow(index, noise()));
    if (index % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await waitFor("losses", 20_000, () => queue.state().lostRows > 0);
  const { rows, bytes } = await open.log.state();
  assert.ok(rows > 0 && bytes <= 2 ** 20 + 4_096, `${rows} rows in ${bytes} bytes`);
  open.fault = () => "none";
  await waitFor("the queue", 20_000, () => queue.state().rows === 0);
  await queue.close();
  await untilEmpty(open.log);
  const { traces, nanos } = await readStored(open.database);
  const stored = traces.filter((trace) => trace.startsWith("trace-"));
  assert.equal(new Set(stored).size, stored.length);
  assert.equal(stored.length + queue.state().lostRows, count);
  const all = Array.from({ length: count }, (_, index) => nanosOf(index));
  assert.equal(
    nanos,
    all.reduce((sum, one) => sum + one, 0),
    "the budget has what the lost rows used",
  );
  const { rows: told } = await open.database.read(
    "SELECT value ->> '$.error.message' AS message FROM log_batches, json_each(details) WHERE value ->> 'operation' = 'rows_lost'",
  );
  const lost = told.reduce((sum, { message }) => sum + Number.parseInt(String(message), 10), 0);
  assert.equal(lost, queue.state().lostRows, "rows of the log report the same number");
  await open.close();
});

test("a file that was cut off anywhere gives back what is whole of it", async () => {
  const open = await openLog();
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = createRandom(seed);
  open.fault = () => "away";
  for (let index = 0; index < 12; index++) await open.append([createRow(index)]);
  const from = join(open.folder, "spill");
  const size = statSync(`${from}-wal`).size;
  let whole = 0;
  for (let round = 0; round < rounds(20); round++) {
    const folder = createFolder();
    const path = join(folder, "spill");
    copyFileSync(from, path);
    copyFileSync(`${from}-wal`, `${path}-wal`);
    const cut = Math.floor(random() * (size + 1));
    truncateSync(`${path}-wal`, cut);
    const file = await openLogSpill(
      { location: { url: `file:${path}`, maxBytes: 2 ** 24 }, installation: "i" },
      zstdCodec,
    );
    const traces: string[] = [];
    for (let entries = await file.oldest(); entries.length > 0; entries = await file.oldest()) {
      for (const { batches } of entries) {
        assert.ok(batches, `seed ${seed}, cut at ${cut}`);
        traces.push(...batches.flatMap(({ details }) => JSON.parse(details)).map(({ trace_id }) => trace_id));
      }
      await file.remove(entries.map(({ id }) => id));
    }
    await file.close();
    const wanted = Array.from({ length: traces.length }, (_, index) => `trace-${index}`);
    assert.deepEqual(traces, wanted, `seed ${seed}, cut at ${cut}`);
    whole = Math.max(whole, traces.length);
  }
  assert.ok(whole > 0);
  await open.close();
});

test("a damaged entry is counted as lost, and those behind it are stored", async () => {
  const open = await openLog();
  open.fault = () => "away";
  await open.append([createRow(0), createRow(3)]);
  await open.append([createRow(1)]);
  const client = createClient({ url: `file:${join(open.folder, "spill")}`, timeout: 5_000 });
  await client.execute("UPDATE log_spill SET content = x'00' WHERE id = 1");
  client.close();
  open.fault = () => "none";
  await untilEmpty(open.log);
  assert.equal((await open.log.state()).lostRows, 2);
  assert.deepEqual((await readStored(open.database)).traces, ["trace-1"]);
  await open.close();
});

test("a database that another process holds locked loses nothing and delays no batch", async () => {
  const open = await openLog();
  const other = createClient({ url: `file:${join(open.folder, "log.db")}` });
  const lock = await other.transaction("write");
  for (let index = 0; index < 5; index++) await open.append([createRow(index)]);
  assert.equal((await open.log.state()).rows, 5);
  await lock.commit();
  other.close();
  await untilEmpty(open.log);
  await checkStored(open.database, 5);
  await open.close();
});

test("whatever fails and whenever processes end, each row and its money are stored once", async () => {
  for (let round = 0; round < rounds(10); round++) {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = createRandom(seed);
    const open = await openLog();
    const faults: Fault[] = ["none", "away", "answer lost", "late"];
    open.fault = () => faults[Math.floor(random() * faults.length)] ?? "none";
    const logs = [open.log];
    let index = 0;
    while (index < 60) {
      const size = 1 + Math.floor(random() * 6);
      await open.append(Array.from({ length: size }, () => createRow(index++)));
      if (random() < 0.2) open.release();
      if (random() < 0.1) logs.push(await open.restart());
    }
    open.fault = () => "none";
    open.release();
    for (const log of logs) await untilEmpty(log);
    await checkStored(open.database, index, `seed ${seed}`);
    await open.close();
    assert.ok(existsSync(join(open.folder, "spill")));
  }
});

test("many small batches of a long outage are stored by a few writes", async () => {
  const opened = await openLog();
  let isAway = true;
  let writes = 0;
  opened.fault = () => {
    writes++;
    return isAway ? "away" : "none";
  };
  for (let index = 0; index < 400; index++) await opened.append([createRow(index)]);
  isAway = false;
  writes = 0;
  await opened.log.recover();
  assert.ok(writes <= 2, `${writes}`);
  const { rows } = await opened.database.read("SELECT count(*) AS stored FROM log_batches");
  assert.equal(rows[0]?.stored, 400);
  await opened.close();
});
