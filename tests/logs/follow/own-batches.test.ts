import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "../../../src/db/client.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { createLogTailStore } from "../../../src/db/stores/log-tail.ts";
import { createLogStore } from "../../../src/db/stores/logs.ts";
import { createIdFactory } from "../../../src/lib/ids.ts";
import { LogTail } from "../../../src/logs/follow/log-tail.ts";
import { OwnBatches } from "../../../src/logs/follow/own-batches.ts";
import { readTailPage, type TailFilter, type TailRequest } from "../../../src/logs/follow/page.ts";
import { Sieve } from "../../../src/logs/follow/sieve.ts";
import type { LogDetails } from "../../../src/schemas/logs.ts";
import { nodeMac } from "../../../src/serve/environment.ts";
import { eventually } from "../../support/eventually.ts";
import { plainDetails } from "../../support/log-record.ts";
import { readTail } from "../../support/log-tail.ts";

const createId = createIdFactory(Date.now);
let database: Database;
before(async () => {
  database = await openDatabase({ url: ":memory:" });
  await migrate(database);
});
after(() => database.close());

const filterOf = (conditions: TailFilter["conditions"], changes: Partial<TailFilter> = {}): TailFilter => ({
  organisationId: "o",
  workspaceId: "w",
  lower: "",
  upper: "~",
  terms: {},
  conditions,
  content: true,
  denied: [],
  ...changes,
});
const ofStatus = (status: number) => filterOf([{ field: "status", oneOf: new Set([status]) }]);
const recordOf = (changes: Partial<LogDetails> = {}) => ({ details: { ...plainDetails, id: createId(), ...changes } });

const batch = { organisationId: "o", workspaceId: "w", firstId: "a", lastId: "b" };

test("OwnBatches knows which filters do not want a batch, of those that were asked", () => {
  const own = new OwnBatches();
  own.add([batch], { upTo: 3, filters: [2] });
  assert.deepEqual(
    [1, 2, 3, 4].map((number) => own.mayWant(batch, number)),
    [false, true, false, true],
  );
  own.clear();
  assert.ok(own.mayWant(batch, 1));
});

test("OwnBatches knows nothing of batches of others, of those written twice or in vain, and of those long ago", () => {
  const own = new OwnBatches(2);
  const foreseen = { upTo: 3, filters: [] };
  own.add([batch], foreseen);
  for (const name of ["organisationId", "workspaceId", "firstId", "lastId"]) {
    assert.ok(own.mayWant({ ...batch, [name]: "other" }, 1), name);
  }
  assert.ok(own.mayWant({ ...batch, workspaceId: null }, 1));
  own.add([batch], foreseen);
  assert.ok(own.mayWant(batch, 1));
  const failed = { ...batch, lastId: "c" };
  own.add([failed], undefined);
  own.add([failed], foreseen);
  assert.ok(own.mayWant(failed, 1));
  const [first, ...later] = ["d", "e", "f"].map((lastId) => ({ ...batch, lastId }));
  assert.ok(first);
  own.add([first], foreseen);
  assert.equal(own.mayWant(first, 1), false);
  own.add(later, foreseen);
  assert.ok(own.mayWant(first, 1));
  for (const one of later) assert.equal(own.mayWant(one, 1), false);
});

test("a sieve looks at the rarest field of a filter, and at all of them before it finds a row", () => {
  const model = { field: "model", oneOf: new Set(["m", "n"]) } as const;
  const filters = [
    filterOf([]),
    filterOf([model, { field: "metadata.team", oneOf: new Set(["blue"]) }]),
    filterOf([model, { field: "status", oneOf: new Set([500]) }]),
    filterOf([{ field: "cost", least: 5 }]),
    filterOf([model], { terms: { traces: new Set(["t1", "t2"]) } }),
    filterOf([model], { terms: { spans: new Set(["s1"]) } }),
    filterOf([], { organisationId: "other" }),
    filterOf([], { workspaceId: null }),
    filterOf([{ field: "config", oneOf: new Set(["c"]), orNone: true }]),
  ];
  const sieve = new Sieve(filters.map((filter, number) => ({ filter, number })));
  const find = (...rows: Partial<LogDetails>[]) => sieve.find(rows.map(recordOf)).sort();
  assert.deepEqual(find(), []);
  assert.deepEqual(find({}), [0, 7, 8]);
  assert.deepEqual(find({ workspace_id: "w2" }), [7]);
  assert.deepEqual(find({ organisation_id: "other" }), [6]);
  assert.deepEqual(find({ metadata: { team: "blue" }, config: "d" }), [0, 1, 7]);
  assert.deepEqual(find({ metadata: { team: "blue" }, model: "x", config: "d" }), [0, 7]);
  assert.deepEqual(find({ status: 500, model: "n", config: "d" }), [0, 2, 7]);
  assert.deepEqual(find({ cost: 5, config: "d" }, { cost: 4, trace_id: "t2", config: "d" }), [0, 3, 4, 7]);
  assert.deepEqual(find({ span_id: "s1", config: "d" }), [0, 5, 7]);
  assert.deepEqual(find({ span_id: "s1", model: null, config: "d" }), [0, 7]);
});

/** A tail, and a write of one row after which it is woken; both ask the followers what they want of it. */
function createTail() {
  const store = createLogTailStore(database);
  const own = new OwnBatches();
  const read: number[] = [];
  const requests: TailRequest[] = [];
  const counting: typeof store = {
    ...store,
    readBatches(scopes, seqs) {
      read.push(...seqs);
      return store.readBatches(scopes, seqs);
    },
  };
  const tail = new LogTail({
    readTail: (request) => {
      requests.push(request);
      return readTailPage({ store: counting, own }, request);
    },
    newest: store.newest,
    mac: nodeMac(new Uint8Array(32)),
    lookEveryMs: 3_600_000,
    warn: (message, error) => assert.fail(`${message}: ${error}`),
  });
  const follow = async (filter: TailFilter, check = async () => filter) =>
    readTail(new Response(await tail.follow({ filter, after: undefined, check })));
  const write = async (changes: Partial<LogDetails>, meanwhile?: () => Promise<void>): Promise<string> => {
    const record = recordOf(changes);
    const foreseen = tail.foresee([record]);
    await meanwhile?.();
    const { id } = record.details;
    const name = { organisationId: "o", workspaceId: "w", firstId: id, lastId: id };
    const columns = { details: JSON.stringify([record.details]), counted: "", charged: "", content: "" };
    await createLogStore(database).append([{ ...name, ...columns }]);
    if (foreseen) own.add([name], foreseen);
    tail.wake(foreseen);
    return id;
  };
  return { tail, read, requests, follow, write };
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

test("rows that no follower wants are not read, and lead to no look", async () => {
  const { tail, read, requests, follow, write } = createTail();
  const reading = await follow(ofStatus(500));
  await eventually("it has caught up", async () => tail.state().behind === 0);
  const before = requests.length;
  for (let row = 0; row < 5; row++) await write({ status: 200 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(requests.length, before);
  const wanted = await write({ status: 500 });
  assert.deepEqual(idsOf(await reading.take(1)), [wanted]);
  assert.equal(read.length, 1);
  tail.close();
});

test("a row that is written while a follower begins is looked for at once, although nobody wanted it before", async () => {
  const { tail, follow, write } = createTail();
  await follow(ofStatus(500));
  let reading: Awaited<ReturnType<typeof follow>> | undefined;
  const id = await write({ status: 429 }, async () => {
    reading = await follow(ofStatus(429));
  });
  assert.deepEqual(idsOf((await reading?.take(1)) ?? []), [id]);
  tail.close();
});

test("the number of a filter that nobody has any more is not used again", async () => {
  const { tail, follow } = createTail();
  await follow(ofStatus(500));
  const leaving = await follow(ofStatus(429));
  await leaving.close();
  assert.equal(tail.foresee([recordOf({ status: 500 })])?.upTo, 2);
  await follow(ofStatus(418));
  assert.deepEqual(tail.foresee([recordOf({ status: 418 })]), { upTo: 3, filters: [3] });
  tail.close();
});
