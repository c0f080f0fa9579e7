import assert from "node:assert/strict";
import { test } from "node:test";
import { maxBuckets, overflowBucket } from "../../src/policies/limit-store.ts";
import { spanOf } from "../../src/policies/windows.ts";
import { createRandom } from "../support/gateway.ts";
import {
  claimOf,
  countAdmitted,
  type LeaseNode,
  limitOf,
  pass,
  race,
  requestUse,
  reserve,
  withNodes,
} from "../support/leases.ts";

const costUse = (cost: number) => ({ requests: 1, tokens: 0, cost });

/** Waits until something is there. */
async function until(find: () => Promise<unknown>): Promise<void> {
  for (const startedAt = performance.now(); !(await find()); ) {
    if (performance.now() - startedAt > 5_000) throw new Error("Waited five seconds");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("three nodes admit at most 100 of 1,000 requests within a limit of 100, and at least 75", async () => {
  await withNodes(3, async (nodes) => {
    for (let seed = 0; seed < 20; seed++) {
      const admitted = await race(nodes, seed);
      assert.ok(admitted <= 100 && admitted >= 75, `seed ${seed}: ${admitted}`);
    }
  });
});

test("a node admits what fits in its lease at once, without the database", async () => {
  await withNodes(2, async ([node]) => {
    assert.ok(node);
    const limit = limitOf(800);
    assert.ok(await reserve(node, claimOf(limit)));
    node.calls.length = 0;
    // an eighth of 800 was leased
    for (let index = 1; index < 100; index++) assert.ok("settle" in node.store.reserve([claimOf(limit)]));
    assert.deepEqual(node.calls, []);
    assert.ok(node.store.reserve([claimOf(limit)]) instanceof Promise);
  });
});

test("a node leases at most a quarter of its part of what is left: the other keeps room", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    const limit = limitOf(100);
    assert.equal(await countAdmitted(one, limit, 1), 1);
    assert.equal(await countAdmitted(other, limit, 200), 87);
    assert.equal(await countAdmitted(one, limit, 200), 12);
  });
});

test("a node books all claims or none", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    const [wide, narrow] = [limitOf(10), limitOf(1)];
    assert.ok(await reserve(one, claimOf(narrow)));
    assert.equal(await reserve(other, claimOf(wide), claimOf(narrow)), undefined);
    assert.equal((await other.store.read(wide, "b")).reserved, 0);
    assert.equal((await countAdmitted(one, wide, 20)) + (await countAdmitted(other, wide, 20)), 10);
  });
});

test("thousands of refused requests ask the database once, and a moment later once again", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    const limit = limitOf(3);
    assert.equal(await countAdmitted(one, limit, 3), 3);
    assert.equal(await countAdmitted(other, limit, 2_000), 0);
    const asked = other.calls.filter((name) => name === "exchange").length;
    assert.equal(asked, 1);
    other.clock.advance(250);
    assert.equal(await countAdmitted(other, limit, 2_000), 0);
    assert.equal(other.calls.filter((name) => name === "exchange").length, 2);
  });
});

test("a refusal names the claim without room and the end of its window", async () => {
  await withNodes(1, async ([node]) => {
    assert.ok(node);
    const [wide, narrow] = [limitOf(10), limitOf(1, { window: "week" })];
    assert.ok(await reserve(node, claimOf(narrow)));
    const asked = [claimOf(wide), claimOf(narrow)];
    const outcome = await node.store.reserve(asked);
    assert.ok("claim" in outcome && outcome.claim === asked[1]);
    assert.equal(outcome.resetsAt, spanOf("week", Date.now()).end);
  });
});

test("a refusal for room that another node holds says that it may soon be free", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    const limit = limitOf(100, { window: "week" });
    await countAdmitted(one, limit, 1);
    await countAdmitted(other, limit, 87);
    const [soon] = await Promise.all([other.store.reserve([claimOf(limit)])]);
    assert.ok("claim" in soon && soon.resetsAt <= Date.now() + 20_000 && soon.resetsAt > Date.now() - 10_000);
    await countAdmitted(one, limit, 12);
    await pass(one, 10_000);
    await pass(other, 10_000);
    for (const node of [one, other]) {
      const refused = await node.store.reserve([claimOf(limit)]);
      assert.ok("claim" in refused && refused.states);
      assert.deepEqual(
        refused.states.map(({ used, reserved }) => used + reserved),
        [100],
      );
    }
  });
});

test("money is overspent by at most what one request of each node uses beyond its reservation", async () => {
  await withNodes(3, async (nodes) => {
    for (let seed = 0; seed < 4; seed++) {
      const random = createRandom(seed);
      const limit = limitOf(4_000, { counts: "cost" });
      let spent = 0;
      for (let index = 0; index < 150; index++) {
        const node = nodes[Math.floor(random() * 3)] as LeaseNode;
        node.clock.advance(250);
        const booked = await reserve(node, claimOf(limit, 20, 80));
        if (!booked) continue;
        const cost = Math.floor(random() * 150);
        spent += cost;
        await node.write(booked.settle(costUse(cost)));
      }
      assert.ok(spent <= 4_000 + 3 * 130 && spent >= 3_000, `seed ${seed}: ${spent}`);
      assert.equal((await nodes[0]?.store.read(limit, "b"))?.used, spent);
    }
  });
});

test("output tokens that a request reserved and did not use are soon free for other nodes", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    await pass(one, 10_000);
    const limit = limitOf(10_000, { counts: "tokens" });
    const booked = await Promise.all(Array.from({ length: 10 }, () => reserve(one, claimOf(limit, 10, 1_000))));
    assert.equal(await reserve(other, claimOf(limit, 10, 1_000)), undefined);
    for (const one of booked) one?.settle({ requests: 1, tokens: 20, cost: 0 });
    const leftOver = "SELECT granted - used AS left FROM limit_leases";
    await until(async () => Number((await one.database.read(leftOver)).rows[0]?.left) < 5_000);
    other.clock.advance(250);
    assert.ok(await reserve(other, claimOf(limit, 5_000)));
  });
});

test("a request for more than is free takes nothing from other nodes", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    const limit = limitOf(100, { counts: "tokens" });
    assert.equal(await reserve(one, claimOf(limit, 101)), undefined);
    assert.ok(await reserve(other, claimOf(limit, 100)));
  });
});

test("a lease does not grow while requests ask for more of another limit", async () => {
  await withNodes(2, async ([node]) => {
    assert.ok(node);
    const [wide, narrow] = [limitOf(1_000), limitOf(1_000, { counts: "tokens" })];
    for (let index = 0; index < 6; index++) assert.ok(await reserve(node, claimOf(wide), claimOf(narrow, 150)));
    const sql = "SELECT granted FROM limit_leases WHERE limit_id = ?";
    const { rows } = await node.database.read({ sql, args: [wide.id] });
    assert.equal(rows[0]?.granted, 125);
  });
});

test("a lowered limit holds for what is leased already, a raised one at once", async () => {
  await withNodes(2, async ([node]) => {
    assert.ok(node);
    const limit = limitOf(100);
    assert.equal(await countAdmitted(node, limit, 5), 5);
    assert.equal(await countAdmitted(node, { ...limit, most: 6 }, 10), 1);
    assert.equal(await countAdmitted(node, { ...limit, most: 8 }, 10), 2);
  });
});

test("every window has its own lease; tokens count where they are known, requests where they came in", async () => {
  await withNodes(1, async ([node]) => {
    assert.ok(node);
    const limit = limitOf(2, { window: "minute" });
    const tokens = limitOf(100, { counts: "tokens", window: "minute" });
    const booked = await reserve(node, claimOf(limit), claimOf(tokens, 10));
    assert.ok(await reserve(node, claimOf(limit)));
    assert.equal(await reserve(node, claimOf(limit)), undefined);
    node.clock.advance(60_000);
    assert.equal(await countAdmitted(node, limit, 5), 2);
    const increments = booked?.settle({ requests: 1, tokens: 40, cost: 0 }) ?? [];
    assert.deepEqual(
      increments.map(({ limitId, used }) => [limitId, used]),
      [[tokens.id, 40]],
    );
    await node.write(increments);
    assert.equal(await reserve(node, claimOf(tokens, 61)), undefined);
    assert.ok(await reserve(node, claimOf(tokens, 60)));
  });
});

test("buckets are apart, and those of one organisation from those of another with the same id", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    const limit = limitOf(1);
    const foreign = { ...limit, organisationId: "organisation-2" };
    assert.ok(await reserve(one, claimOf(limit)));
    assert.ok(await reserve(other, claimOf(foreign)));
    assert.ok(await reserve(other, claimOf(limit, 1, 0, "another")));
    assert.equal(await reserve(other, claimOf(limit)), undefined);
  });
});

test("values beyond the bound on buckets share one, also in the counters", async () => {
  await withNodes(1, async ([node]) => {
    assert.ok(node);
    const limit = limitOf(1);
    await Promise.all(Array.from({ length: maxBuckets }, (_, at) => reserve(node, claimOf(limit, 1, 0, `b${at}`))));
    const booked = await reserve(node, claimOf(limit, 1, 0, "late"));
    assert.equal(await reserve(node, claimOf(limit, 1, 0, "later")), undefined);
    assert.deepEqual(
      booked?.settle(requestUse).map(({ bucket }) => bucket),
      [overflowBucket],
    );
  });
});

test("read() and list() show what all nodes stored, what this one has not stored yet, and what it cannot use", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    const limit = limitOf(100);
    await one.write((await reserve(one, claimOf(limit)))?.settle(requestUse) ?? []);
    (await reserve(one, claimOf(limit)))?.settle(requestUse);
    await other.write((await reserve(other, claimOf(limit)))?.settle(requestUse) ?? []);
    await reserve(other, claimOf(limit, 3));
    const { used, reserved } = await one.store.read(limit, "b");
    assert.equal(used, 3);
    assert.deepEqual(
      (await one.store.list(limit)).map(([bucket, state]) => [bucket, state.used, state.reserved]),
      [["b", used, reserved]],
    );
    assert.equal((await other.store.read(limit, "b")).used, 2);
    assert.equal(await countAdmitted(one, limit, 200), 100 - used - reserved);
    const refused = await one.store.reserve([claimOf(limit)]);
    const [state] = ("claim" in refused && refused.states) || [];
    assert.ok(state && state.used + state.reserved === 100);
    const unknown = await one.store.read(limit, "unknown");
    assert.deepEqual([unknown.used, unknown.reserved], [0, 0]);
  });
});

test("reset() takes all use of a bucket away, on every node; what is reserved stays", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    const limit = limitOf(10);
    for (const node of [one, other]) {
      for (let index = 0; index < 4; index++) {
        await node.write((await reserve(node, claimOf(limit)))?.settle(requestUse) ?? []);
      }
    }
    assert.ok(await reserve(other, claimOf(limit)));
    const unwritten = (await reserve(one, claimOf(limit)))?.settle(requestUse) ?? [];
    assert.equal(await reserve(one, claimOf(limit)), undefined);
    const increment = await one.store.reset(limit, "b");
    assert.equal(increment?.used, -9);
    await one.write(increment ? [increment] : []);
    await one.write(unwritten);
    assert.equal((await other.store.read(limit, "b")).used, 0);
    other.clock.advance(250);
    assert.equal((await countAdmitted(one, limit, 20)) + (await countAdmitted(other, limit, 20)), 9);
    assert.equal(await other.store.reset(limitOf(1), "b"), undefined);
  });
});

test("add() counts without a lease and whatever is left; a negative amount is taken back", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    const limit = limitOf(10);
    assert.equal(await one.store.add(limit, "b", 0), undefined);
    const increment = await one.store.add(limit, "b", 12);
    await one.write(increment ? [increment] : []);
    assert.equal(await reserve(other, claimOf(limit)), undefined);
    const back = await one.store.add(limit, "b", -5);
    await one.write(back ? [back] : []);
    assert.equal(await countAdmitted(one, limit, 20), 3);
  });
});

test("the observer of one node sees the use of all of them, and no use twice", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    const limit = limitOf(100);
    for (let index = 0; index < 30; index++) {
      const node = index % 2 === 0 ? one : other;
      await node.write((await reserve(node, claimOf(limit)))?.settle(requestUse) ?? []);
      if (index % 10 === 9) await Promise.all([pass(one, 10_000), pass(other, 10_000)]);
    }
    for (const { uses } of [one, other]) {
      assert.equal(uses.at(-1)?.after, 30);
      for (const [index, { before }] of uses.entries()) assert.equal(before, uses[index - 1]?.after ?? before);
    }
    one.uses.length = 0;
    assert.equal(await reserve(one, claimOf({ ...limit, most: 30 })), undefined);
    assert.deepEqual(
      one.uses.map(({ before, after }) => [before, after]),
      [[30, 30]],
    );
  });
});
