import assert from "node:assert/strict";
import { test } from "node:test";
import { createLimitLeaseStore } from "../../src/db/stores/limit-leases.ts";
import type { LeaseDatabase } from "../../src/policies/lease-database.ts";
import type { Reservation } from "../../src/policies/limit-store.ts";
import { createRandom } from "../support/gateway.ts";
import {
  claimOf,
  countAdmitted,
  type LeaseNode,
  limitOf,
  newFile,
  openNode,
  pass,
  requestUse,
  reserve,
  withNodes,
} from "../support/leases.ts";

async function leasesIn({ database }: LeaseNode): Promise<number> {
  return Number((await database.read("SELECT count(*) AS count FROM limit_leases")).rows[0]?.count);
}

test("a killed node's leases return to the others", async () => {
  const url = newFile();
  await withNodes(
    1,
    async ([node]) => {
      assert.ok(node);
      const killed = await openNode(url);
      const limit = limitOf(100);
      const [booked] = await Promise.all([reserve(killed, claimOf(limit)), reserve(killed, claimOf(limit))]);
      await killed.write(booked?.settle(requestUse) ?? []);
      await pass(node, 10_000);
      assert.ok((await countAdmitted(node, limit, 200)) < 99);
      await pass(node, 40_000);
      assert.ok((await countAdmitted(node, limit, 200)) > 0);
      // what it stored is counted, what it had only reserved is free again
      const { used, reserved } = await node.store.read(limit, "b");
      assert.deepEqual({ used, reserved }, { used: 1, reserved: 99 });
      await killed.close();
    },
    url,
  );
});

test("a node that was paused uses none of its leases before it has asked, and none that others took over", async () => {
  await withNodes(2, async ([paused, other]) => {
    assert.ok(paused && other);
    const [limit, another] = [limitOf(100), limitOf(100)];
    assert.ok(await reserve(paused, claimOf(limit)));
    assert.ok("settle" in paused.store.reserve([claimOf(limit)]));
    paused.clock.advance(20_000);
    const waiting = paused.store.reserve([claimOf(limit)]);
    assert.ok(waiting instanceof Promise && "settle" in (await waiting));
    await countAdmitted(paused, another, 1);
    await pass(other, 50_000);
    assert.equal(await countAdmitted(other, limit, 200), 100);
    assert.equal(await countAdmitted(other, another, 200), 100);
    paused.clock.advance(50_000);
    assert.equal(await reserve(paused, claimOf(limit)), undefined);
    assert.equal(await reserve(paused, claimOf(another)), undefined);
    assert.ok(paused.calls.filter((name) => name === "register").length === 2);
  });
});

test("a suspended machine, whose monotonic time stands still, counts as paused", async () => {
  await withNodes(1, async ([node]) => {
    assert.ok(node);
    const limit = limitOf(100);
    assert.ok(await reserve(node, claimOf(limit)));
    node.clock.jump(3_600_000);
    assert.ok(node.store.reserve([claimOf(limit)]) instanceof Promise);
  });
});

test("a node that nobody removed goes on with its leases after a pause", async () => {
  await withNodes(2, async ([node]) => {
    assert.ok(node);
    const limit = limitOf(100);
    await countAdmitted(node, limit, 2);
    node.clock.advance(3_600_000);
    await countAdmitted(node, limit, 1);
    assert.equal((await node.store.read(limit, "b")).reserved, 3);
    assert.equal(node.calls.filter((name) => name === "register").length, 1);
  });
});

test("an observer that was paused itself takes no other node for dead", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    const limit = limitOf(100);
    await countAdmitted(one, limit, 1);
    await pass(other, 10_000);
    other.clock.advance(600_000);
    await other.store.tick();
    assert.equal(await countAdmitted(other, limit, 200), 87);
    assert.equal(await countAdmitted(one, limit, 200), 12);
  });
});

test("a node that reports again while it is removed stays", async () => {
  await withNodes(2, async ([node]) => {
    assert.ok(node);
    const leases = createLimitLeaseStore(node.database);
    const { nodes } = await leases.beat("unknown");
    await leases.clean(
      "unknown",
      nodes.map(({ id, seenAt }) => ({ id, seenAt: seenAt - 1 })),
    );
    assert.equal((await leases.beat("unknown")).nodes.length, 2);
    await leases.clean("unknown", nodes);
    assert.equal((await leases.beat("unknown")).nodes.length, 0);
  });
});

test("leases of quiet buckets are given back, and their rows removed once all use is stored", async () => {
  await withNodes(2, async ([one, other]) => {
    assert.ok(one && other);
    const limit = limitOf(100);
    const booked = await reserve(one, claimOf(limit));
    const increments = booked?.settle(requestUse) ?? [];
    await pass(one, 40_000);
    // one request is not stored yet, and not lost from sight
    assert.equal(await leasesIn(one), 1);
    assert.equal(await countAdmitted(other, limit, 200), 99);
    await one.write(increments);
    await pass(one, 20_000);
    const { rows } = await one.database.read("SELECT granted FROM limit_leases");
    assert.deepEqual(
      rows.map(({ granted }) => granted),
      [99],
    );
    assert.equal((await one.store.read(limit, "b")).used, 1);
    one.calls.length = 0;
    await pass(one, 20_000);
    assert.deepEqual([...new Set(one.calls)], ["beat", "clean"]);
  });
});

test("a node that closes gives everything back", async () => {
  const url = newFile();
  const limit = limitOf(100);
  await withNodes(1, ([node]) => reserve(node as LeaseNode, claimOf(limit)).then(() => {}), url);
  await withNodes(
    1,
    async ([node]) => {
      assert.ok(node);
      assert.equal(await leasesIn(node), 0);
      assert.equal(await countAdmitted(node, limit, 200), 100);
    },
    url,
  );
});

/** A database of leases that a test takes away. */
function createSwitch() {
  let isAway = false;
  const wrap = (leases: LeaseDatabase): LeaseDatabase =>
    new Proxy(leases, {
      get: (target, name, receiver) =>
        isAway ? () => Promise.reject(new Error("away")) : Reflect.get(target, name, receiver),
    });
  const turn = (away: boolean) => {
    isAway = away;
  };
  return { wrap, turn };
}

test("without its database a node admits what it has leased, and warns once a minute", async () => {
  const { wrap, turn } = createSwitch();
  const node = await openNode(newFile(), { wrap });
  const other = await openNode(node.url);
  await pass(node, 10_000);
  const limit = limitOf(80);
  assert.equal(await countAdmitted(node, limit, 1), 1);
  turn(true);
  assert.equal(await countAdmitted(node, limit, 100), 9);
  assert.equal(await countAdmitted(node, limitOf(80), 100), 0);
  await pass(node, 10_000);
  assert.equal(node.warnings.length, 1);
  turn(false);
  await pass(node, 10_000);
  assert.equal((await countAdmitted(node, limit, 100)) + (await countAdmitted(other, limit, 100)), 70);
  turn(true);
  await pass(node, 60_000);
  assert.equal(node.warnings.length, 2);
  turn(false);
  await Promise.all([node.close(), other.close()]);
});

test("without its database a strict node admits what it has leased, and nothing else", async () => {
  const { wrap, turn } = createSwitch();
  const node = await openNode(newFile(), { wrap, isStrict: true });
  const [known, minutes] = [limitOf(80), limitOf(80, { window: "minute" })];
  assert.equal(await countAdmitted(node, known, 1), 1);
  assert.equal(await countAdmitted(node, minutes, 1), 1);
  turn(true);
  assert.equal(await countAdmitted(node, known, 100), 19);
  const refused = await node.store.reserve([claimOf(known)]);
  assert.ok("claim" in refused && refused.isAway);
  await pass(node, 60_000);
  assert.equal(await countAdmitted(node, minutes, 100), 0, "a window that began meanwhile is not divided");
  turn(false);
  await pass(node, 10_000);
  assert.equal(await countAdmitted(node, known, 100), 60);
  const full = await node.store.reserve([claimOf(known)]);
  assert.ok("claim" in full && !full.isAway);
  await node.close();
});

test("a node whose heartbeat fails for 20 seconds uses nothing that it leased", async () => {
  const { wrap, turn } = createSwitch();
  const node = await openNode(newFile(), { wrap });
  const limit = limitOf(80);
  await countAdmitted(node, limit, 1);
  turn(true);
  await pass(node, 19_000);
  assert.equal(await countAdmitted(node, limit, 1), 1);
  await pass(node, 1_000);
  assert.equal(await countAdmitted(node, limit, 1), 0);
  turn(false);
  await pass(node, 1_000);
  assert.equal(await countAdmitted(node, limit, 100), 78);
  await node.close();
});

test("windows that begin while the database is away are divided; afterwards all nodes together keep the limit", async () => {
  const url = newFile();
  const switches = [createSwitch(), createSwitch(), createSwitch()];
  const nodes: LeaseNode[] = [];
  for (const { wrap } of switches) nodes.push(await openNode(url, { wrap }));
  for (const node of nodes) await pass(node, 10_000);
  const limit = limitOf(100, { window: "hour" });
  for (const node of nodes) await countAdmitted(node, limit, 1);
  for (const { turn } of switches) turn(true);
  await Promise.all(nodes.map((node) => pass(node, 3_600_000)));
  const [one, two, three] = nodes as [LeaseNode, LeaseNode, LeaseNode];
  const booked = await reserve(one, claimOf(limit));
  assert.ok(booked);
  assert.equal(await countAdmitted(one, limit, 100), 32);
  assert.equal(await countAdmitted(two, limit, 10), 10);
  for (const { turn } of switches) turn(false);
  await one.write(booked.settle(requestUse));
  // one is back before the others: it waits for what they used
  await pass(one, 1_000);
  assert.equal(await countAdmitted(one, limit, 100), 0);
  await Promise.all([two, three].map((node) => pass(node, 1_000)));
  for (const node of nodes) node.clock.advance(5_000);
  const counts: number[] = [];
  for (const node of nodes) counts.push(await countAdmitted(node, limit, 100));
  // the shares of 33 are used or leased, the third node never needed its own
  assert.deepEqual(counts, [34, 23, 0]);
  assert.equal((await three.store.read(limit, "b")).used, 1);
  for (const node of nodes) await node.close();
});

test("answers that are lost, delays and pauses never lead beyond a limit, and nothing is lost for good", async () => {
  for (let seed = 0; seed < 8; seed++) {
    const random = createRandom(seed);
    let rate = 0.3;
    const fail = () => random() < rate;
    const wrap = (leases: LeaseDatabase): LeaseDatabase =>
      new Proxy(leases, {
        get:
          (target, name, receiver) =>
          async (...given: unknown[]) => {
            if (fail()) throw new Error("lost on the way");
            const answer = await Reflect.apply(Reflect.get(target, name, receiver), target, given);
            if (fail()) throw new Error("lost on the way back");
            return answer;
          },
      });
    const url = newFile();
    const open = async (): Promise<LeaseNode> => {
      for (;;) {
        const opened = await openNode(url, { wrap }).catch(() => undefined);
        if (opened) return opened;
      }
    };
    const nodes = [await open(), await open(), await open()];
    const limit = limitOf(60);
    const running: { node: LeaseNode; booked: Reservation }[] = [];
    let admitted = 0;
    let released = 0;
    for (let step = 0; step < 400; step++) {
      const node = nodes[Math.floor(random() * nodes.length)] as LeaseNode;
      const kind = random();
      if (kind < 0.5) {
        const found = await Promise.all([reserve(node, claimOf(limit)), reserve(node, claimOf(limit))]);
        for (const booked of found) if (booked) running.push({ node, booked });
        admitted += found.filter(Boolean).length;
      } else if (kind < 0.8) {
        const [ended] = running.splice(Math.floor(random() * running.length), 1);
        if (ended && random() < 0.2) {
          ended.booked.release();
          released++;
        } else if (ended) await ended.node.write(ended.booked.settle(requestUse));
      } else {
        for (let seconds = random() * 12; seconds > 0; seconds--) {
          await Promise.all(nodes.map((each) => pass(each, 1_000)));
        }
      }
      assert.ok(admitted - released <= 60, `seed ${seed}, step ${step}: ${admitted} - ${released}`);
    }
    rate = 0;
    for (const { node, booked } of running) await node.write(booked.settle(requestUse));
    for (let seconds = 0; seconds < 40; seconds++) await Promise.all(nodes.map((each) => pass(each, 1_000)));
    const [last] = nodes as [LeaseNode];
    const rest = await countAdmitted(last, limit, 100);
    assert.equal(admitted - released + rest, 60, `seed ${seed}`);
    assert.ok((await leasesIn(last)) <= 1, "leases that were used up are removed");
    for (const node of nodes) await node.close();
  }
});
