import assert from "node:assert/strict";
import { test } from "node:test";
import type { Limit, LimitUseObserver } from "../../src/policies/limit-store.ts";
import { createLocalShare } from "../../src/policies/local-share.ts";
import { Outage } from "../../src/policies/outage.ts";

const minute = 60_000;
const limit: Limit = {
  id: "l",
  organisationId: "o",
  counts: "requests",
  most: 100,
  window: "minute",
  alertAt: null,
};
const claim = { limit, bucket: "b", least: 1, beyond: 0 };

/** Requests that a share admits. */
function admit(share: ReturnType<typeof createLocalShare>, most = limit.most): number {
  let admitted = 0;
  while ("settle" in share.reserve([{ ...claim, limit: { ...limit, most } }])) admitted++;
  return admitted;
}

for (const [lastKnown, nodes, wanted] of [
  [0, 1, 100],
  [0, 3, 33],
  [40, 3, 20],
  [99, 3, 0],
  [100, 1, 0],
  [130, 2, 0],
  [40, 0, 60],
] as const) {
  test(`createLocalShare() admits ${wanted} of 100 for ${nodes} processes after ${lastKnown} were used`, () => {
    const share = createLocalShare({ now: () => 0, nodes: () => nodes, lastKnown: () => lastKnown });
    assert.equal(admit(share), wanted);
  });
}

test("createLocalShare() follows a changed limit, and begins each window with what is known of it", () => {
  let now = 0;
  const share = createLocalShare({
    now: () => now,
    nodes: () => 2,
    lastKnown: (_, __, { start }) => (start === 0 ? 40 : 0),
  });
  assert.equal(admit(share), 30);
  assert.equal(admit(share, 140), 20);
  now = minute;
  assert.equal(admit(share), 50);
});

test("createLocalShare() reports uses with what others had used before, and the limit as it is", () => {
  const uses: unknown[] = [];
  const onUsed: LimitUseObserver = ({ before, after, limit: { most } }) => uses.push([before, after, most]);
  const share = createLocalShare({ now: () => 0, nodes: () => 2, lastKnown: () => 40, onUsed });
  const booked = share.reserve([claim]);
  assert.ok("settle" in booked);
  booked.settle({ requests: 1, tokens: 0, cost: 0 });
  assert.deepEqual(uses, [[40, 41, 100]]);
});

/** An outage whose attempts fail until `isBack`. */
function createOutage() {
  const state = { isBack: false, attempts: 0, now: 0, warnings: [] as unknown[] };
  const outage = new Outage({
    recover: async () => {
      state.attempts++;
      if (!state.isBack) throw new Error(`attempt ${state.attempts}`);
    },
    message: "away",
    warn: (_, error) => state.warnings.push(error instanceof Error ? error.message : error),
    clock: { monotonic: () => state.now },
    random: () => 0,
  });
  const until = async (holds: () => boolean) => {
    const deadline = performance.now() + 20_000;
    while (!holds()) {
      assert.ok(performance.now() < deadline, "waited twenty seconds");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  return { outage, state, until };
}

test("Outage ends when an attempt succeeds, and can begin again", async () => {
  const { outage, state, until } = createOutage();
  assert.equal(outage.isAway, false);
  assert.equal(outage.begin(new Error("lost")), true);
  assert.equal(outage.begin(new Error("lost too")), false);
  assert.equal(outage.isAway, true);
  await until(() => state.attempts === 1);
  assert.equal(outage.isAway, true);
  state.isBack = true;
  await until(() => !outage.isAway);
  assert.equal(state.attempts, 2);
  assert.equal(outage.begin(new Error("lost")), true);
  outage.close();
});

test("Outage warns once a minute, however often the counters fail", async () => {
  const { outage, state, until } = createOutage();
  outage.begin(new Error("lost"));
  await until(() => state.attempts === 1);
  assert.deepEqual(state.warnings, ["lost"]);
  state.isBack = true;
  await until(() => !outage.isAway);
  outage.begin(new Error("lost"));
  assert.deepEqual(state.warnings, ["lost"]);
  state.isBack = false;
  state.now = minute;
  await until(() => state.warnings.length === 2);
  assert.match(String(state.warnings[1]), /attempt/);
  outage.close();
});
