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

const minute = 60_000;
const ofTenant = { organisationId: "o", alertAt: null };
const noUse = { requests: 0, tokens: 0, cost: 0 };
const requests = (most: number, id = "r"): Limit => ({ id, ...ofTenant, counts: "requests", most, window: "minute" });
const cost = (most: number, id = "c"): Limit => ({ id, ...ofTenant, counts: "cost", most, window: "month" });

const claim = (limit: Limit, least = 1, beyond = 0, bucket = "b"): Claim => ({ limit, bucket, least, beyond });

function reserve(ledger: Ledger, ...claims: Claim[]): Reservation | undefined {
  const booked = ledger.reserve(claims);
  return "claim" in booked ? undefined : booked;
}

test("Ledger admits as many requests as a limit allows, and no more until its window ends", () => {
  let now = 10 * minute;
  const ledger = new Ledger({ now: () => now });
  const limit = requests(100);
  const admitted = Array.from({ length: 1_000 }, () => reserve(ledger, claim(limit))).filter(Boolean);
  assert.equal(admitted.length, 100);
  const refused = ledger.reserve([claim(limit)]);
  assert.ok("claim" in refused && refused.resetsAt === 11 * minute);
  now = 11 * minute;
  assert.ok(reserve(ledger, claim(limit)));
});

test("Ledger books all claims or none", () => {
  const ledger = new Ledger({ now: () => 0 });
  const [wide, narrow] = [requests(10, "wide"), requests(1, "narrow")];
  assert.ok(reserve(ledger, claim(wide), claim(narrow)));
  assert.equal(reserve(ledger, claim(wide), claim(narrow)), undefined);
  assert.equal(ledger.read(wide, "b").reserved, 1);
});

test("Ledger replaces what was reserved by what was used, once", () => {
  const ledger = new Ledger({ now: () => 0 });
  const limit = cost(1_000);
  const booked = reserve(ledger, claim(limit, 100, 5_000));
  assert.deepEqual(ledger.read(limit, "b").reserved, 1_000);
  booked?.settle({ ...noUse, cost: 300 });
  booked?.settle({ ...noUse, cost: 300 });
  booked?.release();
  const { used, reserved } = ledger.read(limit, "b");
  assert.deepEqual({ used, reserved }, { used: 300, reserved: 0 });
});

test("Ledger adds a use and takes it back, whatever is left, and shows each to its observer", () => {
  const seen: number[][] = [];
  const ledger = new Ledger({ now: () => 0, onUsed: ({ before, after }) => seen.push([before, after]) });
  const limit = cost(1_000);
  const increment = ledger.add(limit, "b", 1_500);
  const month = { windowStart: 0, windowEnd: Date.UTC(1970, 1, 1) };
  assert.deepEqual(increment, { limitId: "c", bucket: "b", ...month, used: 1_500 });
  assert.equal(reserve(ledger, claim(limit, 0)), undefined);
  assert.equal(ledger.add(limit, "b", 0), undefined);
  assert.equal(ledger.add(limit, "b", -600)?.used, -600);
  assert.equal(ledger.read(limit, "b").used, 900);
  assert.deepEqual(seen, [
    [0, 1_500],
    [1_500, 900],
  ]);
});

test("Ledger sets a counter to 0 and returns what the stored one loses", () => {
  const ledger = new Ledger({ now: () => 0 });
  const limit = cost(1_000);
  reserve(ledger, claim(limit, 100))?.settle({ ...noUse, cost: 300 });
  reserve(ledger, claim(limit, 50));
  assert.equal(ledger.reset(limit, "b")?.used, -300);
  const { used, reserved } = ledger.read(limit, "b");
  assert.deepEqual({ used, reserved }, { used: 0, reserved: 50 });
  assert.equal(ledger.reset(limit, "b"), undefined);
});

test("Ledger gives back what a released request reserved", () => {
  const ledger = new Ledger({ now: () => 0 });
  const limit = requests(1);
  reserve(ledger, claim(limit))?.release();
  assert.ok(reserve(ledger, claim(limit)));
});

test("Ledger refuses a prompt that is larger than what is left, and everything once nothing is left", () => {
  const ledger = new Ledger({ now: () => 0 });
  const limit = cost(1_000);
  assert.equal(reserve(ledger, claim(limit, 1_001)), undefined);
  reserve(ledger, claim(limit, 0))?.settle({ ...noUse, cost: 1_200 });
  assert.equal(reserve(ledger, claim(limit, 0)), undefined);
  assert.equal(reserve(ledger, claim(requests(0))), undefined);
});

test("Ledger counts tokens and money in the window in which they are known, and a request in its own", () => {
  let now = 0;
  const ledger = new Ledger({ now: () => now });
  const tokens: Limit = { id: "t", ...ofTenant, counts: "tokens", most: 100, window: "minute" };
  const booked = reserve(ledger, claim(tokens, 10), claim(requests(5)));
  now = minute;
  booked?.settle({ requests: 1, tokens: 40, cost: 0 });
  assert.equal(ledger.read(tokens, "b").used, 40);
  assert.equal(ledger.read(tokens, "b").reserved, 0);
  assert.equal(ledger.read(requests(5), "b").used, 0);
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

test("Ledger keeps buckets apart, and lets values beyond its bound share one", () => {
  const ledger = new Ledger({ now: () => 0 });
  const limit = requests(1);
  for (let index = 0; index < maxBuckets; index++) assert.ok(reserve(ledger, claim(limit, 1, 0, `b${index}`)));
  assert.ok(reserve(ledger, claim(limit, 1, 0, "late")));
  assert.equal(reserve(ledger, claim(limit, 1, 0, "later")), undefined);
  assert.equal(ledger.read(limit, overflowBucket).reserved, 1);
  assert.ok(ledger.list(limit).length <= maxBuckets + 1);
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
