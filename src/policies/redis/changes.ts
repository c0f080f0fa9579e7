import type { Clock } from "../../lib/clock.ts";
import type { LimitIncrement } from "../../schemas/logs.ts";
import { type Limit, type LimitStore, type LimitUseObserver, toIncrement } from "../limit-store.ts";
import { type Span, spanOf, startOf } from "../windows.ts";
import { keepUntil, keysOf, type SharedBucket, type SharedBuckets } from "./buckets.ts";
import type { RedisCounters, StoredUse } from "./counters.ts";
import type { StoredReader } from "./stored-reader.ts";
import type { Unsent } from "./unsent.ts";

/** Settings of changes. */
interface ChangesOptions {
  readonly buckets: SharedBuckets;
  readonly counters: RedisCounters;
  readonly reader: StoredReader;
  readonly unsent: Unsent;
  readonly clock: Clock;
  readonly onUsed: LimitUseObserver | undefined;
  /** What counts while Redis is away. */
  readonly share: () => LimitStore;
  /** Whether Redis is away. */
  readonly isAway: () => boolean;
  /** Called when Redis failed. */
  readonly lose: (error: unknown) => void;
}

/** A bucket in the window of now, and what is stored of it. */
interface Place extends StoredUse {
  readonly bucket: SharedBucket;
  readonly span: Span;
}

/** Changes of counters by hand. */
export class Changes {
  readonly #options: ChangesOptions;

  constructor(options: ChangesOptions) {
    this.#options = options;
  }

  async #find(limit: Limit, name: string): Promise<Place> {
    const { buckets, counters, reader } = this.#options;
    const bucket = await buckets.get(limit, name);
    const now = counters.time.now();
    const span = spanOf(limit.window, now);
    const stored = await reader.read(bucket, span);
    return { bucket, span, keys: keysOf(bucket, span), ...stored, keepUntil: keepUntil(span, now, 0) };
  }

  /** Runs `change` unless Redis is away; undefined if it is. */
  async #ask<Value>(change: () => Promise<Value>): Promise<{ value: Value } | undefined> {
    const { isAway, lose } = this.#options;
    if (isAway()) return undefined;
    try {
      return { value: await change() };
    } catch (error) {
      lose(error);
      return undefined;
    }
  }

  #note({ bucket, span }: Place, used: number): void {
    const start = startOf(span);
    const reserved = bucket.heard?.start === start ? bucket.heard.reserved : 0;
    bucket.heard = { start, used, reserved };
    bucket.touchedAt = this.#options.clock.monotonic();
  }

  /**
   * Sets a bucket to 0.
   *
   * @throws If the stored counters cannot be read.
   */
  async reset(limit: Limit, name: string): Promise<LimitIncrement | undefined> {
    const { counters, unsent, share } = this.#options;
    const place = await this.#find(limit, name);
    const taken = await this.#ask(() => counters.reset(place, undefined));
    if (!taken) {
      await share().reset(limit, name);
      if (place.used !== 0) unsent.change(place, -place.used);
    }
    this.#note(place, 0);
    const amount = taken ? taken.value : place.used;
    return amount === 0 ? undefined : toIncrement(limit, name, place.span, -amount);
  }

  /**
   * Adds to a bucket.
   *
   * @throws If the stored counters cannot be read.
   */
  async add(limit: Limit, name: string, used: number): Promise<LimitIncrement | undefined> {
    if (used === 0) return undefined;
    const { counters, unsent, share, onUsed } = this.#options;
    const place = await this.#find(limit, name);
    const counted = await this.#ask(() => counters.add(place.keys, used));
    if (!counted) {
      await share().add(limit, name, used);
      unsent.change(place, used);
      this.#note(place, place.used + used);
      return toIncrement(limit, name, place.span, used);
    }
    // a bucket that Redis does not have begins with what is stored
    const { before, after } = counted.value ?? { before: place.used, after: place.used + used };
    this.#note(place, after);
    onUsed?.({ limit, bucket: name, span: place.span, before, after });
    return toIncrement(limit, name, place.span, used);
  }
}
