import assert from "node:assert/strict";
import { test } from "node:test";
import { Ledger } from "../../src/policies/ledger.ts";
import { LimitHost } from "../../src/policies/owned/limit-host.ts";
import { OwnedLimitStore } from "../../src/policies/owned/owned-limit-store.ts";
import { startOf } from "../../src/policies/windows.ts";
import type { CorrectedCounter } from "../../src/schemas/logs.ts";
import { createOwnerLink } from "../support/owner-link.ts";
import { book, claimOf, createLimit, testStore } from "./store-conformance.ts";

const serve = (ledger: Ledger) => () => new LimitHost(ledger, () => undefined).serve();
const used = { requests: 1, tokens: 7, cost: 0 };

testStore("OwnedLimitStore", async ({ stored = [], onUsed } = {}) => {
  let now = Date.now();
  const ledger = new Ledger({ now: () => now, onUsed });
  ledger.restore(stored);
  const owner = createOwnerLink(serve(ledger));
  await owner.link.within(1_000);
  const corrected = new Map<string, CorrectedCounter>();
  return {
    store: new OwnedLimitStore({ link: owner.link, now: () => now, workers: 1, isStrict: false }),
    add: () => {
      // the ledger counted it: what is stored is the same
    },
    correct: (organisationId, { used: difference, ...counter }) => {
      const name = JSON.stringify(counter);
      const before = corrected.get(name)?.corrected ?? 0;
      corrected.set(name, { ...counter, organisationId, corrected: difference + before });
      ledger.follow([...corrected.values()]);
    },
    async waitUntil(time) {
      now = Math.max(now, time);
    },
    close: async () => owner.link.close(),
  };
});

/** A store whose owner can be replaced. */
async function createReplaced(options: { isStrict?: boolean } = {}) {
  const first = new Ledger({ now: Date.now });
  const owner = createOwnerLink(serve(first));
  const { isStrict = false } = options;
  const store = new OwnedLimitStore({ link: owner.link, now: Date.now, workers: 2, isStrict });
  await owner.link.within(1_000);
  return { owner, store, first };
}

test("what is reserved stays reserved at the next owner, and is settled there", async () => {
  const { owner, store } = await createReplaced();
  const limit = createLimit({ counts: "tokens", most: 10 });
  const running = await book(store, claimOf(limit, 4, 4));
  const next = new Ledger({ now: Date.now });
  owner.end(serve(next));
  await owner.link.within(1_000);
  assert.equal(await book(store, claimOf(limit, 3)), undefined);
  assert.deepEqual(next.read(limit, "b").reserved, 8);
  const [gain] = running?.settle(used) ?? [];
  assert.deepEqual(gain, { limitId: limit.id, bucket: "b", windowStart: 0, windowEnd: null, used: 7 });
  assert.ok(await book(store, claimOf(limit, 3)));
  const { reserved, used: counted } = next.read(limit, "b");
  assert.deepEqual({ reserved, counted }, { reserved: 3, counted: 7 });
  owner.link.close();
});

test("a request that comes while the owner is replaced waits for the next one", async () => {
  const { owner, store } = await createReplaced();
  owner.end();
  const limit = createLimit({ most: 1 });
  const waiting = book(store, claimOf(limit));
  owner.end(serve(new Ledger({ now: Date.now })));
  assert.ok(await waiting);
  assert.equal(await book(store, claimOf(limit)), undefined);
  owner.link.close();
});

test("without an owner, a store refuses if it is strict, and else counts by its share", async () => {
  for (const isStrict of [true, false]) {
    const { owner, store } = await createReplaced({ isStrict });
    const limit = createLimit({ most: 4 });
    const first = await book(store, claimOf(limit));
    first?.settle(used);
    owner.link.close();
    const outcomes = await Promise.all([1, 2, 3].map(() => store.reserve([claimOf(limit)])));
    const booked = outcomes.filter((outcome) => !("claim" in outcome)).length;
    // of the three that were left when it heard last, half
    assert.equal(booked, isStrict ? 0 : 1);
    const refused = outcomes.find((outcome) => "claim" in outcome);
    assert.equal(refused && "isAway" in refused ? refused.isAway : false, isStrict);
  }
});

test("a worker that ends gives back what it has reserved", async () => {
  const { owner, store, first } = await createReplaced();
  const limit = createLimit({ most: 1 });
  assert.ok(await book(store, claimOf(limit)));
  owner.link.close();
  assert.equal(first.read(limit, "b").reserved, 0);
});

test("Ledger.gain() counts in the window that is stored, live or ended", () => {
  let now = Date.UTC(2026, 0, 1);
  const ledger = new Ledger({ now: () => now });
  const limit = createLimit({ most: 10, window: "minute" });
  const windowStart = startOf(ledger.read(limit, "b").span);
  const gain = { limitId: limit.id, bucket: "b", windowStart, used: 3 };
  ledger.gain(limit.organisationId, [gain]);
  assert.equal(ledger.read(limit, "b").used, 3);
  ledger.count({ limit, bucket: "b" }, windowStart, 2);
  assert.equal(ledger.read(limit, "b").used, 5);
  now += 60_000;
  ledger.gain(limit.organisationId, [gain]);
  assert.equal(ledger.read(limit, "b").used, 0);
});
