// Limits over a simulated year with a leap day, on a machine whose clock is wrong now and then. Windows are computed here
// from the fields of UTC dates, not as the sources do.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createSteadyTime } from "../../src/lib/clock.ts";
import { Ledger } from "../../src/policies/ledger.ts";
import type { Limit, Refusal, Reservation } from "../../src/policies/limit-store.ts";
import type { Window } from "../../src/policies/windows.ts";
import type { LimitIncrement } from "../../src/schemas/logs.ts";
import { rounds, sampleSeed } from "../support/sample.ts";

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];
const yearStart = Date.UTC(2027, 11, 27, 9, 30);
const tenDaysFrom = Date.UTC(2027, 11, 25);

/** Midnight so many days after that of a time. */
function midnight(time: number, days = 0): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + days);
}

/** When the window of a time ends. */
const ends: Readonly<Record<string, (time: number) => number>> = {
  minute: (time) => new Date(time).setUTCSeconds(60, 0),
  hour: (time) => new Date(time).setUTCMinutes(60, 0, 0),
  day: (time) => midnight(time, 1),
  week: (time) => midnight(time, (8 - new Date(time).getUTCDay()) % 7 || 7),
  month: (time) => Date.UTC(new Date(time).getUTCFullYear(), new Date(time).getUTCMonth() + 1, 1),
  tenDays: (time) => midnight(tenDaysFrom, (Math.floor((midnight(time) - tenDaysFrom) / day / 10) + 1) * 10),
  ever: () => Number.POSITIVE_INFINITY,
};

const windows: Readonly<Record<string, Window>> = {
  minute: "minute",
  hour: "hour",
  day: "day",
  week: "week",
  month: "month",
  tenDays: { days: 10, from: tenDaysFrom + 7 * hour },
  ever: "ever",
};
const names = Object.keys(windows);
const most = 3;
const limits = names.map(
  (name): Limit => ({
    id: name,
    organisationId: "o",
    counts: "requests",
    most: name === "ever" ? 40 : most,
    window: windows[name] ?? assert.fail(),
    alertAt: null,
  }),
);

/** A ledger on a machine whose wall clock can be wrong. */
class Machine {
  /** Monotonic milliseconds. */
  passed = 0;
  /** What the wall clock shows beyond the true time. */
  error = 0;
  readonly time = createSteadyTime({ now: () => this.trueTime + this.error, monotonic: () => this.passed });
  readonly ledger = new Ledger({ now: this.time });

  get trueTime(): number {
    return yearStart + this.passed;
  }

  /** Asks for one request of a limit. */
  ask(limit: Limit): Reservation | Refusal {
    return this.ledger.reserve([{ limit, bucket: "b", least: 1, beyond: 0 }]);
  }

  /** Sets the wall clock. The gateway reads the time once a second: here it does so when the clock was set. */
  set(error: number): void {
    this.error = error;
    this.time();
  }

  pass(ms: number): void {
    this.passed += Math.max(0, ms);
    this.time();
  }
}

const endOf = (limit: Limit, time: number): number => (ends[limit.id] ?? assert.fail())(time);
const oneRequest = { requests: 1, tokens: 0, cost: 0 };

/** What happens next. Times are milliseconds. */
type Step =
  | { readonly kind: "wait"; readonly ms: number }
  /** Waits until shortly before, at or after the end of a window. */
  | { readonly kind: "end"; readonly name: string; readonly off: number }
  | { readonly kind: "ask"; readonly times: number }
  | { readonly kind: "close"; readonly pick: number; readonly isUsed: boolean }
  /** The clock is wrong for some time, with requests meanwhile. */
  | { readonly kind: "error"; readonly error: number; readonly lasts: number; readonly times: number };

const errors = fc
  .oneof(fc.integer({ min: 2_001, max: 3 * hour }), fc.integer({ min: hour, max: 40 * day }))
  .chain((size) => fc.constantFrom(size, -size));

/** @param lasts Times for which the clock is wrong. */
function steps(lasts: fc.Arbitrary<number>): fc.Arbitrary<Step[]> {
  const ms = fc.oneof(fc.integer({ min: 0, max: 2 * minute }), fc.integer({ min: 0, max: 2 * day }));
  const name = fc.constantFrom(...names.filter((one) => one !== "ever"));
  const times = fc.integer({ min: 1, max: 6 });
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constant("wait"), ms }),
    fc.record({ kind: fc.constant("end"), name, off: fc.constantFrom(-second, -1, 0, 1, second) }),
    fc.record({ kind: fc.constant("ask"), times }),
    fc.record({ kind: fc.constant("close"), pick: fc.nat(), isUsed: fc.boolean() }),
    fc.record({ kind: fc.constant("error"), error: errors, lasts, times }),
  );
  return fc.array(step, { maxLength: 500, size: "max" });
}

/** What a test does with requests. */
interface Actor {
  request(): void;
  close?(pick: number, isUsed: boolean): void;
}

function run(list: readonly Step[], machine: Machine, { request, close }: Actor): void {
  for (const step of list) {
    if (step.kind === "wait") machine.pass(step.ms);
    else if (step.kind === "end") {
      const end = (ends[step.name] ?? assert.fail())(machine.trueTime);
      machine.pass(end + step.off - machine.trueTime);
    } else if (step.kind === "ask") for (let index = 0; index < step.times; index++) request();
    else if (step.kind === "close") close?.(step.pick, step.isUsed);
    else runError(step, machine, request);
  }
}

/** Lets the clock be wrong for some time. An error that lasts long enough to be followed is noticed before requests come. */
function runError({ error, lasts, times }: Step & { kind: "error" }, machine: Machine, request: () => void): void {
  const piece = Math.floor(lasts / (times + 1));
  machine.set(error);
  if (lasts > minute) machine.pass(minute);
  for (let index = 0; index < times; index++) {
    machine.pass(piece);
    request();
  }
  machine.set(0);
  if (lasts <= minute) return;
  request();
  machine.pass(minute);
}

/** Admitted requests by their window, in the first test. */
class Counts {
  readonly #counts = new Map<string, number>();

  of(limit: Limit, end: number, stretch = 0): number {
    return this.#counts.get(`${limit.id} ${end} ${stretch}`) ?? 0;
  }

  add(limit: Limit, end: number, change: number, stretch = 0): void {
    this.#counts.set(`${limit.id} ${end} ${stretch}`, this.of(limit, end, stretch) + change);
  }
}

const describe = ({ id }: Limit, time: number) => `${id} at ${new Date(time).toISOString()}`;

test(`limits hold exactly in each window, whatever the clock shows for less than a minute (seed ${sampleSeed})`, () => {
  const seen = { admitted: 0, refused: 0, onLeapDay: 0 };
  const check = (list: readonly Step[]) => {
    const machine = new Machine();
    const counts = new Counts();
    const open: { limit: Limit; end: number; booked: Reservation }[] = [];
    const request = (limit: Limit) => {
      const { trueTime } = machine;
      const [end, at] = [endOf(limit, trueTime), describe(limit, trueTime)];
      const count = counts.of(limit, end);
      const booked = machine.ask(limit);
      if ("claim" in booked) {
        assert.equal(count, limit.most, `${at} is closed although it has room`);
        assert.equal(booked.resetsAt, end, at);
        seen.refused++;
        return;
      }
      assert.ok(count < limit.most, `${at} admits more than its limit`);
      counts.add(limit, end, 1);
      open.push({ limit, end, booked });
      seen.admitted++;
      if (at.includes("-02-29T")) seen.onLeapDay++;
    };
    const close = (pick: number, isUsed: boolean) => {
      const [one] = open.splice(pick % Math.max(1, open.length), 1);
      if (isUsed) one?.booked.settle(oneRequest);
      else one?.booked.release();
      // what is given back after its window makes no room in another one
      if (one && !isUsed && one.end === endOf(one.limit, machine.trueTime)) counts.add(one.limit, one.end, -1);
    };
    run(list, machine, { request: () => limits.forEach(request), close });
  };
  const lasts = fc.integer({ min: second, max: 59 * second });
  // 29 February of the leap year is no matter of chance
  const toLeapDay = Date.UTC(2028, 1, 29, 12) - new Machine().trueTime;
  const leapDay: readonly Step[] = [
    { kind: "wait", ms: toLeapDay },
    { kind: "ask", times: 3 },
  ];
  fc.assert(fc.property(steps(lasts), check), { seed: sampleSeed, numRuns: rounds(100), examples: [[leapDay]] });
  assert.ok(seen.admitted > 1_000 && seen.refused > 1_000 && seen.onLeapDay > 0, JSON.stringify(seen));
});

test(`limits hold, and end with their windows, when the clock is wrong for hours (seed ${sampleSeed})`, () => {
  const seen = { corrections: 0, refused: 0 };
  const check = (list: readonly Step[]) => {
    const machine = new Machine();
    const counts = new Counts();
    /** From one correction of the clock to the next: its number and its first time. */
    const stretch = { number: 0, from: machine.time(), offset: 0 };
    const notice = () => {
      const offset = machine.time() - machine.trueTime;
      if (offset === stretch.offset) return;
      Object.assign(stretch, { number: stretch.number + 1, from: machine.time(), offset });
      seen.corrections++;
    };
    const request = (limit: Limit) => {
      notice();
      const time = machine.time();
      const [end, at] = [endOf(limit, time), describe(limit, time)];
      const count = counts.of(limit, end, stretch.number);
      const booked = machine.ask(limit);
      if ("claim" in booked) {
        seen.refused++;
        assert.equal(booked.resetsAt, end, `${at} stays closed beyond its window`);
        // what was used before a correction counts in the window that it was made in, and in no later one
        const isLater = endOf(limit, stretch.from) < end;
        if (isLater) assert.equal(count, limit.most, `${at} is closed although it has room`);
        return;
      }
      booked.settle(oneRequest);
      assert.ok(count < limit.most, `${at} admits more than its limit`);
      counts.add(limit, end, 1, stretch.number);
    };
    run(list, machine, { request: () => limits.forEach(request) });
  };
  const lasts = fc.integer({ min: 2 * minute, max: 3 * hour });
  fc.assert(fc.property(steps(lasts), check), { seed: sampleSeed, numRuns: rounds(100) });
  assert.ok(seen.corrections > 100 && seen.refused > 1_000, JSON.stringify(seen));
});

/** Stored counters by limit and begin of the window. */
class Stored {
  readonly counters = new Map<string, LimitIncrement>();

  add(increments: readonly LimitIncrement[]): void {
    for (const one of increments) {
      const key = `${one.limitId} ${one.windowStart}`;
      this.counters.set(key, { ...one, used: one.used + (this.counters.get(key)?.used ?? 0) });
    }
  }

  of(limit: Limit, start: number): number {
    return this.counters.get(`${limit.id} ${Number.isFinite(start) ? start : 0}`)?.used ?? 0;
  }
}

test(`stored counters are those of the buckets, and a new process admits no more than the former would (seed ${sampleSeed})`, () => {
  const check = (list: readonly Step[]) => {
    const machine = new Machine();
    const stored = new Stored();
    const used = new Map<Limit, number>();
    /** Latest begin of a window, and limits that were in an earlier one since. */
    const latest = new Map<Limit, number>();
    const wentBack = new Set<Limit>();
    const request = (limit: Limit) => {
      const booked = machine.ask(limit);
      if ("claim" in booked) return;
      stored.add(booked.settle(oneRequest));
      used.set(limit, (used.get(limit) ?? 0) + 1);
      const { used: inBucket, span } = machine.ledger.read(limit, "b");
      const another = new Ledger({ now: machine.time });
      another.restore([...stored.counters.values()].map((one) => ({ ...one, organisationId: "o" })));
      const found = [stored.of(limit, span.start), another.read(limit, "b").used];
      // a clock that was put back may show a window again: stored counters still hold its first use
      if (span.start < (latest.get(limit) ?? span.start)) wentBack.add(limit);
      else latest.set(limit, span.start);
      const isFit = (count: number) => (wentBack.has(limit) ? count >= inBucket : count === inBucket);
      assert.ok(found.every(isFit), `${describe(limit, machine.trueTime)}: ${found} for ${inBucket}`);
    };
    run(list, machine, { request: () => limits.forEach(request) });
    for (const limit of limits) {
      const counters = [...stored.counters.values()].filter(({ limitId }) => limitId === limit.id);
      assert.equal(
        counters.reduce((sum, counter) => sum + counter.used, 0),
        used.get(limit) ?? 0,
      );
    }
  };
  const lasts = fc.integer({ min: second, max: 3 * hour });
  fc.assert(fc.property(steps(lasts), check), { seed: sampleSeed, numRuns: rounds(50) });
});

for (const [name, wrongAt] of [
  ["day", "2028-01-15T23:30:00Z"],
  ["week", "2028-01-16T23:30:00Z"],
  ["month", "2028-01-31T23:30:00Z"],
  ["month", "2028-02-29T23:30:00Z"],
  ["tenDays", "2028-01-13T23:30:00Z"],
] as const) {
  test(`a clock that is an hour ahead from ${wrongAt} and then put back opens no ${name} twice`, () => {
    const machine = new Machine();
    const limit = limits.find(({ id }) => id === name) ?? assert.fail();
    const admit = () => Array.from({ length: 5 }, () => machine.ask(limit)).filter((one) => "settle" in one).length;
    machine.pass(Date.parse(wrongAt) - machine.trueTime);
    const end = endOf(limit, machine.trueTime);
    assert.equal(admit(), most);
    machine.set(hour);
    machine.pass(59 * second);
    assert.equal(admit(), 0);
    machine.pass(second);
    assert.equal(admit(), most, "the clock shows another window");
    machine.set(0);
    machine.pass(minute);
    assert.equal(machine.time(), machine.trueTime);
    assert.equal(admit(), 0);
    machine.pass(end - 1 - machine.trueTime);
    assert.equal(admit(), 0);
    machine.pass(1);
    assert.equal(admit(), most);
  });
}

test("a clock that is an hour ahead and then put back closes no minute for an hour", () => {
  const machine = new Machine();
  const [limit = assert.fail()] = limits;
  const admit = () => Array.from({ length: 5 }, () => machine.ask(limit)).filter((one) => "settle" in one).length;
  machine.set(hour);
  machine.pass(minute);
  assert.equal(admit(), most);
  machine.set(0);
  machine.pass(minute);
  assert.equal(admit(), 0, "the bucket goes on with what was used");
  machine.pass(endOf(limit, machine.trueTime) - machine.trueTime);
  assert.equal(admit(), most);
});

test("a request that runs while the clock is put back gives back what it reserved", () => {
  const machine = new Machine();
  const limit: Limit = { ...(limits[2] ?? assert.fail()), counts: "tokens", most: 100 };
  machine.set(20 * hour);
  machine.pass(minute);
  const booked = machine.ledger.reserve([{ limit, bucket: "b", least: 10, beyond: 90 }]);
  machine.set(0);
  machine.pass(minute);
  assert.ok("settle" in booked);
  booked.settle({ requests: 1, tokens: 30, cost: 0 });
  const { used, reserved, span } = machine.ledger.read(limit, "b");
  assert.deepEqual([used, reserved, span.end], [30, 0, endOf(limit, machine.trueTime)]);
});
