import assert from "node:assert/strict";
import { test } from "node:test";
import { Ledger } from "../../src/policies/ledger.ts";
import { type Limit, type LimitUse, maxBuckets, overflowBucket } from "../../src/policies/limit-store.ts";
import { type LimitEvent, LimitWatch } from "../../src/policies/limit-watch.ts";

const budget = { id: "budget", holder: { kind: "policy", id: "policy", workspaceId: "w" } } as const;
const limit: Limit = {
  id: "l",
  organisationId: "o",
  counts: "tokens",
  most: 100,
  window: "month",
  alertAt: 80,
  budget,
};
const span = { start: 1_000, end: 2_000 };

function createWatch() {
  let woken = 0;
  const watch = new LimitWatch({ now: () => 1_500, wake: () => void woken++ });
  const use = (before: number, after: number, changes: Partial<LimitUse> = {}) =>
    watch.observe({ limit, bucket: "b", span, before, after, ...changes });
  /** Takes all events. */
  const take = () => {
    const taken: LimitEvent[] = [];
    for (let event = watch.peek(); event; event = watch.peek()) {
      taken.push(event);
      watch.shift();
    }
    return taken.map(({ kind, bucket, used }) => `${kind} ${bucket} ${used}`);
  };
  return { watch, use, take, woken: () => woken };
}

for (const [uses, wanted] of [
  [[[0, 79]], []],
  [[[0, 80]], ["threshold b 80"]],
  [
    [
      [0, 79],
      [79, 81],
      [81, 90],
    ],
    ["threshold b 81"],
  ],
  [
    [
      [0, 90],
      [90, 100],
      [100, 120],
    ],
    ["threshold b 90", "exhausted b 100"],
  ],
  [[[0, 150]], ["threshold b 150", "exhausted b 150"]],
  // a process that begins beyond the bounds, and a refusal
  [
    [
      [110, 120],
      [120, 120],
    ],
    ["threshold b 120", "exhausted b 120"],
  ],
  // use that went down reaches the bounds again
  [
    [
      [0, 100],
      [10, 85],
    ],
    ["threshold b 100", "exhausted b 100", "threshold b 85"],
  ],
] as const) {
  test(`LimitWatch reports ${wanted.join(", ") || "nothing"} for ${JSON.stringify(uses)}`, () => {
    const { use, take } = createWatch();
    for (const [before, after] of uses) use(before, after);
    assert.deepEqual(take(), wanted);
  });
}

test("LimitWatch reports a budget once whose rest is too little for a request, and again after its use went down", () => {
  const { use, take } = createWatch();
  const refuse = (used: number) => use(used, used, { isUsedUp: true });
  for (const used of [95, 95, 96]) refuse(used);
  assert.deepEqual(take(), ["threshold b 95", "exhausted b 95"]);
  use(96, 100);
  use(100, 110);
  assert.deepEqual(take(), ["exhausted b 100"]);
  refuse(92);
  refuse(92);
  assert.deepEqual(take(), ["exhausted b 92"]);
});

test("LimitWatch reports each bucket, each window and each changed limit", () => {
  const { use, take } = createWatch();
  use(0, 80);
  use(0, 80, { bucket: "c" });
  use(90, 91, { span: { start: 2_000, end: 3_000 } });
  use(91, 91, { limit: { ...limit, alertAt: 85 } });
  use(91, 92);
  assert.deepEqual(take(), ["threshold b 80", "threshold c 80", "threshold b 91", "threshold b 91", "threshold b 92"]);
});

test("LimitWatch reports no rate limit, and no bound of 0", () => {
  const { use, take, woken } = createWatch();
  const { budget: _, ...rate } = limit;
  use(0, 200, { limit: rate });
  use(0, 0, { limit: { ...limit, most: 0, alertAt: null } });
  use(0, 5, { limit: { ...limit, alertAt: 0 } });
  assert.deepEqual(take(), []);
  assert.equal(woken(), 0);
});

test("LimitWatch holds 10,000 events; what it could not hold is reported by the next use", () => {
  const { use, take } = createWatch();
  for (let index = 0; index < 10_010; index++) use(0, 80, { bucket: `b${index}` });
  assert.equal(take().length, 10_000);
  use(80, 81, { bucket: "b9999" });
  use(80, 81, { bucket: "b10005" });
  assert.deepEqual(take(), ["threshold b10005 81"]);
});

test("Ledger reports a refusal for lack of room, where less than a tenth of a limit is left", () => {
  const uses: string[] = [];
  const onUsed = ({ after, isUsedUp }: LimitUse) => uses.push(`${after} ${isUsedUp ?? false}`);
  const ledger = new Ledger({ now: () => 0, onUsed });
  const reserve = (least: number) => ledger.reserve([{ limit, bucket: "b", least, beyond: 0 }]);
  const use = (tokens: number) => {
    const booked = reserve(1);
    assert.ok("settle" in booked);
    booked.settle({ requests: 1, tokens, cost: 0 });
  };
  use(89);
  reserve(90);
  use(2);
  // what another request has reserved may come back
  reserve(5);
  reserve(6);
  reserve(10);
  assert.deepEqual(uses, ["89 false", "91 false", "91 true"]);
});

test("Ledger reports a refusal by a used-up bucket, and the shared bucket under its own name", () => {
  const uses: string[] = [];
  const ledger = new Ledger({
    now: () => 0,
    onUsed: ({ bucket, before, after }) => uses.push(`${bucket} ${before} ${after}`),
  });
  const claims = (bucket: string) => [{ limit, bucket, least: 1, beyond: 0 }];
  const reserve = (bucket: string) => {
    const booked = ledger.reserve(claims(bucket));
    if ("claim" in booked) return;
    booked.settle({ requests: 1, tokens: 100, cost: 0 });
  };
  for (let index = 0; index < maxBuckets; index++) ledger.reserve(claims(`b${index}`));
  reserve("b0");
  reserve("b0");
  reserve("one");
  reserve("two");
  assert.deepEqual(uses, ["b0 0 100", "b0 100 100", `${overflowBucket} 0 100`, `${overflowBucket} 100 100`]);
});
