import type { StoredCounters } from "../../src/policies/stored-counters.ts";
import type { LimitIncrement } from "../../src/schemas/logs.ts";

/** Stored counters in memory, which a test writes as log rows would. */
export interface TestCounters extends StoredCounters {
  add(organisationId: string, increments: readonly Omit<LimitIncrement, "windowEnd">[]): void;
  /** Adds to them as re-priced rows do. */
  correct(organisationId: string, increments: readonly Omit<LimitIncrement, "windowEnd">[]): void;
  /** How often counters were read. */
  readonly reads: number;
  /** Whether they cannot be reached. */
  isAway: boolean;
}

export function createTestCounters(): TestCounters {
  const counters = new Map<string, number>();
  const corrections = new Map<string, number>();
  const rows = () => [...counters].map(([key, used]) => ({ key: JSON.parse(key) as (string | number)[], used }));
  const state = { reads: 0, isAway: false };
  const look = async () => {
    state.reads++;
    await null;
    if (state.isAway) throw new Error("the database is away");
  };
  return {
    get reads() {
      return state.reads;
    },
    get isAway() {
      return state.isAway;
    },
    set isAway(isAway) {
      state.isAway = isAway;
    },
    add(organisationId, increments) {
      for (const { limitId, bucket, windowStart, used } of increments) {
        const key = JSON.stringify([organisationId, limitId, bucket, windowStart]);
        counters.set(key, (counters.get(key) ?? 0) + used);
      }
    },
    correct(organisationId, increments) {
      this.add(organisationId, increments);
      for (const { limitId, bucket, windowStart, used } of increments) {
        const key = JSON.stringify([organisationId, limitId, bucket, windowStart]);
        corrections.set(key, (corrections.get(key) ?? 0) + used);
      }
    },
    async readUsed(names) {
      await look();
      return names.map(({ organisationId, limitId, bucket, windowStart }) => {
        const key = JSON.stringify([organisationId, limitId, bucket, windowStart]);
        return { used: counters.get(key) ?? 0, corrected: corrections.get(key) ?? 0 };
      });
    },
    async list({ organisationId, limitId, windowStart }) {
      await look();
      return rows().flatMap(({ key, used }) => {
        const isListed = key[0] === organisationId && key[1] === limitId && key[3] === windowStart;
        return isListed ? [{ bucket: String(key[2]), used }] : [];
      });
    },
  };
}
