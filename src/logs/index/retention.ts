import type { Expired, LogRetentionStore } from "../../db/stores/log-retention.ts";
import type { RetentionTimes } from "../../schemas/log-segments.ts";
import type { LogSealer } from "./sealer.ts";

/** Bytes of rows that are enough for a segment of old batches: any. */
const anyBytes = 1;

/** Removes old log rows, and gives back their space, in small steps. */
export class LogRetention {
  readonly #store: LogRetentionStore;
  readonly #sealer: LogSealer;
  readonly #now: () => number;
  /** The times of the last step. */
  #hidden = "";

  /** @param now Unix milliseconds. */
  constructor(store: LogRetentionStore, sealer: LogSealer, now: () => number) {
    this.#store = store;
    this.#sealer = sealer;
    this.#now = now;
  }

  /** Takes one step: at most a few milliseconds of the database. Returns whether there may be more to do. */
  async step(times: RetentionTimes): Promise<boolean> {
    const expired: Expired[] = [{ organisationId: null, time: times.rows }, ...times.organisations];
    await this.#hide(expired);
    // first: where much is unused, to give back a page takes long
    if (await this.#store.shrink()) return true;
    if ((await this.#store.removeContents(times.contents)) > 0) return true;
    if (await this.#store.removeObject(times.contents, this.#now())) return true;
    // makes one segment, which is all that is waiting or changed, or a part of it
    if ((await this.#store.needsSealing(expired)) && (await this.#sealer.run(anyBytes))) return true;
    for (const one of expired) if ((await this.#store.removeBatches(one, this.#now())) > 0) return true;
    if ((await this.#store.removeHooks(times.rows)) > 0) return true;
    if (await this.#store.removeStatistics(times.statistics, this.#now())) return true;
    if (await this.#sealer.trim(times.statistics)) return true;
    return await this.#sealer.cleanUp();
  }

  async #hide(expired: readonly Expired[]): Promise<void> {
    const text = JSON.stringify(expired);
    if (text === this.#hidden) return;
    await this.#store.hide(expired);
    this.#hidden = text;
  }
}
