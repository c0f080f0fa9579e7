import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Ledger } from "../../src/policies/ledger.ts";
import {
  type Claim,
  type Limit,
  maxBuckets,
  overflowBucket,
  type Reservation,
} from "../../src/policies/limit-store.ts";
import type { CorrectedCounter } from "../../src/schemas/logs.ts";
import { testStore } from "./store-conformance.ts";

const minute = 60_000;
const ofTenant = { organisationId: "o", alertAt: null };
const requests = (most: number, id = "r"): Limit => ({ id, ...ofTenant, counts: "requests", most, window: "minute" });
const cost = (most: number, id = "c"): Limit => ({ id, ...ofTenant, counts: "cost", most, window: "month" });

const claim = (limit: Limit, least = 1, beyond = 0, bucket = "b"): Claim => ({ limit, bucket, least, beyond });

function reserve(ledger: Ledger, ...claims: Claim[]): Reservation | undefined {
  const booked = ledger.reserve(claims);
  return "claim" in booked ? undefined : booked;
}

testStore("Ledger", async ({ stored = [], onUsed } = {}) => {
  let now = Date.now();
  const store = new Ledger({ now: () => now, onUsed });
  store.restore(stored);
  const corrected = new Map<string, CorrectedCounter>();
  return {
    store,
    add: () => {
      // it is the only process: what it counted is what is stored
    },
    correct: (organisationId, { used, ...counter }) => {
      const name = JSON.stringify(counter);
      corrected.set(name, { ...counter, organisationId, corrected: used + (corrected.get(name)?.corrected ?? 0) });
      store.follow([...corrected.values()]);
    },
    waitUntil: async (time) => {
      now = time;
    },
    close: () => store.close(),
  };
});

test("Ledger reopens no window when the clock goes back", () => {
  let now = 5 * minute;
  const ledger = new Ledger({ now: () => now });
  const limit = requests(1);
  assert.ok(reserve(ledger, claim(limit)));
  now = 0;
  assert.equal(reserve(ledger, claim(limit)), undefined);
  now = 6 * minute;
  assert.ok(reserve(ledger, claim(limit)));
});

test("Ledger goes on from the counters of an earlier process, each in its own window", () => {
  const ledger = new Ledger({ now: () => 10 * minute });
  const [rate, budget] = [requests(5), { ...cost(1_000), window: "ever" } as const];
  ledger.restore([
    { organisationId: "o", limitId: rate.id, bucket: "b", windowStart: 9 * minute, used: 5 },
    { organisationId: "o", limitId: rate.id, bucket: "b", windowStart: 10 * minute, used: 4 },
    { organisationId: "o", limitId: budget.id, bucket: "b", windowStart: 0, used: 1_000 },
  ]);
  assert.equal(ledger.read(rate, "b").used, 4);
  assert.ok(reserve(ledger, claim(rate)));
  assert.equal(reserve(ledger, claim(rate)), undefined);
  assert.equal(reserve(ledger, claim(budget)), undefined);
  assert.ok(reserve(ledger, claim(budget, 1, 0, "another")));
});

test("Ledger loses nothing that was used of a budget, whatever the clock shows", () => {
  const step = fc.record({
    kind: fc.constantFrom("reserve", "settle", "release", "wait", "back"),
    ms: fc.integer({ min: 0, max: 3 * 86_400_000 }),
    pick: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let now = Date.parse("2026-01-01T00:00:00Z");
      const ledger = new Ledger({ now: () => now });
      const budget: Limit = { ...cost(1_000), window: "ever" };
      const open: Reservation[] = [];
      let spent = 0;
      for (const { kind, ms, pick } of steps) {
        if (kind === "wait") now += ms;
        if (kind === "back") now -= ms;
        const booked = kind === "reserve" ? reserve(ledger, claim(requests(3)), claim(budget, 1)) : undefined;
        if (booked) open.push(booked);
        if (kind !== "settle" && kind !== "release") continue;
        const [one] = open.splice(pick % Math.max(1, open.length), 1);
        if (kind === "release") one?.release();
        else if (one) spent += one.settle({ requests: 1, tokens: 0, cost: 7 }).length > 0 ? 7 : 0;
      }
      const { used, reserved } = ledger.read(budget, "b");
      assert.deepEqual([used, reserved], [spent, open.length]);
    }),
  );
});

test("Ledger counts under the shared bucket what it admits there", () => {
  const ledger = new Ledger({ now: () => 0 });
  const limit: Limit = { ...cost(1_000), window: "ever" };
  const names = Array.from({ length: maxBuckets }, (_, index) => `b${index}`);
  // counters of an earlier process take their places, too
  ledger.restore(
    names.map((bucket) => ({ organisationId: "o", limitId: limit.id, bucket, windowStart: 0, used: 999 })),
  );
  const counted = ["x", "y"].flatMap((name) =>
    reserve(ledger, claim(limit, 1, 0, name))?.settle({ requests: 1, tokens: 0, cost: 2 }),
  );
  assert.deepEqual(
    counted.map((one) => [one?.bucket, one?.used]),
    [
      [overflowBucket, 2],
      [overflowBucket, 2],
    ],
  );
  assert.equal(reserve(ledger, claim(limit, 2, 0, "b7")), undefined, "it forgets what the earlier process counted");
  assert.ok(reserve(ledger, claim(limit, 1, 0, "b7")));
});

test("Ledger has room for other values in the next window", () => {
  let now = 0;
  const ledger = new Ledger({ now: () => now });
  const limit = requests(1);
  for (let index = 0; index <= maxBuckets; index++) reserve(ledger, claim(limit, 1, 0, `b${index}`));
  assert.equal(reserve(ledger, claim(limit, 1, 0, "late")), undefined);
  now = minute;
  assert.ok(reserve(ledger, claim(limit, 1, 0, "late")));
  assert.equal(ledger.list(limit).length, 1);
});
