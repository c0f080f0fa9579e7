import type { BucketState, Limit } from "../limit-store.ts";
import type { StoredCounters } from "../stored-counters.ts";
import { type Span, spanOf, startOf } from "../windows.ts";
import { type BucketKeys, keysOf, type SharedBucket, type SharedBuckets } from "./buckets.ts";
import type { RedisCounters, SharedUse } from "./counters.ts";
import type { StoredReader } from "./stored-reader.ts";

/** Buckets that are read together. */
const batchSize = 200;
/** Longest time to wait for the buckets of a list, in milliseconds. */
const listWithinMs = 2_000;

/** Settings of views. */
interface ViewsOptions {
  readonly buckets: SharedBuckets;
  readonly counters: RedisCounters;
  readonly stored: StoredCounters;
  readonly reader: StoredReader;
  /** Longest time to wait for one bucket, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether a window began since this process counts, so that Redis has all of its buckets. */
  readonly isComplete: (bucket: SharedBucket, span: Span) => boolean;
  /** Whether Redis is away. */
  readonly isAway: () => boolean;
  /** Called when Redis failed. */
  readonly lose: (error: unknown) => void;
}

/** What counters hold, for those who show it. */
export class Views {
  readonly #options: ViewsOptions;

  constructor(options: ViewsOptions) {
    this.#options = options;
  }

  /** A bucket in the window of now. */
  async read(limit: Limit, name: string): Promise<BucketState> {
    const { buckets, counters, reader, timeoutMs, isAway, isComplete } = this.#options;
    const bucket = await buckets.get(limit, name);
    const span = spanOf(limit.window, counters.time.now());
    const [use] = await this.#readShared([keysOf(bucket, span)], timeoutMs);
    if (use) return { ...use, span };
    if (!isAway() && isComplete(bucket, span)) return { used: 0, reserved: 0, span };
    const { used } = await reader.read(bucket, span).catch(() => ({ used: 0 }));
    return { ...this.#asKnown(bucket, span, used), span };
  }

  /** Buckets of a limit in the window of now: those that are stored, and those that this process used meanwhile. */
  async list(limit: Limit): Promise<[bucket: string, state: BucketState][]> {
    const { organisationId, id: limitId } = limit;
    const { buckets, counters, stored } = this.#options;
    const span = spanOf(limit.window, counters.time.now());
    const windowStart = startOf(span);
    const rows = await stored.list({ organisationId, limitId, windowStart });
    const used = new Map(rows.map((row) => [row.bucket, row.used]));
    for (const { limit: of, name, heard } of buckets.all()) {
      const isOfLimit = of.id === limitId && of.organisationId === organisationId;
      if (isOfLimit && heard?.start === windowStart && !used.has(name)) used.set(name, 0);
    }
    const names = [...used.keys()];
    const found: [string, BucketState][] = [];
    for (let from = 0; from < names.length; from += batchSize) {
      const batch: SharedBucket[] = [];
      for (const name of names.slice(from, from + batchSize)) batch.push(await buckets.get(limit, name));
      const uses = await this.#readShared(
        batch.map((bucket) => keysOf(bucket, span)),
        listWithinMs,
      );
      for (const [index, bucket] of batch.entries()) {
        const use = uses[index] ?? this.#asKnown(bucket, span, used.get(bucket.name) ?? 0);
        found.push([bucket.name, { ...use, span }]);
      }
    }
    return found;
  }

  /** States in Redis; none while it is away. */
  async #readShared(keys: readonly BucketKeys[], withinMs: number): Promise<(SharedUse | undefined)[]> {
    const { counters, isAway, lose } = this.#options;
    if (isAway()) return [];
    try {
      return await counters.read(keys, withinMs);
    } catch (error) {
      lose(error);
      return [];
    }
  }

  /** What a bucket holds that Redis did not show: what is stored, and while Redis is away what was heard of it last. */
  #asKnown({ heard }: SharedBucket, span: Span, stored: number): SharedUse {
    if (!this.#options.isAway() || heard?.start !== startOf(span)) return { used: stored, reserved: 0 };
    return { used: Math.max(stored, heard.used), reserved: heard.reserved };
  }
}
