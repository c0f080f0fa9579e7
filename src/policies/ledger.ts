import type { LimitIncrement } from "../schemas/logs.ts";
import {
  type BucketState,
  type Claim,
  type Counted,
  type Limit,
  type LimitStore,
  type LimitUseObserver,
  maxBuckets,
  overflowBucket,
  type Refusal,
  type Reservation,
  toIncrement,
} from "./limit-store.ts";
import { type Span, spanOf, startOf } from "./windows.ts";

interface Bucket {
  readonly name: string;
  used: number;
  reserved: number;
  span: Span;
  /** What was used already when the window began here. */
  usedBefore: number;
}

/** One booked claim. */
interface Booking {
  readonly claim: Claim;
  readonly bucket: Bucket;
  readonly reserved: number;
  /** Begin of the window it was booked in. */
  readonly start: number;
}

const toState = ({ used, reserved, span }: Bucket): BucketState => ({ used, reserved, span });

/** Settings of a ledger. */
export interface LedgerOptions {
  /** Unix milliseconds. */
  now: () => number;
  onUsed?: LimitUseObserver | undefined;
  /** What is used of a bucket already when one of its windows begins here. Default: nothing. */
  usedBefore?: ((limit: Limit, bucket: string, span: Span) => number) | undefined;
  /** How much of a limit may be used here, if so much was used of the bucket before. Default: the whole limit. */
  mostHere?: ((most: number, usedBefore: number) => number) | undefined;
}

/** Buckets of all limits, in memory: the store of a process that shares its counters with no other. */
export class Ledger implements LimitStore {
  readonly #limits = new Map<string, Map<string, Bucket>>();
  readonly #now: () => number;
  readonly #onUsed: LimitUseObserver | undefined;
  readonly #usedBefore: NonNullable<LedgerOptions["usedBefore"]>;
  readonly #mostHere: NonNullable<LedgerOptions["mostHere"]>;
  /** The latest time that was seen: a clock that goes back reopens no window. */
  #latest: number;
  /** Counters of an earlier process by limit, bucket and begin of the window, until the bucket is needed. */
  readonly #stored = new Map<string, Map<string, Map<number, number>>>();

  constructor({ now, onUsed, usedBefore = () => 0, mostHere = (most) => most }: LedgerOptions) {
    this.#now = now;
    this.#onUsed = onUsed;
    this.#usedBefore = usedBefore;
    this.#mostHere = mostHere;
    this.#latest = now();
  }

  #time(): number {
    this.#latest = Math.max(this.#latest, this.#now());
    return this.#latest;
  }

  /** The bucket of a claim in the window of now. */
  #bucketOf({ limit, bucket: name }: Pick<Claim, "limit" | "bucket">, time: number): Bucket {
    let buckets = this.#limits.get(limit.id);
    if (!buckets) {
      buckets = new Map();
      this.#limits.set(limit.id, buckets);
    }
    let bucket = buckets.get(name);
    if (!bucket && buckets.size >= maxBuckets) {
      this.#dropEnded(buckets, time);
      if (buckets.size >= maxBuckets) {
        if (name !== overflowBucket) return this.#bucketOf({ limit, bucket: overflowBucket }, time);
      }
    }
    if (!bucket) {
      const span = spanOf(limit.window, time);
      const stored = this.#stored.get(limit.id);
      const usedBefore = this.#usedBefore(limit, name, span);
      bucket = { name, used: stored?.get(name)?.get(startOf(span)) ?? usedBefore, reserved: 0, span, usedBefore };
      stored?.delete(name);
      buckets.set(name, bucket);
    }
    if (time >= bucket.span.end) {
      bucket.span = spanOf(limit.window, time);
      bucket.usedBefore = this.#usedBefore(limit, name, bucket.span);
      bucket.used = bucket.usedBefore;
      bucket.reserved = 0;
    }
    return bucket;
  }

  /** Takes over the counters of an earlier process. Call it before the first request. */
  restore(counters: Iterable<Omit<LimitIncrement, "windowEnd">>): void {
    for (const { limitId, bucket, windowStart, used } of counters) {
      const ofLimit = this.#stored.get(limitId) ?? new Map<string, Map<number, number>>();
      this.#stored.set(limitId, ofLimit);
      const ofBucket = ofLimit.get(bucket) ?? new Map<number, number>();
      ofLimit.set(bucket, ofBucket.set(windowStart, used));
    }
  }

  /** Forgets buckets whose window is over. */
  #dropEnded(buckets: Map<string, Bucket>, time: number): void {
    for (const [name, { span }] of buckets) if (time >= span.end) buckets.delete(name);
  }

  reserve(claims: readonly Claim[]): Reservation | Refusal {
    const time = this.#time();
    const bookings: Booking[] = [];
    for (const claim of claims) {
      const bucket = this.#bucketOf(claim, time);
      const left = this.#mostHere(claim.limit.most, bucket.usedBefore) - bucket.used - bucket.reserved;
      // a bucket that is used up admits nothing, not even what needs nothing of it
      if (left <= 0 || claim.least > left) {
        const { name, used, span } = bucket;
        if (used >= claim.limit.most) {
          this.#onUsed?.({ limit: claim.limit, bucket: name, span, before: used, after: used });
        }
        return { claim, resetsAt: span.end };
      }
      const reserved = claim.least + Math.min(claim.beyond, left - claim.least);
      bookings.push({ claim, bucket, reserved, start: bucket.span.start });
    }
    for (const { bucket, reserved } of bookings) bucket.reserved += reserved;
    return this.#toReservation(bookings);
  }

  #toReservation(bookings: readonly Booking[]): Reservation {
    let isOpen = true;
    const close = (used: Readonly<Record<Counted, number>> | undefined): LimitIncrement[] => {
      if (!isOpen) return [];
      isOpen = false;
      const time = this.#time();
      return bookings.flatMap((booking) => this.#close(booking, used?.[booking.claim.limit.counts] ?? 0, time));
    };
    const states = bookings.map(({ bucket }) => toState(bucket));
    return { states, settle: close, release: () => void close(undefined) };
  }

  #close({ claim, bucket, reserved, start }: Booking, used: number, time: number): LimitIncrement[] {
    const current = this.#bucketOf(claim, time);
    const isSameWindow = current === bucket && current.span.start === start;
    if (isSameWindow) current.reserved -= reserved;
    // a request belongs to the window it came in, tokens and money to the one in which they are known
    if (used === 0 || (!isSameWindow && claim.limit.counts === "requests")) return [];
    return [this.#use(claim.limit, current, used)];
  }

  /** Counts a use in a bucket. */
  #use(limit: Limit, bucket: Bucket, used: number): LimitIncrement {
    const before = bucket.used;
    bucket.used += used;
    const { name, span } = bucket;
    this.#onUsed?.({ limit, bucket: name, span, before, after: bucket.used });
    return toIncrement(limit, name, span, used);
  }

  add(limit: Limit, bucket: string, used: number): LimitIncrement | undefined {
    if (used === 0) return undefined;
    return this.#use(limit, this.#bucketOf({ limit, bucket }, this.#time()), used);
  }

  /** What a bucket holds in the window of now. Undefined where it holds nothing. */
  #find(limit: Limit, bucket: string): BucketState | undefined {
    const time = this.#time();
    const found = this.#limits.get(limit.id)?.get(bucket);
    if (found) return time < found.span.end ? toState(found) : undefined;
    const span = spanOf(limit.window, time);
    const used = this.#stored.get(limit.id)?.get(bucket)?.get(startOf(span));
    return used === undefined ? undefined : { used, reserved: 0, span };
  }

  read(limit: Limit, bucket: string): BucketState {
    return this.#find(limit, bucket) ?? { used: 0, reserved: 0, span: spanOf(limit.window, this.#time()) };
  }

  reset(limit: Limit, bucket: string): LimitIncrement | undefined {
    const state = this.#find(limit, bucket);
    if (!state || state.used === 0) return undefined;
    const current = this.#bucketOf({ limit, bucket }, this.#time());
    current.used = 0;
    current.usedBefore = 0;
    return toIncrement(limit, bucket, state.span, -state.used);
  }

  async close(): Promise<void> {
    // it has nothing in the background
  }

  list(limit: Limit): [bucket: string, state: BucketState][] {
    const names = new Set([
      ...(this.#limits.get(limit.id)?.keys() ?? []),
      ...(this.#stored.get(limit.id)?.keys() ?? []),
    ]);
    return [...names].flatMap((name): [string, BucketState][] => {
      const state = this.#find(limit, name);
      return state ? [[name, state]] : [];
    });
  }
}
