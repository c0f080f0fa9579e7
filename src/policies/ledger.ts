import type { LimitIncrement } from "../schemas/logs.ts";
import { type Span, spanOf, type Window } from "./windows.ts";

/** What a limit counts. Cost is whole nano-dollars. */
export type Counted = "requests" | "tokens" | "cost";

/** A bound on what is used within a window. */
export interface Limit {
  /** The same for the life of the limit: the id of a policy, or of the record that has the limit. */
  readonly id: string;
  readonly counts: Counted;
  readonly most: number;
  readonly window: Window;
}

/** What a request asks of one limit before it is made. */
export interface Claim {
  readonly limit: Limit;
  /** Which bucket of the limit it counts in. */
  readonly bucket: string;
  /** What it takes at least: 1 request, or the estimated prompt. */
  readonly least: number;
  /** What it may take beyond that, as far as there is room: the estimated output. 0 for requests. */
  readonly beyond: number;
}

/** A claim that found no room. */
interface Refusal {
  readonly claim: Claim;
  /** Unix milliseconds at which the window ends; infinite where it never does. */
  readonly resetsAt: number;
}

/** State of one bucket. */
interface BucketState {
  readonly used: number;
  readonly reserved: number;
  readonly span: Span;
}

interface Bucket {
  used: number;
  reserved: number;
  span: Span;
}

/** One booked claim. */
interface Booking {
  readonly claim: Claim;
  readonly bucket: Bucket;
  readonly reserved: number;
  /** Begin of the window it was booked in. */
  readonly start: number;
}

/** What a request has reserved. It is settled once. */
export interface Reservation {
  /** Replaces what was reserved by what was used. Later calls change and return nothing. */
  settle(used: Readonly<Record<Counted, number>>): LimitIncrement[];
  /** Gives back what was reserved: nothing was used. */
  release(): void;
}

/** Most live buckets of one limit. Further values share one more bucket. */
export const maxBuckets = 10_000;

/** Name of the bucket that values beyond `maxBuckets` share. */
export const overflowBucket = "*";

const startOf = ({ start }: Span): number => (Number.isFinite(start) ? start : 0);

/** Buckets of all limits, in memory. Each call is one step: nothing comes between a check and its booking. */
export class Ledger {
  readonly #limits = new Map<string, Map<string, Bucket>>();
  readonly #now: () => number;
  /** The latest time that was seen: a clock that goes back reopens no window. */
  #latest: number;
  /** Counters of an earlier process by limit, bucket and begin of the window, until the bucket is needed. */
  readonly #stored = new Map<string, Map<string, Map<number, number>>>();

  /** @param now Unix milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
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
      bucket = { used: stored?.get(name)?.get(startOf(span)) ?? 0, reserved: 0, span };
      stored?.delete(name);
      buckets.set(name, bucket);
    }
    if (time >= bucket.span.end) {
      bucket.span = spanOf(limit.window, time);
      bucket.used = 0;
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

  /**
   * Books all claims or none.
   *
   * @returns The reservation, or the first claim without room.
   */
  reserve(claims: readonly Claim[]): Reservation | Refusal {
    const time = this.#time();
    const bookings: Booking[] = [];
    for (const claim of claims) {
      const bucket = this.#bucketOf(claim, time);
      const left = claim.limit.most - bucket.used - bucket.reserved;
      // a bucket that is used up admits nothing, not even what needs nothing of it
      if (left <= 0 || claim.least > left) return { claim, resetsAt: bucket.span.end };
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
    return { settle: close, release: () => void close(undefined) };
  }

  #close({ claim, bucket, reserved, start }: Booking, used: number, time: number): LimitIncrement[] {
    const current = this.#bucketOf(claim, time);
    const isSameWindow = current === bucket && current.span.start === start;
    if (isSameWindow) current.reserved -= reserved;
    // a request belongs to the window it came in, tokens and money to the one in which they are known
    if (used === 0 || (!isSameWindow && claim.limit.counts === "requests")) return [];
    current.used += used;
    const { start: windowStart, end } = current.span;
    const { limit, bucket: name } = claim;
    const windowEnd = Number.isFinite(end) ? end : null;
    return [{ limitId: limit.id, bucket: name, windowStart: startOf({ start: windowStart, end }), windowEnd, used }];
  }

  /** What a bucket holds in the window of now. Undefined where it holds nothing. */
  stateOf(limit: Limit, bucket: string): BucketState | undefined {
    const time = this.#time();
    const found = this.#limits.get(limit.id)?.get(bucket);
    if (found) return time < found.span.end ? { ...found } : undefined;
    const span = spanOf(limit.window, time);
    const used = this.#stored.get(limit.id)?.get(bucket)?.get(startOf(span));
    return used === undefined ? undefined : { used, reserved: 0, span };
  }

  /** Buckets of a limit in the window of now. */
  list(limit: Limit): [bucket: string, state: BucketState][] {
    const names = new Set([
      ...(this.#limits.get(limit.id)?.keys() ?? []),
      ...(this.#stored.get(limit.id)?.keys() ?? []),
    ]);
    return [...names].flatMap((name): [string, BucketState][] => {
      const state = this.stateOf(limit, name);
      return state ? [[name, state]] : [];
    });
  }
}
