import type { StoredCount, StoredCounters } from "../stored-counters.ts";
import { type Span, startOf } from "../windows.ts";
import { keysOf, type SharedBucket } from "./buckets.ts";
import { within } from "./within.ts";

/** Stored counters cannot be read: it is the database that is away, not Redis. */
export class StoredCountersError extends Error {}

/** Name of the stored counter of a bucket in a window. */
export function storedName({ limit, name }: SharedBucket, span: Span) {
  return { organisationId: limit.organisationId, limitId: limit.id, bucket: name, windowStart: startOf(span) };
}

const nothing: StoredCount = { used: 0, corrected: 0 };

/** Reads stored counters: many requests that ask for the same one at once are one question. */
export class StoredReader {
  readonly #stored: StoredCounters;
  /** What is being read, by the key of its bucket. */
  readonly #reading = new Map<string, Promise<StoredCount>>();

  readonly #withinMs: number;

  /** @param withinMs Longest wait for the database, in milliseconds. It is not that for Redis, which is much nearer. */
  constructor(stored: StoredCounters, withinMs: number) {
    this.#stored = stored;
    this.#withinMs = withinMs;
  }

  /**
   * What is stored of a bucket in a window.
   *
   * @throws {StoredCountersError} If the database does not say.
   */
  read(bucket: SharedBucket, span: Span): Promise<StoredCount> {
    const key = keysOf(bucket, span).bucket;
    const known = this.#reading.get(key);
    if (known) return known;
    const reading = this.#ask(bucket, span).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  async #ask(bucket: SharedBucket, span: Span): Promise<StoredCount> {
    try {
      const asked = this.#stored.readUsed([storedName(bucket, span)]);
      const [found = nothing] = await within(this.#withinMs, asked, "Cannot read stored counters of limits");
      return found;
    } catch (cause) {
      throw new StoredCountersError(cause instanceof Error ? cause.message : String(cause), { cause });
    }
  }
}
