import assert from "node:assert/strict";
import { test } from "node:test";
import type { Limit } from "../../../src/policies/limit-store.ts";
import { applied, ask, createQueues, plenty, settle } from "../../support/queues.ts";

const minute = 60_000;
const ofTenant = { organisationId: "o", alertAt: null, window: "minute" as const };
const requests = (most: number, id = "r"): Limit => ({ id, ...ofTenant, counts: "requests", most });
const tokens = (most: number, id = "t"): Limit => ({ id, ...ofTenant, counts: "tokens", most });

test("requests beyond a limit wait for its next window, and are served in the order in which they came", async () => {
  const { queues, advance } = createQueues();
  const limits = [applied(requests(2))];
  const turns = Array.from({ length: 5 }, () => ask(queues, limits));
  await settle();
  assert.deepEqual(
    turns.map(({ how }) => how()),
    ["admitted", "admitted", "waits", "waits", "waits"],
  );
  await advance(minute);
  assert.deepEqual(
    turns.map(({ how }) => how()),
    ["admitted", "admitted", "admitted", "admitted", "waits"],
  );
  await advance(minute);
  assert.equal(turns[4]?.how(), "admitted");
  assert.deepEqual(
    turns.map(({ waits }) => waits.map(({ position, ms }) => [position, ms])),
    [[], [], [[1, minute]], [[2, minute]], [[3, 2 * minute]]],
  );
  assert.equal(queues.waitingFor({ limit: requests(2), bucket: "b" }), 0);
});

test("who comes while others wait goes behind them, also when there is room", async () => {
  const { queues, store, timers } = createQueues();
  const limits = [applied(tokens(100))];
  const first = ask(queues, limits, { least: 90 });
  const large = ask(queues, limits, { least: 80 });
  await settle();
  const small = ask(queues, limits, { least: 5 });
  await settle();
  assert.deepEqual([first.how(), large.how(), small.how()], ["admitted", "waits", "waits"]);
  first.reservation()?.settle({ requests: 1, tokens: 10, cost: 0 });
  queues.noteRoom();
  timers.fire(10);
  await settle();
  assert.deepEqual([large.how(), small.how()], ["admitted", "admitted"]);
  assert.equal((await store.read(tokens(100), "b")).reserved, 85);
});

test("a class of higher priority is served first, and the last of a lower one gives up its place in a full queue", async () => {
  const { queues, advance } = createQueues();
  const limits = [applied(requests(1), { ...plenty, max_waiting: 2 })];
  const turns = {
    running: ask(queues, limits),
    low: ask(queues, limits, { priority: "low" }),
    normal: ask(queues, limits),
    other: ask(queues, limits),
    high: ask(queues, limits, { priority: "high" }),
  };
  const ends = () => Object.fromEntries(Object.entries(turns).map(([name, { how }]) => [name, how()]));
  await settle();
  const full = { running: "admitted", low: "refused", normal: "waits", other: "refused", high: "waits" };
  assert.deepEqual(ends(), full);
  await advance(minute);
  assert.deepEqual(ends(), { ...full, high: "admitted" });
  await advance(minute);
  assert.deepEqual(ends(), { ...full, high: "admitted", normal: "admitted" });
});

for (const [why, limit, queue, asked] of [
  ["the window ends after the longest wait", requests(1), { max_waiting: 9, max_wait_ms: 59_999 }, {}],
  ["it asks for more than the limit ever has", tokens(10), plenty, { least: 11 }],
  ["the limit blocks everything", requests(0), plenty, {}],
] as const) {
  test(`a request is refused at once where ${why}`, async () => {
    const { queues } = createQueues();
    const limits = [applied(limit, queue)];
    ask(queues, limits);
    const turn = ask(queues, limits, asked);
    await settle();
    assert.equal(turn.how(), "refused");
    assert.deepEqual(turn.waits, []);
  });
}

test("a request that waited as long as it may is refused with the time at which the limit resets", async () => {
  const { queues, timers, advance } = createQueues();
  const limits = [applied(tokens(100), { max_waiting: 9, max_wait_ms: 2_000 })];
  ask(queues, limits, { least: 100 });
  const turn = ask(queues, limits, { least: 50 });
  await settle();
  assert.equal(turn.how(), "waits");
  await advance(2_000);
  assert.equal(turn.how(), "refused");
  assert.equal(turn.refusal()?.resetsAt, Date.UTC(2026, 0, 15, 12, 1));
  assert.deepEqual(
    turn.waits.map(({ outcome, ms }) => [outcome, ms]),
    [["refused", 2_000]],
  );
  assert.deepEqual(timers.delays(), [], "nothing is left of the queue");
});

test("a request whose caller leaves gives up its place and takes nothing", async () => {
  const { queues, store, timers, advance } = createQueues();
  const limits = [applied(requests(1))];
  ask(queues, limits);
  const controller = new AbortController();
  const leaving = ask(queues, limits, { signal: controller.signal });
  const next = ask(queues, limits);
  await settle();
  controller.abort(new Error("left"));
  await settle();
  assert.equal(leaving.how(), "left");
  assert.equal(leaving.waits[0]?.outcome, "left");
  await advance(minute);
  assert.equal(next.how(), "admitted");
  assert.equal((await store.read(requests(1), "b")).reserved, 1);
  assert.deepEqual(timers.delays(), []);
});

test("a request that meets two limits waits for one after the other, and is refused by one without a queue", async () => {
  const { queues, advance, timers } = createQueues();
  const [both, other] = [applied(requests(1)), applied({ ...requests(1, "hour"), window: "hour" })];
  const plain = applied({ ...requests(2, "plain"), window: "day" }, undefined);
  ask(queues, [other]);
  ask(queues, [both]);
  const moved = ask(queues, [both, other], {});
  const refused = ask(queues, [both, { ...plain, limit: requests(0, "plain") }]);
  await settle();
  assert.deepEqual([moved.how(), refused.how()], ["waits", "waits"]);
  await advance(minute);
  // the hour ends after the longest wait
  assert.deepEqual([moved.how(), refused.how()], ["refused", "refused"]);
  assert.equal(moved.refusal()?.claim.limit.id, "hour");
  assert.equal(refused.refusal()?.claim.limit.id, "plain");
  assert.deepEqual(timers.delays(), []);
});

test("a limit that is raised is raised for those who wait", async () => {
  const { queues } = createQueues();
  ask(queues, [applied(requests(1))]);
  const waiting = ask(queues, [applied(requests(1))]);
  await settle();
  const newer = ask(queues, [applied(requests(3))]);
  await settle();
  assert.deepEqual([waiting.how(), newer.how()], ["admitted", "admitted"]);
});

test("requests that wait hold a bounded number and size of bodies, an organisation at most half", async () => {
  const { queues } = createQueues({ requests: 4, bytes: 1_000 });
  const limitOf = (organisationId: string) => [applied({ ...requests(1, organisationId), organisationId })];
  const turnsOf = (organisation: string, bytes: number) =>
    [0, bytes, bytes, bytes].map((size) => ask(queues, limitOf(organisation), { bytes: size }));
  const all = { many: turnsOf("many", 1), large: turnsOf("large", 300), last: turnsOf("last", 1) };
  await settle();
  const ends = Object.fromEntries(Object.entries(all).map(([name, turns]) => [name, turns.map(({ how }) => how())]));
  assert.deepEqual(ends, {
    many: ["admitted", "waits", "waits", "refused"],
    large: ["admitted", "waits", "refused", "refused"],
    last: ["admitted", "waits", "refused", "refused"],
  });
});

test("a stop refuses with 503 what would wait longer, and lets the others have their turn", async () => {
  const { queues, advance } = createQueues();
  const short = [applied(requests(1, "short"))];
  const long = [applied({ ...requests(1, "long"), window: "hour" }, { ...plenty, max_wait_ms: 600_000 })];
  const later = [applied(tokens(10, "later"))];
  ask(queues, short);
  ask(queues, later, { least: 10 });
  ask(queues, long);
  const [soon, late] = [ask(queues, short), ask(queues, later)];
  await settle();
  queues.drain(minute + 1);
  assert.equal(ask(queues, long).how(), "waits", "its answer is not there yet");
  await advance(minute);
  assert.deepEqual([soon.how(), late.how()], ["admitted", "admitted"]);
  const last = ask(queues, short);
  await settle();
  assert.equal(last.how(), "refused", "it would wait for the next minute");
  queues.drain(0);
});

test("a stop without time ends all waits", async () => {
  const { queues, timers } = createQueues();
  const limits = [applied(requests(1))];
  ask(queues, limits);
  const turns = [ask(queues, limits), ask(queues, limits)];
  await settle();
  queues.drain(0);
  await settle();
  for (const { how } of turns) assert.match(how(), /longer than the gateway runs/);
  assert.deepEqual(timers.delays(), []);
});

test("figures of queues count who waits and how waits ended, by class", async () => {
  const { queues, advance } = createQueues();
  const limits = [applied(requests(1), { max_waiting: 2, max_wait_ms: 120_000 })];
  for (const priority of ["normal", "normal", "high", "high"] as const) ask(queues, limits, { priority });
  await settle();
  await advance(minute);
  const [high, normal, low] = queues.state().classes;
  assert.deepEqual(high, {
    priority: "high",
    waiting: 1,
    ended: { admitted: 1, refused: 0, left: 0, full: 0 },
    seconds: 60,
  });
  assert.deepEqual(normal?.ended, { admitted: 0, refused: 1, left: 0, full: 0 });
  assert.equal(low?.waiting, 0);
});
