import type { Clock } from "../../lib/clock.ts";
import type { LimitUseObserver } from "../limit-store.ts";
import type { StoredCount, StoredCounters } from "../stored-counters.ts";
import { type Span, spanOf, startOf } from "../windows.ts";
import { heardLately, keepUntil, keysOf, noteCorrected, type SharedBucket, type SharedBuckets } from "./buckets.ts";
import type { RedisCounters } from "./counters.ts";
import { StoredCountersError, storedName } from "./stored-reader.ts";
import { within } from "./within.ts";

/** Buckets that are read and compared together. */
const batchSize = 200;
/** How long after stored counters could not be read rows may still wait to be stored, in milliseconds. */
const waitingRowsMs = 60_000;
/** No bucket was unused for so long. */
const neverQuietMs = Number.MAX_SAFE_INTEGER;

/** Settings of an agreement. */
interface AgreementOptions {
  readonly counters: RedisCounters;
  readonly stored: StoredCounters;
  readonly clock: Clock;
  /** How long a bucket was not used before it is lowered to what is stored, in milliseconds. */
  readonly quietMs: number;
  /** Longest wait for the database, in milliseconds. */
  readonly storedTimeoutMs: number;
  readonly onUsed: LimitUseObserver | undefined;
}

/** A bucket in the window of now. */
interface Current {
  readonly bucket: SharedBucket;
  readonly span: Span;
}

/** Makes counters in Redis agree with those that are stored, which are the truth. */
export class Agreement {
  readonly #options: AgreementOptions;
  /** Monotonic milliseconds at which stored counters could not be read. */
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: AgreementOptions) {
    this.#options = options;
  }

  /**
   * Compares the buckets that this process used since they agreed.
   *
   * @throws {StoredCountersError} If the stored counters cannot be read.
   * @throws If Redis is away.
   */
  async agree(buckets: Iterable<SharedBucket>): Promise<void> {
    const now = this.#options.counters.time.now();
    const due: Current[] = [];
    for (const bucket of buckets) {
      if (bucket.touchedAt !== undefined) due.push({ bucket, span: spanOf(bucket.limit.window, now) });
    }
    for (let from = 0; from < due.length; from += batchSize) await this.#compare(due.slice(from, from + batchSize));
  }

  /**
   * As `agree`, for all buckets, once Redis is back. If the stored counters cannot be read, what this process used by its share is
   * added to the buckets that Redis still has.
   *
   * @throws If Redis is away.
   */
  async agreeAfterOutage(buckets: SharedBuckets): Promise<void> {
    try {
      await this.agree(buckets.all());
      for (const bucket of buckets.all()) bucket.alone = undefined;
    } catch (error) {
      if (!(error instanceof StoredCountersError)) throw error;
      for (const bucket of buckets.all()) await this.#addAlone(bucket);
    }
  }

  async #addAlone(bucket: SharedBucket): Promise<void> {
    const { counters } = this.#options;
    const { alone } = bucket;
    if (!alone) return;
    bucket.alone = undefined;
    const span = spanOf(bucket.limit.window, counters.time.now());
    if (startOf(span) === alone.start) await counters.add(keysOf(bucket, span), alone.used);
  }

  async #compare(batch: readonly Current[]): Promise<void> {
    const { counters, clock, quietMs } = this.#options;
    const [readAt, comparedAt] = [counters.time.now(), clock.monotonic()];
    const counts = await this.#readStored(batch);
    // what was used while the database was away is not stored at once when it is back
    const mayLower = comparedAt - this.#failedAt > waitingRowsMs;
    const shown = batch.map(({ bucket, span }, index) => {
      const { used = 0, corrected = 0 } = counts[index] ?? {};
      noteCorrected(bucket, span, corrected);
      return {
        keys: keysOf(bucket, span),
        used: Math.max(used, heardLately(bucket, span, { now: comparedAt, withinMs: quietMs })),
        corrected,
        keepUntil: keepUntil(span, readAt, 0),
      };
    });
    const agreed = await counters.agree(shown, { readAt, quietMs: mayLower ? quietMs : neverQuietMs });
    for (const [index, current] of batch.entries()) {
      const result = agreed[index];
      if (!result) continue;
      this.#note(current, result);
      if (mayLower) this.#noteQuiet(current, comparedAt);
    }
  }

  async #readStored(batch: readonly Current[]): Promise<StoredCount[]> {
    const { stored, clock, storedTimeoutMs } = this.#options;
    try {
      const asked = stored.readUsed(batch.map(({ bucket, span }) => storedName(bucket, span)));
      return await within(storedTimeoutMs, asked, "Cannot read stored counters of limits");
    } catch (cause) {
      this.#failedAt = clock.monotonic();
      throw new StoredCountersError(cause instanceof Error ? cause.message : String(cause), { cause });
    }
  }

  #note(
    { bucket, span }: Current,
    { before, after, reserved }: { before: number; after: number; reserved: number },
  ): void {
    bucket.heard = { start: startOf(span), used: after, reserved };
    if (after > before) this.#options.onUsed?.({ limit: bucket.limit, bucket: bucket.name, span, before, after });
  }

  /** Until a bucket was quiet it may still be lowered; the second makes up for what the clocks differ. */
  #noteQuiet({ bucket }: Current, comparedAt: number): void {
    const { quietMs } = this.#options;
    if (bucket.touchedAt !== undefined && comparedAt - bucket.touchedAt > quietMs + 1_000) bucket.touchedAt = undefined;
  }
}
