import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { hasRedis, type RedisServer, startRedis } from "../support/redis.ts";
import { createInstallation, startNode } from "../support/redis-store.ts";
import { book, claimOf, createLimit, type StoreSettings, testStore } from "./store-conformance.ts";

const options = { skip: !hasRedis };
let redis: RedisServer;
before(async () => {
  if (hasRedis) redis = await startRedis();
});
after(() => redis?.kill());

testStore(
  "RedisLimitStore",
  async ({ stored: rows = [], onUsed }: StoreSettings = {}) => {
    const installation = createInstallation();
    for (const row of rows) installation.stored.add(row.organisationId, [row]);
    const { store, stored } = await startNode(redis, installation, { onUsed });
    return {
      store,
      add: (organisationId, increments) => stored.add(organisationId, increments),
      correct: (organisationId, { used, ...counter }) => {
        stored.correct(organisationId, [{ ...counter, used }]);
        store.follow([{ ...counter, organisationId, corrected: used }]);
      },
      async waitUntil(time) {
        const leftMs = time - (await redis.now());
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, leftMs) + 5));
      },
      close: () => store.close(),
    };
  },
  options,
);

const oneRequest = { requests: 1, tokens: 0, cost: 0 };

test("RedisLimitStore counts with other processes of its installation, and with no others", options, async () => {
  const installation = createInstallation();
  const [one, two] = [await startNode(redis, installation), await startNode(redis, installation)];
  const other = await startNode(redis, createInstallation());
  const limit = createLimit({ most: 2 });
  (await book(one.store, claimOf(limit)))?.settle(oneRequest);
  assert.ok(await book(two.store, claimOf(limit)));
  assert.equal(await book(one.store, claimOf(limit)), undefined);
  assert.ok(await book(other.store, claimOf(limit)));
  for (const { store } of [one, two, other]) await store.close();
});

test(
  "RedisLimitStore reads a stored counter once, and none of a window that began since it counts",
  options,
  async () => {
    const installation = createInstallation();
    const { store, stored } = await startNode(redis, installation, { agreeEveryMs: 3_600_000 });
    const [budget, rate] = [createLimit({ most: 100 }), createLimit({ most: 1_000, window: "second" })];
    assert.ok(await book(store, claimOf(budget)));
    await Promise.all(Array.from({ length: 20 }, () => book(store, claimOf(budget))));
    assert.equal(stored.reads, 1);
    const first = (await book(store, claimOf(rate)))?.states[0]?.span.start;
    const reads = stored.reads;
    await eventually("a window that began since", async () => {
      return (await book(store, claimOf(rate), claimOf(budget)))?.states[0]?.span.start !== first;
    });
    assert.equal(stored.reads, reads);
    await store.close();
  },
);

test("RedisLimitStore expires what a process reserved that ended without settling it", options, async () => {
  const installation = createInstallation();
  const ended = await startNode(redis, installation, { longestCallMs: 300 });
  const { store } = await startNode(redis, installation);
  const limit = createLimit({ counts: "tokens", most: 100 });
  const booked = await book(ended.store, claimOf(limit, 100));
  await eventually("room for another request", async () => (await book(store, claimOf(limit, 60))) !== undefined);
  assert.equal((await store.read(limit, "b")).reserved, 60);
  // it comes late: what was used is counted from its log row
  booked?.settle({ requests: 1, tokens: 90, cost: 0 });
  await ended.store.close();
  assert.deepEqual((await store.read(limit, "b")).used, 0);
  await store.close();
});

test("RedisLimitStore names no tenant in Redis, and all keys of its buckets expire", options, async () => {
  const own = await startRedis();
  const { store } = await startNode(own, createInstallation());
  for (const window of ["minute", "month", "ever", { days: 3, from: 0 }] as const) {
    const limit = createLimit({ id: "limit-of-acme", organisationId: "organisation-acme", window, most: 10 });
    (await book(store, claimOf(limit, 1, 0, "metadata:user@acme.test")))?.settle(oneRequest);
    await book(store, claimOf(limit, 1, 0, "metadata:user@acme.test"));
  }
  const listKeys = `local found = {}
    for _, key in ipairs(redis.call('KEYS', '*')) do
      found[#found + 1] = key .. ' ' .. redis.call('PTTL', key)
    end
    return found`;
  const keys = (await own.send("EVAL", listKeys, 0)) as string[]; // as the script returns
  assert.ok(keys.length > 10);
  for (const key of keys) {
    assert.match(key, /^gateway:\{[\w-]{22,}\}:[\w:-]+ -?\d+$/);
    assert.ok(!/acme/.test(key));
    assert.equal(/ -1$/.test(key), /:life /.test(key), key);
  }
  await store.close();
  await own.kill();
});

test("RedisLimitStore goes on when Redis has forgotten its scripts", options, async () => {
  const { store, warnings } = await startNode(redis, createInstallation());
  const limit = createLimit({ most: 2 });
  assert.ok(await book(store, claimOf(limit)));
  await redis.send("SCRIPT", "FLUSH");
  assert.ok(await book(store, claimOf(limit)));
  assert.equal(await book(store, claimOf(limit)), undefined);
  assert.deepEqual(warnings, []);
  await store.close();
});

test(
  "RedisLimitStore raises counters to what is stored, at once reports it, and lowers them when they are quiet",
  options,
  async () => {
    const uses: [number, number][] = [];
    const onUsed = ({ before, after }: { before: number; after: number }) => uses.push([before, after]);
    const { store, stored } = await startNode(redis, createInstallation(), { agreeEveryMs: 20, quietMs: 400, onUsed });
    const limit = createLimit({ counts: "tokens", most: 100 });
    const increments = (await book(store, claimOf(limit, 1)))?.settle({ requests: 1, tokens: 10, cost: 0 }) ?? [];
    const row = increments[0] ?? assert.fail();
    stored.add(limit.organisationId, [{ ...row, used: 30 }]);
    const usedIs = (wanted: number) => async () => (await store.read(limit, "b")).used === wanted;
    await eventually("the stored counter", usedIs(30));
    assert.deepEqual(uses, [
      [0, 10],
      [10, 30],
    ]);
    stored.add(limit.organisationId, [{ ...row, used: -25 }]);
    await eventually("the lowered counter", usedIs(5));
    assert.equal(uses.length, 2);
    await store.close();
  },
);

test("RedisLimitStore does not undo a reset whose transaction is under way", options, async () => {
  const { store, stored } = await startNode(redis, createInstallation(), { agreeEveryMs: 20, quietMs: 20 });
  const limit = createLimit({ counts: "tokens", most: 100 });
  stored.add(
    limit.organisationId,
    (await book(store, claimOf(limit)))?.settle({ requests: 1, tokens: 90, cost: 0 }) ?? [],
  );
  await eventually("what was used", async () => (await store.read(limit, "b")).used === 90);
  const increment = await store.reset(limit, "b");
  assert.equal(increment?.used, -90);
  const reads = stored.reads;
  await eventually("some agreements", async () => stored.reads > reads + 5);
  assert.equal((await store.read(limit, "b")).used, 0);
  await store.close();
});
