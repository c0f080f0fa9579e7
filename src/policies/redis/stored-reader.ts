import type { StoredCount } from "../stored-counters.ts";
import { type Span, startOf } from "../windows.ts";
import { keysOf, type SharedBucket } from "./buckets.ts";
import type { RedisLimitStoreOptions } from "./options.ts";
import { within } from "./within.ts";

/** Stored counters cannot be read: it is the database that is away, not Redis. */
export class StoredCountersError extends Error {}

/** Name of the stored counter of a bucket in a window. */
export function storedName({ limit, name }: SharedBucket, span: Span) {
  return { organisationId: limit.organisationId, limitId: limit.id, bucket: name, windowStart: startOf(span) };
}

const nothing: StoredCount = { used: 0, corrected: 0 };

/** Least time between two warnings, in milliseconds. */
const warnEveryMs = 60_000;

/** Settings of a reader. */
interface StoredReaderOptions extends Pick<RedisLimitStoreOptions, "stored" | "clock" | "warn" | "isStrict"> {
  /** Longest wait for the database, in milliseconds. It is not that for Redis, which is much nearer. */
  readonly storedTimeoutMs: number;
}

/** Reads stored counters: many requests that ask for the same one at once are one question. */
export class StoredReader {
  readonly #options: StoredReaderOptions;
  /** What is being read, by the key of its bucket. */
  readonly #reading = new Map<string, Promise<StoredCount>>();
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(options: StoredReaderOptions) {
    this.#options = options;
  }

  /**
   * What a bucket holds that Redis does not have. If the database does not say, that is what this process has heard: from there
   * all processes count together, so that at most the use before is forgotten. Shares would be forgotten with each process.
   *
   * @throws {StoredCountersError} If the database does not say, and limits are strict.
   */
  async first(bucket: SharedBucket, span: Span): Promise<StoredCount> {
    try {
      return await this.read(bucket, span);
    } catch (error) {
      this.#warn(error);
      if (this.#options.isStrict) throw error;
      const { heard, corrected } = bucket;
      const start = startOf(span);
      return {
        used: heard?.start === start ? heard.used : 0,
        corrected: corrected.start === start ? corrected.amount : 0,
      };
    }
  }

  #warn(error: unknown): void {
    const { clock, warn } = this.#options;
    const now = clock.monotonic();
    if (now - this.#warnedAt < warnEveryMs) return;
    this.#warnedAt = now;
    warn("Cannot read what is stored of limits: those that Redis does not know begin there without it", error);
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
      const { stored, storedTimeoutMs } = this.#options;
      const asked = stored.readUsed([storedName(bucket, span)]);
      const [found = nothing] = await within(storedTimeoutMs, asked, "Cannot read stored counters of limits");
      return found;
    } catch (cause) {
      throw new StoredCountersError(cause instanceof Error ? cause.message : String(cause), { cause });
    }
  }
}
