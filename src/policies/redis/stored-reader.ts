import type { StoredCount, StoredCounters } from "../stored-counters.ts";
import { type Span, startOf } from "../windows.ts";
import { keysOf, type SharedBucket } from "./buckets.ts";

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

  constructor(stored: StoredCounters) {
    this.#stored = stored;
  }

  /** What is stored of a bucket in a window. */
  read(bucket: SharedBucket, span: Span): Promise<StoredCount> {
    const key = keysOf(bucket, span).bucket;
    const known = this.#reading.get(key);
    if (known) return known;
    const reading = this.#stored
      .readUsed([storedName(bucket, span)])
      .then(([found = nothing]) => found)
      .finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }
}
