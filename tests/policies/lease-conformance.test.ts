import { systemClock } from "../../src/lib/clock.ts";
import type { Limit, LimitStore, Reservation } from "../../src/policies/limit-store.ts";
import type { LimitIncrement } from "../../src/schemas/logs.ts";
import { type LeaseNode, newFile, openNode } from "../support/leases.ts";
import { type StoreSettings, type StoreUnderTest, testStore } from "./store-conformance.ts";

/** The increments with their leases, by those that the suite sees: it does not know of leases. */
type Leased = WeakMap<LimitIncrement, LimitIncrement>;

function withoutLeases(reservation: Reservation, leased: Leased): Reservation {
  return {
    ...reservation,
    settle: (used) =>
      reservation.settle(used).map((increment) => {
        const { lease: _, ...plain } = increment;
        leased.set(plain, increment);
        return plain;
      }),
  };
}

/** The store as the suite uses it. Uses that are added, and resets, are stored at once: the database shows them. */
function adapt({ store, write }: LeaseNode, leased: Leased): LimitStore {
  const stored = async (limit: Limit, increment: LimitIncrement | undefined) => {
    if (increment) await write([increment], limit.organisationId);
    return increment;
  };
  return {
    read: (limit, bucket) => store.read(limit, bucket),
    list: (limit) => store.list(limit),
    add: async (limit, bucket, used) => stored(limit, await store.add(limit, bucket, used)),
    reset: async (limit, bucket) => stored(limit, await store.reset(limit, bucket)),
    follow: (counters) => store.follow(counters),
    close: () => store.close(),
    async reserve(claims) {
      const outcome = await store.reserve(claims);
      return "claim" in outcome ? outcome : withoutLeases(outcome, leased);
    },
  };
}

async function createStore({ stored = [], onUsed }: StoreSettings = {}): Promise<StoreUnderTest> {
  const node = await openNode(newFile(), { onUsed, storeClock: systemClock });
  const leased: Leased = new WeakMap();
  await node.write(stored, stored[0]?.organisationId);
  return {
    store: adapt(node, leased),
    add: (organisationId, increments) =>
      node.write(
        increments.flatMap((one) => leased.get(one) ?? []),
        organisationId,
      ),
    async correct(organisationId, increment) {
      await node.write([increment], organisationId);
      node.store.follow([]);
    },
    async waitUntil(time) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, time - Date.now()) + 5));
    },
    close: node.close,
  };
}

testStore("LeaseLimitStore", createStore);
