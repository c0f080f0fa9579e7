import type { Clock } from "../../lib/clock.ts";
import type { LimitUseObserver } from "../limit-store.ts";
import type { StoredCounters } from "../stored-counters.ts";
import { type Span, spanOf, startOf } from "../windows.ts";
import { heardLately, keepUntil, keysOf, noteCorrected, type SharedBucket } from "./buckets.ts";
import type { RedisCounters } from "./counters.ts";
import { storedName } from "./stored-reader.ts";

/** Buckets that are read and compared together. */
const batchSize = 200;

/** Settings of an agreement. */
interface AgreementOptions {
  readonly counters: RedisCounters;
  readonly stored: StoredCounters;
  readonly clock: Clock;
  /** How long a bucket was not used before it is lowered to what is stored, in milliseconds. */
  readonly quietMs: number;
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

  constructor(options: AgreementOptions) {
    this.#options = options;
  }

  /**
   * Compares the buckets that this process used since they agreed.
   *
   * @throws If the stored counters cannot be read, or Redis is away.
   */
  async agree(buckets: Iterable<SharedBucket>): Promise<void> {
    const now = this.#options.counters.time.now();
    const due: Current[] = [];
    for (const bucket of buckets) {
      if (bucket.touchedAt !== undefined) due.push({ bucket, span: spanOf(bucket.limit.window, now) });
    }
    for (let from = 0; from < due.length; from += batchSize) await this.#compare(due.slice(from, from + batchSize));
  }

  async #compare(batch: readonly Current[]): Promise<void> {
    const { counters, stored, clock, quietMs } = this.#options;
    const [readAt, comparedAt] = [counters.time.now(), clock.monotonic()];
    const counts = await stored.readUsed(batch.map(({ bucket, span }) => storedName(bucket, span)));
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
    const agreed = await counters.agree(shown, { readAt, quietMs });
    for (const [index, current] of batch.entries()) {
      const result = agreed[index];
      if (result) this.#note(current, result, comparedAt);
    }
  }

  #note(
    { bucket, span }: Current,
    { before, after, reserved }: { before: number; after: number; reserved: number },
    comparedAt: number,
  ): void {
    const { quietMs, onUsed } = this.#options;
    bucket.heard = { start: startOf(span), used: after, reserved };
    // until it was quiet it may still be lowered; the second makes up for what the clocks differ
    if (bucket.touchedAt !== undefined && comparedAt - bucket.touchedAt > quietMs + 1_000) bucket.touchedAt = undefined;
    if (after > before) onUsed?.({ limit: bucket.limit, bucket: bucket.name, span, before, after });
  }
}
