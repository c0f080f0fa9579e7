import { WeightedCache } from "../lib/weighted-cache.ts";
import type { CacheEntry, CachePlace } from "./entry.ts";
import { isWithin, type PurgeScope } from "./shared-tier.ts";

/** Bytes of an entry besides its body: its key, its objects and their places in maps. */
const entryOverhead = 1_536;
/**
 * The memory of a process grows by this many times the bytes of an entry, as measured by `bench/cache.ts`: entries that
 * were dropped take memory until it is collected.
 */
const collectionShare = 6;

interface Held {
  readonly place: CachePlace;
  readonly entry: CacheEntry;
}

/**
 * Entries in the memory of this process, limited by bytes. When it is full, the organisation with the most bytes loses
 * entries it did not use recently.
 */
export class MemoryTier {
  readonly #limit: number;
  #held: WeightedCache<Held>;

  constructor(bytes: number) {
    this.#limit = bytes;
    this.#held = new WeightedCache(bytes);
  }

  /** Bytes in use, roughly. */
  get bytes(): number {
    return this.#held.weight;
  }

  find(key: string): CacheEntry | undefined {
    return this.#held.get(key)?.entry;
  }

  store(place: CachePlace, entry: CacheEntry): void {
    const weight = collectionShare * (entry.body.length + entryOverhead);
    this.#held.set(entry.key, { place, entry }, { owner: place.organisationId, weight });
  }

  remove(key: string): void {
    this.#held.delete(key);
  }

  purge(scope: PurgeScope): void {
    this.#held.deleteOf(scope.organisationId, ({ place }) => isWithin(place, scope));
  }

  clear(): void {
    this.#held = new WeightedCache(this.#limit);
  }
}
