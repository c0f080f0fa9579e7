import { startTimer } from "../lib/clock.ts";
import type { CacheEntry, CachePlace } from "./entry.ts";
import type { EntrySealer } from "./sealer.ts";
import { isWithin, type PurgeScope, type SealedEntry, type SharedTier } from "./shared-tier.ts";

const flushAfterMs = 50;
/** Entries and bytes of one write, few enough not to hold up others. */
const batchEntries = 32;
const batchBytes = 1024 * 1024;
/** Most bytes that wait; beyond it, new entries stay in memory alone. */
const maxWaitingBytes = 32 * 1024 * 1024;

interface Waiting {
  readonly place: CachePlace;
  readonly entry: CacheEntry;
}

/** Writes entries to the shared tier a little later, several at a time. */
export class WriteBehind {
  readonly #tier: SharedTier;
  readonly #sealer: EntrySealer;
  readonly #failed: (error: unknown) => void;
  readonly #waiting = new Map<string, Waiting>();
  #bytes = 0;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;

  /** @param failed Called for each write that failed: its entries are given up. */
  constructor(tier: SharedTier, sealer: EntrySealer, failed: (error: unknown) => void) {
    this.#tier = tier;
    this.#sealer = sealer;
    this.#failed = failed;
  }

  add(place: CachePlace, entry: CacheEntry): void {
    this.drop(entry.key);
    if (this.#bytes + entry.body.length > maxWaitingBytes) return;
    this.#waiting.set(entry.key, { place, entry });
    this.#bytes += entry.body.length;
    this.#schedule();
  }

  /** The entry of a key that still waits. */
  find(key: string): CacheEntry | undefined {
    return this.#waiting.get(key)?.entry;
  }

  drop(key: string): void {
    const known = this.#waiting.get(key);
    if (!known) return;
    this.#waiting.delete(key);
    this.#bytes -= known.entry.body.length;
  }

  dropWithin(scope: PurgeScope): void {
    for (const [key, { place }] of [...this.#waiting]) if (isWithin(place, scope)) this.drop(key);
  }

  /** Resolves when no write runs. */
  async settle(): Promise<void> {
    await this.#writing;
  }

  /** Writes what waits. */
  async close(): Promise<void> {
    this.#cancelTimer?.();
    await this.#writing;
    await this.#drain();
  }

  #schedule(): void {
    this.#cancelTimer ??= startTimer(flushAfterMs, () => {
      this.#cancelTimer = undefined;
      this.#writing ??= this.#drain().finally(() => {
        this.#writing = undefined;
        if (this.#waiting.size > 0) this.#schedule();
      });
    });
  }

  async #drain(): Promise<void> {
    while (this.#waiting.size > 0) await this.#writeBatch();
  }

  async #writeBatch(): Promise<void> {
    const batch: Waiting[] = [];
    let bytes = 0;
    for (const waiting of this.#waiting.values()) {
      bytes += waiting.entry.body.length;
      if (batch.length > 0 && (batch.length === batchEntries || bytes > batchBytes)) break;
      batch.push(waiting);
    }
    try {
      const sealed: SealedEntry[] = [];
      for (const { place, entry } of batch) {
        const { key, storedAt, expiresAt } = entry;
        sealed.push({ place, key, sealed: await this.#sealer.seal(place, entry), storedAt, expiresAt });
      }
      // what was purged or replaced meanwhile is not written
      const current = sealed.filter(({ key }, index) => this.#waiting.get(key) === batch[index]);
      if (current.length > 0) await this.#tier.store(current);
    } catch (error) {
      this.#failed(error);
    }
    for (const waiting of batch) if (this.#waiting.get(waiting.entry.key) === waiting) this.drop(waiting.entry.key);
  }
}
