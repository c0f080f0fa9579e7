import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "../../../src/db/client.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { createLogTailStore } from "../../../src/db/stores/log-tail.ts";
import { createLogStore, type LogStore } from "../../../src/db/stores/logs.ts";
import { createIdFactory } from "../../../src/lib/ids.ts";
import { readCursor } from "../../../src/logs/follow/cursor.ts";
import { LogTail } from "../../../src/logs/follow/log-tail.ts";
import { readTailPage, type TailFilter, type TailRequest } from "../../../src/logs/follow/page.ts";
import type { LogDetails } from "../../../src/schemas/logs.ts";
import { nodeMac } from "../../../src/serve/environment.ts";
import { readTail } from "../../support/log-tail.ts";

const createId = createIdFactory(Date.now);
const mac = nodeMac(new Uint8Array(32));
let database: Database;
let logStore: LogStore;
before(async () => {
  database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  logStore = createLogStore(database);
});
after(() => database.close());

const filterOf = (organisationId: string, changes: Partial<TailFilter> = {}): TailFilter => ({
  organisationId,
  workspaceId: "w",
  lower: "",
  upper: "~",
  terms: {},
  conditions: [],
  content: true,
  denied: [],
  ...changes,
});

/** Writes a batch of rows; returns their ids. */
async function write(organisationId: string, rows: number, changes: Partial<LogDetails> = {}): Promise<string[]> {
  const ids = Array.from({ length: rows }, createId);
  const details = ids.map((id) => ({ id, status: 200, model: "m", padding: "x".repeat(800), ...changes }));
  const [firstId = "", lastId = ""] = [ids.at(0), ids.at(-1)];
  const texts = { details: JSON.stringify(details), counted: "", charged: "", content: "" };
  await logStore.append([{ organisationId, workspaceId: "w", firstId, lastId, ...texts }]);
  return ids;
}

/** A tail over the database, and the requests it reads with. */
function createTail(lookEveryMs?: number) {
  const store = createLogTailStore(database);
  const requests: TailRequest[] = [];
  const state = { isBroken: false };
  const tail = new LogTail({
    readTail: (request) => {
      requests.push(request);
      if (state.isBroken) return Promise.reject(new Error("no database"));
      return readTailPage({ store }, request);
    },
    newest: store.newest,
    mac,
    lookEveryMs,
    warn: () => {},
  });
  const follow = async (filter: TailFilter) =>
    readTail(new Response(await tail.follow({ filter, after: undefined, check: async () => filter })));
  return { tail, requests, state, follow };
}

async function until(isTrue: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!isTrue()) {
    if (performance.now() > end) throw new Error("Waited ten seconds");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

test("without followers nothing is read", async () => {
  const { tail, requests, follow } = createTail();
  await write("idle", 3);
  tail.wake();
  const reading = await follow(filterOf("idle"));
  await until(() => tail.state().behind === 0);
  await reading.close();
  assert.deepEqual(tail.state(), { followers: 0, behind: 0 });
  const { length } = requests;
  await write("idle", 3);
  tail.wake();
  await new Promise((resolve) => setTimeout(resolve, 700));
  assert.equal(requests.length, length);
});

test("equal filters are read for once, and rows of other tenants are not parsed", async () => {
  const { tail, requests, follow } = createTail();
  const wide = await Promise.all(Array.from({ length: 10 }, () => follow(filterOf("many"))));
  const narrow = await follow(filterOf("many", { conditions: [{ field: "status", oneOf: new Set([500]) }] }));
  await until(() => tail.state().behind === 0);
  await write("others", 5);
  const ids = await write("many", 5);
  const failed = await write("many", 2, { status: 500 });
  tail.wake();
  for (const reading of wide) assert.deepEqual(idsOf(await reading.take(7)), [...ids, ...failed]);
  assert.deepEqual(idsOf(await narrow.take(2)), failed);
  const shared = requests.filter(({ filters }) => filters.length > 1);
  assert.ok(shared.length > 0);
  for (const { filters } of shared) assert.equal(filters.length, 2);
  tail.close();
});

test("a slow reader keeps no rows in memory, gets every row once, and holds up nobody", async () => {
  const { tail, follow } = createTail();
  const slow = await follow(filterOf("slow"));
  const quick = await follow(filterOf("slow"));
  await until(() => tail.state().behind === 0);
  const written: string[] = [];
  const seen: string[] = [];
  for (let batch = 0; batch < 40; batch++) {
    written.push(...(await write("slow", 50)));
    tail.wake();
    seen.push(...idsOf(await quick.take(50)));
  }
  assert.deepEqual(seen, written);
  // 2 MB were written: the slow one has a page of them at most
  assert.deepEqual(tail.state(), { followers: 2, behind: 1 });
  assert.deepEqual(idsOf(await slow.take(1_000)), written.slice(0, 1_000));
  written.push(...(await write("slow", 50)));
  tail.wake();
  assert.deepEqual(idsOf(await slow.take(1_050)), written.slice(1_000));
  await until(() => tail.state().behind === 0);
  tail.close();
});

test("followers that come and go while rows are written get every row from their beginning on once", async () => {
  const { tail, follow } = createTail();
  const written: string[] = [];
  const readings: { reading: Awaited<ReturnType<typeof follow>>; from: number }[] = [];
  for (let batch = 0; batch < 60; batch++) {
    if (batch % 3 === 0) readings.push({ from: written.length, reading: await follow(filterOf("flow")) });
    written.push(...(await write("flow", 1 + (batch % 7))));
    if (batch % 2 === 0) tail.wake();
  }
  for (const { reading, from } of readings) {
    assert.deepEqual(idsOf(await reading.take(written.length - from)), written.slice(from));
  }
  tail.close();
});

test("without its database the tail waits, and goes on afterwards", async () => {
  const { tail, state, follow } = createTail();
  const reading = await follow(filterOf("broken"));
  await until(() => tail.state().behind === 0);
  state.isBroken = true;
  const ids = await write("broken", 3);
  tail.wake();
  await new Promise((resolve) => setTimeout(resolve, 100));
  state.isBroken = false;
  assert.deepEqual(idsOf(await reading.take(3)), ids);
  tail.close();
});

/** The next blocks of a stream, or all up to its end. */
async function readBlocks(reader: ReadableStreamDefaultReader<Uint8Array>, count: number): Promise<string[]> {
  let text = "";
  while (text.split("\n\n").length <= count) {
    const { done, value } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  return text.split("\n\n").filter((block) => block !== "");
}

test("a quiet stream gets heartbeats from which it resumes, and one that gets rows gets none of them in between", async () => {
  const { tail, follow } = createTail(10);
  const filter = filterOf("beat");
  const quiet = { ...filter, conditions: [{ field: "status" as const, oneOf: new Set([500]) }] };
  const check = async () => quiet;
  const reader = (await tail.follow({ filter: quiet, after: undefined, check })).getReader();
  const [first] = await readBlocks(reader, 1);
  assert.match(first ?? "", /^: heartbeat\nid: \S+$/);
  const busy = await follow(filter);
  // rows that it does not want move its position
  const [before] = await readBlocks(reader, 1);
  assert.match(before ?? "", /^: heartbeat\nid: \S+$/);
  const ids = await write("beat", 2);
  tail.wake();
  assert.deepEqual(idsOf(await busy.take(2)), ids);
  const [after, again] = await readBlocks(reader, 2);
  const idOf = (block: string | undefined) => /^: heartbeat\nid: (\S+)$/.exec(block ?? "")?.[1];
  assert.ok(idOf(after) !== undefined && idOf(again) !== undefined);
  assert.notEqual(idOf(again), idOf(before));
  const failed = await write("beat", 1, { status: 500 });
  const position = await readCursor(idOf(again) ?? "", filter, mac);
  assert.ok(position);
  const resumed = readTail(new Response(await tail.follow({ filter, after: position, check: async () => filter })));
  assert.deepEqual(idsOf(await resumed.take(1)), failed);
  tail.close();
});

test("a reader that does not read gets no heartbeats either", async () => {
  const { tail, follow } = createTail(5);
  const slow = await tail.follow({
    filter: filterOf("full"),
    after: undefined,
    check: async () => filterOf("full"),
  });
  const quick = await follow(filterOf("full"));
  for (let batch = 0; batch < 10; batch++) {
    await write("full", 50);
    tail.wake();
    await quick.take(50);
  }
  await until(() => tail.state().behind === 1);
  // two hundred looks and more: at least six heartbeats would be due
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const reader = slow.getReader();
  const blocks: string[] = [];
  const countRows = () => blocks.filter((block) => block.includes("event: log")).length;
  while (countRows() < 500) blocks.push(...(await readBlocks(reader, 1)));
  // one may be sent before it falls behind
  const heartbeats = blocks.length - countRows();
  assert.ok(heartbeats <= 3, `${heartbeats} heartbeats`);
  tail.close();
});

test("a follower that may see other rows from now on gets those, each of them once", async () => {
  const { tail, follow } = createTail(10);
  const of = (status: number) =>
    filterOf("changing", { conditions: [{ field: "status" as const, oneOf: new Set([status]) }] });
  let filter = of(200);
  let checks = 0;
  const check = async () => {
    checks++;
    return filter;
  };
  const reading = readTail(new Response(await tail.follow({ filter, after: undefined, check })));
  const all = await follow(filterOf("changing"));
  const writeBoth = async () => {
    const ids = [...(await write("changing", 2)), ...(await write("changing", 2, { status: 500 }))];
    tail.wake();
    return ids;
  };
  const first = await writeBoth();
  assert.deepEqual(idsOf(await all.take(4)), first);
  assert.deepEqual(idsOf(await reading.take(2)), first.slice(0, 2));
  filter = of(500);
  const before = checks;
  await until(() => checks > before + 1);
  const second = await writeBoth();
  assert.deepEqual(idsOf(await reading.take(2)), second.slice(2));
  tail.close();
});
