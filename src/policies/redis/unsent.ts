import type { RedisCounters, SharedSettlement, StoredUse } from "./counters.ts";

/** Most of each that waits; the oldest is dropped first. Reservations then end when they expire. */
const maxWaiting = 10_000;
/** Settlements that are sent together. */
const batchSize = 100;

/** What Redis could not be asked while it was away. */
export class Unsent {
  #settlements: SharedSettlement[] = [];
  #changes: { bucket: StoredUse; amount: number }[] = [];

  /** Keeps reservations that must be given back. What was used of them is stored with its log rows. */
  giveBack(settlements: readonly SharedSettlement[]): void {
    for (const settlement of settlements) this.#settlements.push({ ...settlement, used: 0 });
    this.#settlements = this.#settlements.slice(-maxWaiting);
  }

  /** Keeps a change by hand, which the stored counter has. A negative amount is one of a reset. */
  change(bucket: StoredUse, amount: number): void {
    this.#changes = [...this.#changes, { bucket, amount }].slice(-maxWaiting);
  }

  /** Sends all of it. What fails goes on waiting. */
  async send(counters: RedisCounters): Promise<void> {
    while (this.#settlements.length > 0) {
      const batch = this.#settlements.slice(0, batchSize);
      await counters.settle(batch);
      this.#settlements = this.#settlements.slice(batch.length);
    }
    for (let change = this.#changes[0]; change; change = this.#changes[0]) {
      const { bucket, amount } = change;
      if (amount < 0) await counters.reset(bucket, -amount);
      else await counters.add(bucket.keys, amount);
      this.#changes = this.#changes.slice(1);
    }
  }
}
