import assert from "node:assert/strict";
import { test } from "node:test";
import { type Breakers, createBreakers } from "../../src/routing/breaker.ts";
import type { BreakerSettings } from "../../src/routing/config.ts";
import { createClock, toConfig } from "../support/routing.ts";

const three: BreakerSettings = {
  failureThreshold: 3,
  failureThresholdPercentage: undefined,
  minimumRequests: 5,
  cooldownMs: 30_000,
  failureStatusCodes: undefined,
};
const half: BreakerSettings = { ...three, failureThreshold: undefined, failureThresholdPercentage: 50 };

/** Circuit breakers with their clock, and a call that ends at once. */
function setUp(settings: BreakerSettings) {
  const clock = createClock();
  const breakers = createBreakers(clock.now);
  const call = (...statuses: number[]) => {
    for (const status of statuses) breakers.admit("a", settings)?.({ status });
  };
  return { clock, breakers, call, state: (key = "a") => breakers.state(key, settings) };
}

/** A circuit breaker that has just opened. */
function setUpOpen(settings = three) {
  const set = setUp(settings);
  set.call(500, 500, 500);
  assert.equal(set.state(), "open");
  return set;
}

function probe(breakers: Breakers, settings = three) {
  const admission = breakers.admit("a", settings);
  assert.ok(admission);
  return admission;
}

for (const [what, settings, statuses, expected] of [
  ["below the count", three, [500, 500], "closed"],
  ["at the count", three, [500, 200, 500, 200, 500], "open"],
  ["with answers that are neither", three, [400, 404, 429, 301, 446], "closed"],
  ["at 500, the first status that fails", three, [500, 502, 599], "open"],
  ["below the percentage", half, [500, 200, 200, 500, 200], "closed"],
  ["at the percentage", half, [500, 200, 200, 500, 200, 500], "open"],
  ["at the percentage with too few requests", half, [500, 500, 500, 500], "closed"],
  ["at the percentage with just enough requests", half, [500, 500, 500, 500, 500], "open"],
  ["when others do not count as requests", half, [500, 500, 500, 500, 404, 429], "closed"],
  ["with successes before the first failure", half, [200, 200, 200, 200, 200, 500, 500, 500, 500, 500], "open"],
  ["with a minimum of one request", { ...half, minimumRequests: 1 }, [500], "open"],
  [
    "at nought percent without failure",
    { ...half, failureThresholdPercentage: 0 },
    [200, 200, 200, 200, 200],
    "closed",
  ],
  ["with codes that are listed", { ...three, failureStatusCodes: [429] }, [429, 429, 429], "open"],
  ["with codes that are not listed", { ...three, failureStatusCodes: [429] }, [500, 500, 500], "closed"],
  ["at the count before the percentage", { ...half, failureThreshold: 2 }, [500, 500], "open"],
] as const) {
  test(`createBreakers() is ${expected} ${what}`, () => {
    const { call, state } = setUp(settings);
    call(...statuses);
    assert.equal(state(), expected);
  });
}

test("createBreakers() lets nothing through while open, and knows targets apart", () => {
  const { breakers, clock, state } = setUpOpen();
  clock.pass(29_999);
  assert.equal(breakers.admit("a", three), undefined);
  assert.equal(state(), "open");
  assert.equal(state("b"), "closed");
  assert.ok(breakers.admit("b", three));
});

test("createBreakers() of two processes that follow each other count, open, probe and close as one", () => {
  let time = 0;
  const [one, other]: [Breakers, Breakers] = [
    createBreakers(
      () => time,
      (event) => other.follow(event),
    ),
    createBreakers(
      () => time,
      (event) => one.follow(event),
    ),
  ];
  const settings: BreakerSettings = { ...three, failureThreshold: 4 };
  const states = () => [one.state("t", settings), other.state("t", settings)];
  for (const breakers of [one, other, one]) breakers.admit("t", settings)?.({ status: 500 });
  assert.deepEqual(states(), ["closed", "closed"]);
  other.admit("t", settings)?.({ status: 500 });
  assert.deepEqual(states(), ["open", "open"]);
  time += 30_000;
  assert.deepEqual(states(), ["half-open", "half-open"]);
  const probe = one.admit("t", settings);
  assert.equal(other.admit("t", settings), undefined);
  probe?.({ status: 200 });
  assert.deepEqual(states(), ["closed", "closed"]);
  for (let call = 0; call < 4; call++) one.admit("t", settings)?.({ status: 500 });
  time += 30_000;
  // a process that ends during its probe holds the others back for a minute
  one.admit("t", settings);
  time += 59_999;
  assert.equal(other.admit("t", settings), undefined);
  time += 1;
  assert.ok(other.admit("t", settings));
});

test("createBreakers() counts the cooldown from the opening", () => {
  const { clock, call, state } = setUp(three);
  call(500);
  clock.pass(20_000);
  call(500, 500);
  clock.pass(29_999);
  assert.equal(state(), "open");
  clock.pass(1);
  assert.equal(state(), "half-open");
});

test("createBreakers() lets one probe through after the cooldown, and no second beside it", () => {
  const { breakers, clock, state } = setUpOpen();
  clock.pass(30_000);
  assert.equal(state(), "half-open");
  const tell = probe(breakers);
  assert.equal(state(), "open");
  assert.equal(breakers.admit("a", three), undefined);
  clock.pass(600_000);
  assert.equal(breakers.admit("a", three), undefined);
  tell({ status: 200 });
  assert.equal(state(), "closed");
});

test("createBreakers() closes on success, with counts from zero", () => {
  const { breakers, clock, call, state } = setUpOpen();
  clock.pass(30_000);
  probe(breakers)({ status: 204 });
  call(500, 500);
  assert.equal(state(), "closed");
  call(500);
  assert.equal(state(), "open");
});

test("createBreakers() opens again for a whole cooldown when the probe fails", () => {
  const { breakers, clock, state } = setUpOpen();
  clock.pass(45_000);
  probe(breakers)({ status: 503 });
  assert.equal(state(), "open");
  clock.pass(29_999);
  assert.equal(state(), "open");
  clock.pass(1);
  assert.equal(state(), "half-open");
});

for (const outcome of ["abandoned", { status: 404 }, { status: 429 }] as const) {
  test(`createBreakers() frees the slot of a probe that ends with ${JSON.stringify(outcome)}`, () => {
    const { breakers, clock, state } = setUpOpen();
    clock.pass(30_000);
    probe(breakers)(outcome);
    assert.equal(state(), "half-open");
    probe(breakers)({ status: 200 });
    assert.equal(state(), "closed");
  });
}

test("createBreakers() hears how a call ended only once", () => {
  const { breakers, clock, state } = setUp(three);
  const tell = probe(breakers);
  for (let time = 0; time < 5; time++) tell({ status: 500 });
  assert.equal(state(), "closed");
  breakers.admit("a", three)?.({ status: 500 });
  breakers.admit("a", three)?.({ status: 500 });
  clock.pass(30_000);
  const again = probe(breakers);
  again("abandoned");
  again({ status: 200 });
  assert.equal(state(), "half-open");
});

test("createBreakers() does not count an abandoned call", () => {
  const { breakers, state } = setUp({ ...three, failureThreshold: 1 });
  probe(breakers, { ...three, failureThreshold: 1 })("abandoned");
  assert.equal(state(), "closed");
});

test("createBreakers() does not let calls from before the opening decide", () => {
  const { breakers, clock, call, state } = setUp(three);
  const [early, late] = [probe(breakers), probe(breakers)];
  call(500, 500, 500);
  early({ status: 200 });
  assert.equal(state(), "open");
  clock.pass(30_000);
  late({ status: 500 });
  assert.equal(state(), "half-open");
});

test("createBreakers() throws the window away after the cooldown, reached or not", () => {
  const { clock, call, state } = setUp(three);
  call(500, 500);
  clock.pass(29_999);
  assert.equal(state(), "closed");
  clock.pass(1);
  call(500, 500);
  assert.equal(state(), "closed");
  call(500);
  assert.equal(state(), "open");
});

test("createBreakers() forgets a target after a day without news", () => {
  const { breakers, clock, call, state } = setUpOpen();
  clock.pass(30_000);
  probe(breakers); // and its end is never reported
  clock.pass(24 * 60 * 60 * 1_000 - 30_001);
  assert.equal(state(), "open");
  clock.pass(1);
  assert.equal(state(), "closed");
  call(500, 500, 500);
  assert.equal(state(), "open");
});

test("createBreakers() is bounded, and forgets the oldest first", () => {
  const { breakers, state } = setUp({ ...three, failureThreshold: 1 });
  const settings = { ...three, failureThreshold: 1 };
  for (let index = 0; index <= 20_000; index++) breakers.admit(`k${index}`, settings)?.({ status: 500 });
  assert.deepEqual([state("k0"), state("k1"), state("k20000")], ["closed", "open", "open"]);
});

test("createBreakers() does not let the probe of a forgotten target decide", () => {
  const settings = { ...three, failureThreshold: 1 };
  const { breakers, clock, call, state } = setUpOpen(settings);
  clock.pass(30_000);
  const tell = probe(breakers, settings);
  for (let index = 0; index < 40_000; index++) breakers.admit(`k${index}`, settings)?.({ status: 500 });
  call(500);
  tell({ status: 200 });
  assert.equal(state(), "open");
});

const target = { provider: "@a" };
const read = (cb_config: object, beside: object = {}) =>
  toConfig({ ...beside, strategy: { mode: "fallback", cb_config }, targets: [target] }).strategy?.breaker;

for (const [what, written, expected] of [
  ["raises a short cooldown to 30 seconds", { failure_threshold: 2, cooldown_interval: 1_000 }, { cooldownMs: 30_000 }],
  ["keeps a longer cooldown", { failure_threshold: 2, cooldown_interval: 31_000 }, { cooldownMs: 31_000 }],
  ["takes 30 seconds when there is no cooldown", { failure_threshold: 2 }, { cooldownMs: 30_000 }],
  ["takes five requests when there is no minimum", { failure_threshold_percentage: 2 }, { minimumRequests: 5 }],
  ["reads the codes", { failure_threshold: 2, failure_status_codes: [429] }, { failureStatusCodes: [429] }],
] as const) {
  test(`readConfig() ${what} for a breaker`, () => {
    assert.deepEqual({ ...read(written), ...expected }, read(written));
  });
}

test("readConfig() ignores a circuit breaker without threshold, and uses one beside a strategy without its own", () => {
  assert.equal(read({ cooldown_interval: 40_000 }), undefined);
  const beside = { cb_config: { failure_threshold: 7 } };
  assert.equal(read({ cooldown_interval: 40_000 }, beside)?.failureThreshold, 7);
  assert.equal(read({ failure_threshold: 3 }, beside)?.failureThreshold, 3);
});
