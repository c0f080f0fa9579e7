import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Limit } from "../../src/policies/limit-store.ts";
import type { RedisLimitStoreOptions } from "../../src/policies/redis/options.ts";
import type { LimitIncrement } from "../../src/schemas/logs.ts";
import { eventually } from "../support/eventually.ts";
import { hasRedis, type RedisServer, startRedis } from "../support/redis.ts";
import {
  createInstallation,
  type Installation,
  nodesKeyOf,
  type RedisNode,
  startNode,
  untilKnown,
} from "../support/redis-store.ts";
import { openSlowLink } from "../support/slow-link.ts";
import { book, claimOf, createLimit } from "./store-conformance.ts";

const options = { skip: !hasRedis };
let redis: RedisServer;
before(async () => {
  if (hasRedis) redis = await startRedis();
});
after(() => redis?.kill());

let installation: Installation;
let nodes: RedisNode[] = [];
beforeEach(() => {
  installation = createInstallation();
  nodes = [];
});
afterEach(async () => {
  redis?.resume();
  for (const { store } of nodes) await store.close();
});

async function start(changes: Partial<RedisLimitStoreOptions> = {}): Promise<RedisNode> {
  const node = await startNode(redis, installation, changes);
  nodes.push(node);
  return node;
}

/** Starts processes that know of each other. */
async function startNodes(count: number, changes: Partial<RedisLimitStoreOptions> = {}): Promise<RedisNode[]> {
  const started: RedisNode[] = [];
  for (let index = 0; index < count; index++) started.push(await start({ agreeEveryMs: 30, ...changes }));
  await untilKnown(redis, nodesKeyOf(installation), count);
  return started;
}

const oneRequest = { requests: 1, tokens: 0, cost: 0 };

/** Makes requests until one is refused; each is used, and stored as its log row would be. */
async function useUp({ store }: RedisNode, limit: Limit): Promise<number> {
  for (let admitted = 0; ; admitted++) {
    const booked = await book(store, claimOf(limit));
    if (!booked) return admitted;
    installation.stored.add(limit.organisationId, booked.settle(oneRequest));
  }
}

/** Makes so many requests, which are used and stored. */
async function make({ store }: RedisNode, limit: Limit, count: number): Promise<void> {
  for (let made = 0; made < count; made++) {
    const booked = await book(store, claimOf(limit));
    assert.ok(booked, `request ${made}`);
    installation.stored.add(limit.organisationId, booked.settle(oneRequest));
  }
}

const usedIs =
  ({ store }: RedisNode, limit: Limit, used: number) =>
  async () =>
    (await store.read(limit, "b")).used === used;

/** Waits until all of them count in Redis: the first one takes all there is. */
async function untilShared(all: readonly RedisNode[]): Promise<void> {
  await eventually("processes that count in Redis", async () => {
    const limit = createLimit({ most: all.length });
    const admitted: number[] = [];
    for (const node of all) admitted.push(await useUp(node, limit));
    return admitted[0] === all.length;
  });
}

test("RedisLimitStore counts on from what is stored when Redis was emptied", options, async () => {
  const [one, two] = await startNodes(2);
  assert.ok(one && two);
  const limit = createLimit({ most: 10 });
  await make(one, limit, 3);
  await make(two, limit, 3);
  const open = await book(one.store, claimOf(limit));
  await redis.send("FLUSHALL");
  // the reservation is lost with Redis, and what it used comes with its log row
  await make(two, limit, 3);
  installation.stored.add(limit.organisationId, open?.settle(oneRequest) ?? []);
  await eventually("all that is stored", usedIs(one, limit, 10));
  assert.equal(await book(two.store, claimOf(limit)), undefined);
  assert.deepEqual([one.warnings, two.warnings], [[], []]);
});

test(
  "RedisLimitStore counts by the share of a process while Redis is away, and agrees when it is back",
  options,
  async () => {
    const [one, two, three] = await startNodes(3);
    assert.ok(one && two && three);
    const limit = createLimit({ most: 102 });
    await make(one, limit, 10);
    for (const node of [one, two, three]) await eventually("what was used", usedIs(node, limit, 10));
    for (const node of [two, three]) await make(node, limit, 1);
    await eventually("what was used", usedIs(one, limit, 12));
    await redis.kill();
    // each has heard of 10 to 12, and may use a third of what is left
    for (const node of [one, two, three]) assert.equal(await useUp(node, limit), 30);
    for (const { warnings } of [one, two, three]) {
      assert.equal(warnings.length, 1);
      assert.match(warnings[0] ?? "", /Cannot count in Redis.*Redis failed/);
    }
    await redis.restart();
    await untilShared([one, two, three]);
    for (const node of [one, two, three]) assert.equal((await node.store.read(limit, "b")).used, 102);
    assert.equal(await book(two.store, claimOf(limit)), undefined);
    assert.ok(await book(one.store, claimOf({ ...limit, most: 103 })));
    assert.equal(await book(three.store, claimOf({ ...limit, most: 103 })), undefined);
  },
);

test("RedisLimitStore gives back what was reserved in Redis while it was away", options, async () => {
  const { store } = await start({ agreeEveryMs: 30, timeoutMs: 100 });
  const limit = createLimit({ counts: "tokens", most: 100 });
  const [used, released] = [await book(store, claimOf(limit, 40)), await book(store, claimOf(limit, 30))];
  redis.pause();
  // a request waits once, then this process counts by its share of what is left
  const local = await book(store, claimOf(limit, 20));
  assert.ok(local);
  assert.equal(await book(store, claimOf(limit, 20)), undefined);
  const rows = [used?.settle({ requests: 1, tokens: 50, cost: 0 }), local.settle({ requests: 1, tokens: 10, cost: 0 })];
  installation.stored.add(
    limit.organisationId,
    rows.flatMap((row) => row ?? []),
  );
  released?.release();
  redis.resume();
  await eventually("what is stored, and nothing reserved", async () => {
    const state = await store.read(limit, "b");
    return state.used === 60 && state.reserved === 0;
  });
});

test("RedisLimitStore that starts without Redis goes on from what is stored", options, async () => {
  const limit = createLimit({ most: 10 });
  const row = { limitId: limit.id, bucket: "b", windowStart: 0, used: 7 };
  installation.stored.add(limit.organisationId, [row]);
  await redis.kill();
  const node = await start();
  assert.equal(node.warnings.length, 1);
  assert.equal((await node.store.read(limit, "b")).used, 7);
  assert.equal(await useUp(node, limit), 3);
  await redis.restart();
  await eventually("what is stored", usedIs(node, limit, 10));
  assert.equal(await useUp(node, limit), 0);
});

test(
  "RedisLimitStore is never unlimited, also when neither Redis nor the stored counters are there",
  options,
  async () => {
    const [one, two] = await startNodes(2);
    assert.ok(one && two);
    const [known, unknown] = [createLimit({ most: 100 }), createLimit({ most: 100 })];
    await make(one, known, 20);
    await eventually("what was used", usedIs(one, known, 20));
    installation.stored.isAway = true;
    await redis.send("FLUSHALL");
    // Redis knows nothing of these buckets, and what is stored cannot be read
    assert.equal(await useUp(one, known), 80);
    assert.equal(await useUp(two, unknown), 100);
    assert.deepEqual([await useUp(two, known), await useUp(one, unknown)], [0, 0]);
    assert.equal(one.warnings.length, 1);
    installation.stored.isAway = false;
    for (const limit of [known, unknown]) await eventually("what is stored", usedIs(one, limit, 100));
    assert.deepEqual([await useUp(two, known), await useUp(one, unknown)], [0, 0]);
  },
);

test("RedisLimitStore goes on with what Redis has while the stored counters cannot be read", options, async () => {
  const [node] = await startNodes(1, { timeoutMs: 100 });
  assert.ok(node);
  const limit = createLimit({ most: 10 });
  await make(node, limit, 4);
  await eventually("what was used", usedIs(node, limit, 4));
  installation.stored.isAway = true;
  redis.pause();
  const local = await book(node.store, claimOf(limit));
  assert.ok(local && node.store.outage().isAway);
  local.release();
  redis.resume();
  await eventually("Redis", async () => !node.store.outage().isAway);
  // one that starts now goes on from there, too
  const other = await start();
  assert.equal(await useUp(other, limit), 6);
  assert.equal(await useUp(node, limit), 0);
});

test(
  "RedisLimitStore lowers nothing to counters that lack what was used while the database was away",
  options,
  async () => {
    const [node] = await startNodes(1, { quietMs: 20 });
    assert.ok(node);
    const limit = createLimit({ most: 10 });
    await make(node, limit, 4);
    let reads = 0;
    const { readUsed } = installation.stored;
    installation.stored.readUsed = async (names) => {
      reads++;
      return readUsed(names);
    };
    const untilReads = (count: number) => eventually(`${count} comparisons`, async () => reads >= count);
    installation.stored.isAway = true;
    const rows: LimitIncrement[] = [];
    for (let request = 0; request < 6; request++) {
      const booked = await book(node.store, claimOf(limit));
      rows.push(...(booked?.settle(oneRequest) ?? []));
    }
    await untilReads(reads + 2);
    installation.stored.isAway = false;
    await untilReads(reads + 5);
    assert.equal(await useUp(node, limit), 0);
    installation.stored.add(limit.organisationId, rows);
    await untilReads(reads + 2);
    assert.equal((await node.store.read(limit, "b")).used, 10);
  },
);

test("RedisLimitStore that is strict admits nothing without Redis, and goes on with it", options, async () => {
  const node = await start({ isStrict: true });
  const limit = createLimit({ most: 10 });
  await make(node, limit, 3);
  await redis.kill();
  for (let request = 0; request < 2; request++) {
    const refused = await node.store.reserve([claimOf(limit)]);
    assert.ok("claim" in refused && refused.isAway && Number.isFinite(refused.resetsAt));
  }
  await redis.restart();
  await eventually("a request with Redis", async () => (await book(node.store, claimOf(limit))) !== undefined);
});

test("RedisLimitStore waits for a database that is further away than Redis may be", options, async () => {
  const { readUsed } = installation.stored;
  installation.stored.readUsed = async (names) => {
    await new Promise((resolve) => setTimeout(resolve, 600));
    return readUsed(names);
  };
  const started = await startNodes(3, { timeoutMs: 500, agreeEveryMs: 3_600_000 });
  const limit = createLimit({ most: 20 });
  const all = started.flatMap((node) => Array.from({ length: 20 }, () => book(node.store, claimOf(limit))));
  const booked = await Promise.all(all);
  assert.equal(booked.filter((one) => one !== undefined).length, 20);
  assert.deepEqual(
    started.flatMap(({ warnings }) => warnings),
    [],
  );
});

test(
  "RedisLimitStore begins a counter in Redis where a database that is silent would have to be asked",
  options,
  async () => {
    const [one, two] = await startNodes(2, { storedTimeoutMs: 50, agreeEveryMs: 3_600_000 });
    assert.ok(one && two);
    const [known, unknown] = [createLimit({ most: 10 }), createLimit({ most: 10 })];
    await make(one, known, 2);
    const { readUsed } = installation.stored;
    installation.stored.readUsed = () => new Promise(() => {});
    assert.equal(await useUp(one, unknown), 10);
    // also one that starts now does not begin anew
    assert.equal(await useUp(await start({ storedTimeoutMs: 50 }), unknown), 0);
    // what Redis counts goes on there
    assert.equal(await useUp(two, known), 8);
    assert.equal(await useUp(one, known), 0);
    assert.equal(one.warnings.length, 1);
    assert.match(one.warnings[0] ?? "", /Cannot read what is stored of limits.*within 50 ms/);
    installation.stored.readUsed = readUsed;
    assert.equal(await useUp(two, unknown), 0);
  },
);

test(
  "RedisLimitStore that loses Redis again and again while the database is away forgets no share",
  options,
  async () => {
    const [node] = await startNodes(1, { timeoutMs: 100 });
    assert.ok(node);
    const limit = createLimit({ most: 20 });
    await make(node, limit, 4);
    await eventually("what was used", usedIs(node, limit, 4));
    installation.stored.isAway = true;
    for (let round = 0; round < 3; round++) {
      redis.pause();
      for (let request = 0; request < 4; request++) (await book(node.store, claimOf(limit)))?.settle(oneRequest);
      redis.resume();
      await eventually("Redis", async () => !node.store.outage().isAway);
    }
    const other = await start();
    assert.equal(await useUp(other, limit), 4);
  },
);

test(
  "RedisLimitStore of a new process waits for its first bookings, and takes no share meanwhile",
  options,
  async () => {
    const node = await start();
    const limit = createLimit({ most: 10 });
    assert.equal(await useUp(node, limit), 10);
    installation.stored.isAway = true;
    const link = await openSlowLink(redis.url, 60);
    const late = await startNode({ url: link.url.replace("http:", "redis:") }, installation, { timeoutMs: 100 });
    nodes.push(late);
    assert.equal(await useUp(late, limit), 0);
    assert.deepEqual(late.warnings, []);
    await late.store.close();
    nodes.pop();
    await link.close();
  },
);

test("RedisLimitStore carries out resets that came while Redis was away", options, async () => {
  const node = await start({ agreeEveryMs: 30 });
  const limit = createLimit({ most: 10 });
  await make(node, limit, 8);
  await eventually("what was used", usedIs(node, limit, 8));
  redis.pause();
  const { store } = await start({ timeoutMs: 100 });
  const increment = await store.reset(limit, "b");
  assert.equal(increment?.used, -8);
  installation.stored.add(limit.organisationId, [increment]);
  assert.equal((await store.read(limit, "b")).used, 0);
  redis.resume();
  await eventually("the reset", usedIs(node, limit, 0));
  assert.equal(await useUp(node, limit), 10);
});

test("RedisLimitStore warns without the password, and refuses certificates it does not know", options, async () => {
  const guarded = await startRedis({ password: "fake-password-of-redis" });
  const { host } = new URL(guarded.url);
  const limit = createLimit({ most: 1 });
  const right = await startNode(guarded, installation);
  assert.ok(await book(right.store, claimOf(limit)));
  assert.deepEqual(right.warnings, []);
  for (const url of [`redis://:fake-wrong-password@${host}`, `rediss://user:fake-wrong-password@${host}`]) {
    const wrong = await startNode({ url }, createInstallation(), { timeoutMs: 100 });
    assert.ok(await book(wrong.store, claimOf(limit)));
    assert.equal(await book(wrong.store, claimOf(limit)), undefined);
    assert.equal(wrong.warnings.length, 1);
    assert.match(wrong.warnings[0] ?? "", /Cannot count in Redis/);
    assert.doesNotMatch(wrong.warnings[0] ?? "", /fake-/);
    await wrong.store.close();
  }
  await right.store.close();
  await guarded.kill();
});
