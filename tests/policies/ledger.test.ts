import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Ledger } from "../../src/policies/ledger.ts";
import type { Claim, Limit, Reservation } from "../../src/policies/limit-store.ts";
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
  return {
    store,
    add: () => {
      // it is the only process: what it counted is what is stored
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
    { limitId: rate.id, bucket: "b", windowStart: 9 * minute, used: 5 },
    { limitId: rate.id, bucket: "b", windowStart: 10 * minute, used: 4 },
    { limitId: budget.id, bucket: "b", windowStart: 0, used: 1_000 },
  ]);
  assert.equal(ledger.read(rate, "b").used, 4);
  assert.ok(reserve(ledger, claim(rate)));
  assert.equal(reserve(ledger, claim(rate)), undefined);
  assert.equal(reserve(ledger, claim(budget)), undefined);
  assert.ok(reserve(ledger, claim(budget, 1, 0, "another")));
});

test("Ledger never exceeds a limit on requests and never loses what was used, over a year of jumps of the clock", () => {
  const step = fc.record({
    kind: fc.constantFrom("reserve", "settle", "release", "wait", "back"),
    ms: fc.integer({ min: 0, max: 3 * 86_400_000 }),
    pick: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let now = Date.parse("2026-01-01T00:00:00Z");
      let latest = now;
      const ledger = new Ledger({ now: () => now });
      const [rate, budget] = [requests(3), { ...cost(1_000), window: "ever" } as const];
      const open: { booked: Reservation; window: number }[] = [];
      const admittedIn = new Map<number, number>();
      let spent = 0;
      for (const { kind, ms, pick } of steps) {
        if (kind === "wait") now += ms;
        if (kind === "back") now -= ms;
        latest = Math.max(latest, now);
        const index = open.length === 0 ? -1 : pick % open.length;
        if (kind === "reserve") {
          const booked = reserve(ledger, claim(rate), claim(budget, 1));
          if (booked) {
            const window = Math.floor(latest / minute);
            open.push({ booked, window });
            admittedIn.set(window, (admittedIn.get(window) ?? 0) + 1);
          }
        } else if (index >= 0 && kind === "settle") {
          open.splice(index, 1)[0]?.booked.settle({ requests: 1, tokens: 0, cost: 7 });
          spent += 7;
        } else if (index >= 0 && kind === "release") {
          const [{ booked, window } = assert.fail()] = open.splice(index, 1);
          booked.release();
          // what is given back after its window makes no room in another one
          if (window === Math.floor(latest / minute)) admittedIn.set(window, (admittedIn.get(window) ?? 0) - 1);
        }
      }
      assert.ok([...admittedIn.values()].every((admitted) => admitted <= 3));
      assert.equal(ledger.read(budget, "b").used, spent);
    }),
  );
});
