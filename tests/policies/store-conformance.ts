import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Claim,
  type Counted,
  type Limit,
  type LimitStore,
  type LimitUseObserver,
  maxBuckets,
  overflowBucket,
  type Reservation,
} from "../../src/policies/limit-store.ts";
import { LimitQueues } from "../../src/policies/queue/limit-queues.ts";
import { spanOf } from "../../src/policies/windows.ts";
import type { LimitIncrement } from "../../src/schemas/logs.ts";
import { eventually } from "../support/eventually.ts";
import { createRandom } from "../support/gateway.ts";
import { applied, ask, createManualTimers } from "../support/queues.ts";

/** A store of limits while it is tested. */
export interface StoreUnderTest {
  readonly store: LimitStore;
  /** Stores increments, as log rows do. */
  add(organisationId: string, increments: readonly LimitIncrement[]): Promise<void> | void;
  /** Changes a stored counter, as re-priced rows do, and lets the store follow. */
  correct(organisationId: string, increment: LimitIncrement): Promise<void> | void;
  /** Resolves when windows that end at a time (Unix milliseconds) are over. */
  waitUntil(time: number): Promise<void>;
  close(): Promise<void>;
}

/** What a store is made with. */
export interface StoreSettings {
  readonly onUsed?: LimitUseObserver;
  /** What earlier processes stored. */
  readonly stored?: readonly (LimitIncrement & { readonly organisationId: string })[];
}

/** Makes a store with nothing but what is stored. */
export type CreateStore = (settings?: StoreSettings) => Promise<StoreUnderTest>;

const noUse: Readonly<Record<Counted, number>> = { requests: 0, tokens: 0, cost: 0 };

/** A limit that no other test has. */
export function createLimit(changes: Partial<Limit>): Limit {
  const id = crypto.randomUUID();
  return { id, organisationId: "o-1", counts: "requests", most: 1, window: "ever", alertAt: null, ...changes };
}

export const claimOf = (limit: Limit, least = 1, beyond = 0, bucket = "b"): Claim => ({ limit, bucket, least, beyond });

/** Books claims; undefined where they are refused. */
export async function book(store: LimitStore, ...claims: Claim[]): Promise<Reservation | undefined> {
  const booked = await store.reserve(claims);
  return "claim" in booked ? undefined : booked;
}

/** Waits until a bucket holds so much: settlements may be under way. */
async function holds({ store }: StoreUnderTest, limit: Limit, wanted: { used: number; reserved: number }) {
  let last: unknown;
  await eventually(`${JSON.stringify(wanted)} in ${limit.counts}`, async () => {
    const { used, reserved } = await store.read(limit, "b");
    last = { used, reserved };
    return used === wanted.used && reserved === wanted.reserved;
  }).catch((error) => assert.deepEqual(last, wanted, error.message));
}

/** One test of the suite. */
type Check = (
  create: <Store extends StoreUnderTest>(made: Promise<Store>) => Promise<Store>,
  make: CreateStore,
) => Promise<void>;

const checks: Record<string, Check> = {
  "lets requests wait for the next window of a limit with a queue, in the order in which they came": async (
    use,
    make,
  ) => {
    const { store, waitUntil } = await use(make());
    const timers = createManualTimers();
    const bounds = { requests: 100, bytes: 0 };
    const now = () => Number.MAX_SAFE_INTEGER; // windows are those of the store
    const queues = new LimitQueues({ store, now, monotonic: () => performance.now(), timers, bounds });
    const limit = createLimit({ most: 2, window: "second" });
    const turns = Array.from({ length: 5 }, () => ask(queues, [applied(limit)]));
    const admitted = () => turns.filter(({ how }) => how() === "admitted").length;
    await eventually("three that wait", async () => queues.waitingFor({ limit, bucket: "b" }) <= 3 && admitted() >= 2);
    while (admitted() < turns.length) {
      const before = admitted();
      assert.deepEqual(
        turns.map(({ how }) => how()),
        turns.map((_, index) => (index < before ? "admitted" : "waits")),
      );
      const { span } = await store.read(limit, "b");
      assert.ok((await store.read(limit, "b")).reserved <= limit.most);
      await waitUntil(span.end);
      await eventually("room for the next one", async () => {
        timers.fire(1_000);
        return admitted() > before;
      });
    }
    assert.equal(queues.waitingFor({ limit, bucket: "b" }), 0);
  },
  "admits as many of 1,000 requests at once as a limit allows, with 20 seeds": async (use, make) => {
    const { store } = await use(make());
    for (let seed = 0; seed < 20; seed++) {
      const random = createRandom(seed);
      const limit = createLimit({ most: 100 });
      const settled: Promise<LimitIncrement[]>[] = [];
      const work = Array.from({ length: 1_000 }, async () => {
        if (random() < 0.3) await new Promise((resolve) => setTimeout(resolve, random() * 5));
        const booked = await book(store, claimOf(limit));
        if (booked && random() < 0.5) settled.push(Promise.resolve(booked.settle({ ...noUse, requests: 1 })));
        return booked;
      });
      const admitted = (await Promise.all(work)).filter(Boolean);
      assert.equal(admitted.length, 100, `seed ${seed}`);
      assert.equal((await Promise.all(settled)).flat().length, settled.length);
      const { used, reserved } = await store.read(limit, "b");
      assert.equal(used + reserved, 100, `seed ${seed}`);
    }
  },

  "overruns a budget by at most what one request was not granted": async (use, make) => {
    const made = await use(make());
    const { store } = made;
    for (let seed = 0; seed < 5; seed++) {
      const random = createRandom(seed);
      const limit = createLimit({ counts: "cost", most: 1_000 });
      const work = Array.from({ length: 200 }, async () => {
        const [least, beyond] = [1 + Math.floor(random() * 20), Math.floor(random() * 50)];
        const booked = await book(store, claimOf(limit, least, beyond));
        if (random() < 0.5) await new Promise((resolve) => setTimeout(resolve, random() * 5));
        const increments = booked?.settle({ ...noUse, cost: least + beyond }) ?? [];
        return increments.reduce((sum, { used }) => sum + used, 0);
      });
      const spent = (await Promise.all(work)).reduce((sum, one) => sum + one, 0);
      assert.ok(spent >= 1_000 - 20 && spent <= 1_000 + 50, `seed ${seed}: ${spent}`);
      await holds(made, limit, { used: spent, reserved: 0 });
    }
  },

  "overruns a budget by at most one request where requests use less than they reserved": async (use, make) => {
    const made = await use(make());
    const { store } = made;
    const [least, beyond, cost] = [10, 90, 60];
    for (let seed = 0; seed < 5; seed++) {
      const random = createRandom(seed);
      const limit = createLimit({ counts: "cost", most: 1_000 });
      let spent = 0;
      const running: Reservation[] = [];
      const settleOne = () => {
        const [one] = running.splice(Math.floor(random() * running.length), 1);
        for (const { used } of one?.settle({ ...noUse, cost }) ?? []) spent += used;
      };
      for (let request = 0; request < 200; request++) {
        // what one gives back is not for the next while another reserved more than was left
        if (random() < 0.3) settleOne();
        const booked = await book(store, claimOf(limit, least, beyond));
        if (booked) running.push(booked);
      }
      while (running.length > 0) settleOne();
      assert.ok(spent > 1_000 - 2 * (least + beyond) && spent <= 1_000 + cost, `seed ${seed}: ${spent}`);
      await holds(made, limit, { used: spent, reserved: 0 });
    }
  },

  "books all claims or none": async (use, make) => {
    const made = await use(make());
    const [wide, narrow] = [createLimit({ most: 10 }), createLimit({ most: 1 })];
    assert.ok(await book(made.store, claimOf(wide), claimOf(narrow)));
    const refused = await made.store.reserve([claimOf(wide), claimOf(narrow), claimOf(wide, 100)]);
    assert.ok("claim" in refused && refused.claim.limit === narrow, "the first claim without room is named");
    assert.equal(refused.resetsAt, Number.POSITIVE_INFINITY);
    assert.deepEqual(
      (refused.states ?? []).map(({ reserved }) => reserved),
      refused.states ? [1, 1, 1] : [],
    );
    await holds(made, wide, { used: 0, reserved: 1 });
    await holds(made, narrow, { used: 0, reserved: 1 });
  },

  "tells limits, organisations and buckets apart": async (use, make) => {
    const { store } = await use(make());
    const limit = createLimit({ most: 1 });
    assert.ok(await book(store, claimOf(limit)));
    assert.ok(await book(store, claimOf(limit, 1, 0, "another")));
    assert.ok(await book(store, claimOf(createLimit({ most: 1 }))));
    const ofOther = { ...limit, organisationId: "o-2" };
    assert.equal((await store.read(ofOther, "b")).reserved, 0);
    assert.ok(await book(store, claimOf(ofOther)), "another organisation has a limit with the same id");
    assert.equal(await book(store, claimOf(limit)), undefined);
  },

  "replaces what was reserved by what was used, once": async (use, make) => {
    const made = await use(make());
    const limit = createLimit({ counts: "cost", most: 1_000 });
    const booked = await book(made.store, claimOf(limit, 100, 5_000));
    assert.ok(booked);
    assert.deepEqual(booked.states, [{ used: 0, reserved: 5_100, span: spanOf("ever", 0) }]);
    const gain = { limitId: limit.id, bucket: "b", windowStart: 0, windowEnd: null, used: 300 };
    assert.deepEqual(booked.settle({ ...noUse, cost: 300 }), [gain]);
    assert.deepEqual(booked.settle({ ...noUse, cost: 300 }), []);
    booked.release();
    await holds(made, limit, { used: 300, reserved: 0 });
  },

  "gives back what a released request reserved": async (use, make) => {
    const made = await use(make());
    const limit = createLimit({ most: 1 });
    const booked = await book(made.store, claimOf(limit));
    assert.equal(await book(made.store, claimOf(limit)), undefined);
    booked?.release();
    assert.deepEqual(booked?.settle({ ...noUse, requests: 1 }), []);
    await holds(made, limit, { used: 0, reserved: 0 });
    assert.ok(await book(made.store, claimOf(limit)));
  },

  "refuses what is larger than what is left, and everything once nothing is left": async (use, make) => {
    const made = await use(make());
    const limit = createLimit({ counts: "cost", most: 1_000 });
    assert.equal(await book(made.store, claimOf(limit, 1_001)), undefined);
    (await book(made.store, claimOf(limit, 0)))?.settle({ ...noUse, cost: 1_200 });
    await holds(made, limit, { used: 1_200, reserved: 0 });
    assert.equal(await book(made.store, claimOf(limit, 0)), undefined);
    assert.equal(await book(made.store, claimOf(createLimit({ most: 0 }))), undefined);
    assert.ok(await book(made.store, claimOf({ ...limit, most: 1_300 }, 100)), "a raised limit goes on");
  },

  "counts amounts beyond 32 bits exactly": async (use, make) => {
    const made = await use(make());
    const limit = createLimit({ counts: "cost", most: 9_000_000_000_000_000 });
    (await book(made.store, claimOf(limit, 7)))?.settle({ ...noUse, cost: 8_999_999_999_999_990 });
    await holds(made, limit, { used: 8_999_999_999_999_990, reserved: 0 });
    const booked = await book(made.store, claimOf(limit, 3, 100));
    assert.equal(booked?.states[0]?.reserved, 103);
    const largest = createLimit({ counts: "cost", most: Number.MAX_VALUE });
    (await book(made.store, claimOf(largest, 7)))?.settle({ ...noUse, cost: 8 });
    await holds(made, largest, { used: 8, reserved: 0 });
  },

  "admits anew when a window is over, and says when": async (use, make) => {
    const { store, waitUntil } = await use(make());
    const limit = createLimit({ window: "second", most: 2 });
    const admittedIn = new Map<number, number>();
    for (let windows = 0; windows < 2; ) {
      const booked = await store.reserve([claimOf(limit)]);
      if ("claim" in booked) {
        assert.equal(booked.resetsAt % 1_000, 0);
        assert.equal(admittedIn.get(booked.resetsAt - 1_000), 2, "a window refuses only when it is full");
        windows++;
        await waitUntil(booked.resetsAt);
      } else {
        const [state] = booked.states;
        const start = state?.span.start ?? Number.NaN;
        assert.equal(state?.span.end, start + 1_000);
        admittedIn.set(start, (admittedIn.get(start) ?? 0) + 1);
      }
    }
    assert.ok(admittedIn.size >= 2);
    assert.ok([...admittedIn.values()].every((admitted) => admitted <= 2));
  },

  "counts tokens and money in the window in which they are known, and a request in its own": async (use, make) => {
    const { store, waitUntil } = await use(make());
    const tokens = createLimit({ window: "second", counts: "tokens", most: 100 });
    const requests = createLimit({ window: "second", most: 5 });
    const booked = await book(store, claimOf(tokens, 10), claimOf(requests));
    assert.ok(booked);
    const end = booked.states[0]?.span.end ?? Number.NaN;
    await waitUntil(end);
    const increments = booked.settle({ requests: 1, tokens: 40, cost: 0 });
    assert.equal(increments.length, 1);
    const [{ limitId, used, windowStart, windowEnd } = assert.fail()] = increments;
    assert.deepEqual({ limitId, used, windowEnd }, { limitId: tokens.id, used: 40, windowEnd: windowStart + 1_000 });
    assert.ok(windowStart >= end);
    await eventually("tokens in their window", async () => {
      const state = await store.read(tokens, "b");
      // unless that window is over too
      return state.span.start > windowStart || (state.used === 40 && state.reserved === 0);
    });
  },

  "goes on from what earlier processes stored, each in its window": async (use, make) => {
    const [rate, budget] = [createLimit({ window: "month", most: 5 }), createLimit({ counts: "cost", most: 1_000 })];
    const { start } = spanOf("month", Date.now());
    const row = (limit: Limit, windowStart: number, used: number) => {
      const { id: limitId, organisationId } = limit;
      return { organisationId, limitId, bucket: "b", windowStart, windowEnd: null, used };
    };
    const stored = [row(rate, spanOf("month", start - 1).start, 5), row(rate, start, 4), row(budget, 0, 1_000)];
    const { store } = await use(make({ stored }));
    assert.equal((await store.read(rate, "b")).used, 4);
    assert.ok(await book(store, claimOf(rate)));
    assert.equal(await book(store, claimOf(rate)), undefined);
    assert.equal(await book(store, claimOf(budget)), undefined);
    assert.ok(await book(store, claimOf(budget, 1, 0, "another")));
  },

  "lists buckets with what they hold": async (use, make) => {
    const { store, add } = await use(make());
    const limit = createLimit({ most: 10 });
    await add(
      limit.organisationId,
      (await book(store, claimOf(limit, 1, 0, "one")))?.settle({ ...noUse, requests: 1 }) ?? [],
    );
    await book(store, claimOf(limit, 1, 0, "two"));
    await book(store, claimOf(createLimit({ most: 10 }), 1, 0, "three"));
    await eventually("both buckets", async () => {
      const listed = (await store.list(limit)).map(([name, { used, reserved }]) => [name, used, reserved]);
      return (
        JSON.stringify(listed.toSorted()) ===
        JSON.stringify([
          ["one", 1, 0],
          ["two", 0, 1],
        ])
      );
    });
    assert.deepEqual(await store.list(createLimit({})), []);
  },

  "sets a bucket back: what is reserved stays": async (use, make) => {
    const made = await use(make());
    const { store, add } = made;
    const limit = createLimit({ counts: "tokens", most: 100 });
    assert.equal(await store.reset(limit, "b"), undefined);
    await add(limit.organisationId, (await book(store, claimOf(limit, 80)))?.settle({ ...noUse, tokens: 90 }) ?? []);
    await holds(made, limit, { used: 90, reserved: 0 });
    const open = await book(store, claimOf(limit, 4));
    const increment = { limitId: limit.id, bucket: "b", windowStart: 0, windowEnd: null, used: -90 };
    assert.deepEqual(await store.reset(limit, "b"), increment);
    await holds(made, limit, { used: 0, reserved: 4 });
    await add(limit.organisationId, [increment]);
    assert.equal(await store.reset(limit, "b"), undefined);
    assert.ok(await book(store, claimOf(limit, 96)));
    assert.equal(open?.settle({ ...noUse, tokens: 5 }).length, 1);
    await holds(made, limit, { used: 5, reserved: 96 });
  },

  "adds a use and takes it back, whatever is left": async (use, make) => {
    const uses: [number, number][] = [];
    const onUsed: LimitUseObserver = ({ before, after }) => {
      // a refusal may report what was used before
      if (before !== after) uses.push([before, after]);
    };
    const made = await use(make({ onUsed }));
    const { store } = made;
    const limit = createLimit({ counts: "cost", most: 1_000 });
    await book(store, claimOf(limit, 1));
    const increment = { limitId: limit.id, bucket: "b", windowStart: 0, windowEnd: null, used: 1_500 };
    assert.deepEqual(await store.add(limit, "b", 1_500), increment);
    await made.add(limit.organisationId, [increment]);
    assert.equal(await book(store, claimOf(limit, 0)), undefined);
    assert.equal(await store.add(limit, "b", 0), undefined);
    assert.equal((await store.add(limit, "b", -600))?.used, -600);
    await holds(made, limit, { used: 900, reserved: 1 });
    assert.deepEqual(uses, [
      [0, 1_500],
      [1_500, 900],
    ]);
  },

  "follows counters that re-priced rows changed, once": async (use, make) => {
    const made = await use(make());
    const { store } = made;
    const limit = createLimit({ counts: "cost", most: 1_000 });
    const settled = (await book(store, claimOf(limit)))?.settle({ ...noUse, cost: 600 }) ?? [];
    await made.add(limit.organisationId, settled);
    await holds(made, limit, { used: 600, reserved: 0 });
    const booked = await book(store, claimOf(limit, 5));
    const correct = (used: number) =>
      made.correct(limit.organisationId, { limitId: limit.id, bucket: "b", windowStart: 0, windowEnd: null, used });
    await correct(300);
    await holds(made, limit, { used: 900, reserved: 5 });
    await correct(-800);
    await holds(made, limit, { used: 100, reserved: 5 });
    assert.ok(await book(store, claimOf(limit, 800)), "what became cheaper is free at once");
    await correct(400);
    await eventually("no room", async () => (await book(store, claimOf(limit, 1))) === undefined);
    booked?.release();
  },

  "takes back a reset that was not stored": async (use, make) => {
    const made = await use(make());
    const { store } = made;
    const limit = createLimit({ counts: "cost", most: 1_000 });
    const settled = (await book(store, claimOf(limit)))?.settle({ ...noUse, cost: 1_000 }) ?? [];
    await made.add(limit.organisationId, settled);
    await holds(made, limit, { used: 1_000, reserved: 0 });
    const increment = await store.reset(limit, "b");
    assert.ok(await book(store, claimOf(limit)));
    await store.add(limit, "b", -(increment?.used ?? 0));
    await holds(made, limit, { used: 1_000, reserved: 1 });
    assert.equal(await book(store, claimOf(limit)), undefined);
  },

  "reports each use with what was used before and after": async (use, make) => {
    const uses: [string, number, number][] = [];
    const onUsed: LimitUseObserver = ({ limit, before, after }) => uses.push([limit.counts, before, after]);
    const { store } = await use(make({ onUsed }));
    const [tokens, cost] = [createLimit({ counts: "tokens", most: 100 }), createLimit({ counts: "cost", most: 100 })];
    for (const used of [10, 0, 7]) {
      (await book(store, claimOf(tokens), claimOf(cost)))?.settle({ requests: 1, tokens: used, cost: 1 });
    }
    await eventually("five uses", async () => uses.length >= 5);
    const wanted = [
      ["cost", 0, 1],
      ["cost", 1, 2],
      ["cost", 2, 3],
      ["tokens", 0, 10],
      ["tokens", 10, 17],
    ];
    assert.deepEqual(uses.toSorted(), wanted);
  },

  "lets values beyond its bound share one bucket": async (use, make) => {
    const { store } = await use(make());
    const limit = createLimit({ most: 1 });
    for (let from = 0; from < maxBuckets; from += 500) {
      const booked = Array.from({ length: 500 }, (_, index) => book(store, claimOf(limit, 1, 0, `b${from + index}`)));
      assert.equal((await Promise.all(booked)).filter(Boolean).length, 500);
    }
    const late = await book(store, claimOf(limit, 1, 0, "late"));
    assert.ok(late);
    assert.equal(await book(store, claimOf(limit, 1, 0, "later")), undefined);
    assert.equal(await book(store, claimOf(limit, 1, 0, "b7")), undefined);
    assert.equal((await store.read(limit, overflowBucket)).reserved, 1);
    assert.ok((await store.list(limit)).length <= maxBuckets + 1);
    const [increment] = late.settle({ ...noUse, requests: 1 });
    assert.equal(increment?.bucket, overflowBucket);
    late.release();
  },
};

/** Tests that every store of limits passes. */
export function testStore(name: string, make: CreateStore, options: { skip?: boolean } = {}): void {
  for (const [what, check] of Object.entries(checks)) {
    test(`${name} ${what}`, options, async () => {
      const made: StoreUnderTest[] = [];
      try {
        await check(async (making) => {
          const one = await making;
          made.push(one);
          return one;
        }, make);
      } finally {
        for (const one of made) await one.close();
      }
    });
  }
}
