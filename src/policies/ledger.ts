import type { CorrectedCounter, LimitIncrement } from "../schemas/logs.ts";
import {
  amountOf,
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
  reportRefusal,
  toIncrement,
} from "./limit-store.ts";
import { type Span, spanOf, startOf } from "./windows.ts";

interface Bucket {
  /** Its own, or that of the bucket which values beyond the bound share. */
  readonly name: string;
  used: number;
  reserved: number;
  span: Span;
  /** What was used already when the window began here. */
  usedBefore: number;
  /** Grows with each window that begins with nothing used. Less than 0 once the bucket was forgotten. */
  turn: number;
  /** The window before this one: a clock that is put back may return to it. */
  former: { readonly start: number; readonly used: number } | undefined;
  /** What stored counters gain because a corrected clock moved the bucket to another window. */
  owed: LimitIncrement[] | undefined;
}

/** Use of windows by their begin. */
type UseByStart = Map<number, number>;

/** A counter as an earlier process left it. */
interface FormerCounter extends Omit<LimitIncrement, "windowEnd" | "lease"> {
  readonly organisationId: string;
  /** What re-priced rows have added to it. Absent: nothing. */
  readonly corrected?: number;
}

type CounterName = Omit<FormerCounter, "used" | "corrected">;

const correctedName = ({ organisationId, limitId, bucket, windowStart }: CounterName): string =>
  JSON.stringify([organisationId, limitId, bucket, windowStart]);

/** Which limit of which organisation. */
type LimitName = Pick<Limit, "id" | "organisationId">;

const lastStart = (counted: UseByStart): number => Math.max(...counted.keys());

/** The buckets of one limit. */
interface Buckets {
  readonly live: Map<string, Bucket>;
  /** Counters of an earlier process, until their bucket is needed. */
  readonly stored: Map<string, UseByStart>;
  /** No bucket ends before this time. */
  endsFrom: number;
}

/** One booked claim. */
interface Booking {
  readonly claim: Claim;
  readonly bucket: Bucket;
  readonly reserved: number;
  /** Turn of the bucket in which it was booked. */
  readonly turn: number;
}

const toState = ({ used, reserved, span }: Bucket): BucketState => ({ used, reserved, span });

/** Adds what was used of a window that has not begun to the current one, and makes stored counters follow. */
function move(bucket: Bucket, limit: Limit, from: Span, used: number): void {
  bucket.used += used;
  // what was used before is stored by others
  const own = used - bucket.usedBefore;
  if (own === 0) return;
  const { name, span } = bucket;
  bucket.owed ??= [];
  bucket.owed.push(toIncrement(limit, name, from, -own), toIncrement(limit, name, span, own));
}

function forgetEnded(live: Map<string, Bucket>, time: number): void {
  for (const [name, bucket] of live) {
    if (time < bucket.span.end) continue;
    bucket.turn = -1;
    live.delete(name);
  }
}

/** Replaces what is booked by what was used; undefined gives it back. Returns what the counters gain. */
type EndBookings = (
  bookings: readonly Booking[],
  used: Readonly<Record<Counted, number>> | undefined,
) => LimitIncrement[];

const noBookings: readonly Booking[] = [];

/** What a request has booked. */
export class Booked implements Reservation {
  readonly states: readonly BucketState[];
  /** Empty once it has ended. */
  #bookings: readonly Booking[];
  readonly #end: EndBookings;

  constructor(bookings: readonly Booking[], end: EndBookings) {
    this.#bookings = bookings;
    this.#end = end;
    const states: BucketState[] = [];
    for (const { bucket } of bookings) states.push(toState(bucket));
    this.states = states;
  }

  /** Names of the buckets that it counts in, in the order of the claims. */
  get buckets(): string[] {
    return this.#bookings.map(({ bucket }) => bucket.name);
  }

  settle(used: Readonly<Record<Counted, number>>): LimitIncrement[] {
    return this.#close(used);
  }

  release(): void {
    this.#close(undefined);
  }

  #close(used: Readonly<Record<Counted, number>> | undefined): LimitIncrement[] {
    const bookings = this.#bookings;
    if (bookings.length === 0) return [];
    this.#bookings = noBookings;
    return this.#end(bookings, used);
  }
}

/** Settings of a ledger. */
export interface LedgerOptions {
  /** Unix milliseconds. It may go back only where the clock of the machine was corrected. */
  now: () => number;
  onUsed?: LimitUseObserver | undefined;
  /** What is used of a bucket already when one of its windows begins here. Default: nothing. */
  usedBefore?: ((limit: Limit, bucket: string, span: Span) => number) | undefined;
  /** How much of a limit may be used here, if so much was used of the bucket before. Default: the whole limit. */
  mostHere?: ((most: number, usedBefore: number) => number) | undefined;
}

/** Limits from which on those without a live bucket are forgotten. */
const manyLimits = 1_000;

/** Buckets of all limits, in memory: the store of a process that shares its counters with no other. */
export class Ledger implements LimitStore {
  /** By organisation and limit: the ids in claims of tokens are those that their issuers chose. */
  readonly #limits = new Map<string, Map<string, Buckets>>();
  /** The same by the objects that requests bring: those of a record are the same until it changes. */
  #byObject = new WeakMap<Limit, Buckets>();
  #limitCount = 0;
  readonly #now: () => number;
  readonly #onUsed: LimitUseObserver | undefined;
  readonly #usedBefore: NonNullable<LedgerOptions["usedBefore"]>;
  readonly #mostHere: NonNullable<LedgerOptions["mostHere"]>;
  /** What re-priced rows have added to counters so far, where they did. */
  #corrected = new Map<string, number>();
  /** Number of limits at which ended buckets are forgotten. */
  #sweepAt = manyLimits;

  constructor({ now, onUsed, usedBefore = () => 0, mostHere = (most) => most }: LedgerOptions) {
    this.#now = now;
    this.#onUsed = onUsed;
    this.#usedBefore = usedBefore;
    this.#mostHere = mostHere;
  }

  #known({ organisationId, id }: LimitName): Buckets | undefined {
    return this.#limits.get(organisationId)?.get(id);
  }

  /** The buckets of a limit, now that a claim of it came. */
  #claimed(limit: Limit, time: number): Buckets {
    const known = this.#byObject.get(limit);
    if (known) return known;
    if (!this.#known(limit)) this.#sweep(time);
    const buckets = this.#bucketsOf(limit);
    this.#byObject.set(limit, buckets);
    return buckets;
  }

  #bucketsOf(limit: LimitName): Buckets {
    const found = this.#known(limit);
    if (found) return found;
    const made: Buckets = { live: new Map(), stored: new Map(), endsFrom: 0 };
    const ofOrganisation = this.#limits.get(limit.organisationId) ?? new Map<string, Buckets>();
    this.#limits.set(limit.organisationId, ofOrganisation.set(limit.id, made));
    this.#limitCount++;
    return made;
  }

  /** The bucket of a claim in the window of now. */
  #bucketOf({ limit, bucket: name }: Pick<Claim, "limit" | "bucket">, time: number): Bucket {
    const buckets = this.#claimed(limit, time);
    const { live, stored } = buckets;
    const found = live.get(name);
    if (found) {
      this.#bring(found, limit, time);
      return found;
    }
    const counted = stored.get(name);
    if (!counted && name !== overflowBucket && isFull(buckets, limit, time)) {
      return this.#bucketOf({ limit, bucket: overflowBucket }, time);
    }
    stored.delete(name);
    const bucket = this.#open(limit, name, counted, time);
    live.set(name, bucket);
    return bucket;
  }

  /** A bucket with what an earlier process counted. If its clock was ahead, the bucket goes on where that one was. */
  #open(limit: Limit, name: string, counted: UseByStart | undefined, time: number): Bucket {
    const span = spanOf(limit.window, time);
    const usedBefore = this.#usedBefore(limit, name, span);
    const used = counted?.get(startOf(span)) ?? usedBefore;
    const bucket: Bucket = { name, used, reserved: 0, span, usedBefore, turn: 0, former: undefined, owed: undefined };
    const last = counted ? lastStart(counted) : 0;
    if (last > startOf(span)) move(bucket, limit, spanOf(limit.window, last), counted?.get(last) ?? 0);
    return bucket;
  }

  /**
   * Brings a bucket to the window of a time. In a later window nothing is used yet. If the clock was put back, the bucket
   * goes on in the earlier window with everything it holds: no window opens twice, and none stays closed beyond its end.
   */
  #bring(bucket: Bucket, limit: Limit, time: number): void {
    const { span, used, former } = bucket;
    if (time < span.end && time >= span.start) return;
    bucket.span = spanOf(limit.window, time);
    if (time >= span.end) {
      bucket.former = { start: span.start, used };
      bucket.usedBefore = this.#usedBefore(limit, bucket.name, bucket.span);
      bucket.used = bucket.usedBefore;
      bucket.reserved = 0;
      bucket.turn++;
      return;
    }
    bucket.former = undefined;
    bucket.used = former?.start === bucket.span.start ? former.used : 0;
    move(bucket, limit, span, used);
  }

  /** Forgets ended buckets of all limits when there are many: limits end with their records, and periods are limits. */
  #sweep(time: number): void {
    if (this.#limitCount < this.#sweepAt) return;
    this.#limitCount = 0;
    this.#byObject = new WeakMap();
    for (const [organisationId, limits] of this.#limits) {
      for (const [id, { live, stored }] of limits) {
        forgetEnded(live, time);
        if (live.size === 0 && stored.size === 0) limits.delete(id);
      }
      if (limits.size === 0) this.#limits.delete(organisationId);
      this.#limitCount += limits.size;
    }
    this.#sweepAt = Math.max(manyLimits, 2 * this.#limitCount);
  }

  /** Takes over the counters of an earlier process. Call it before the first request. */
  restore(counters: Iterable<FormerCounter>): void {
    for (const counter of counters) {
      const { organisationId, limitId, bucket, windowStart, used, corrected = 0 } = counter;
      const { stored } = this.#bucketsOf({ organisationId, id: limitId });
      const counted: UseByStart = stored.get(bucket) ?? new Map();
      stored.set(bucket, counted.set(windowStart, used));
      if (corrected !== 0) this.#corrected.set(correctedName(counter), corrected);
    }
  }

  follow(counters: readonly CorrectedCounter[]): void {
    const seen = this.#corrected;
    this.#corrected = new Map();
    for (const counter of counters) {
      const name = correctedName(counter);
      this.#corrected.set(name, counter.corrected);
      this.#correct(counter, counter.corrected - (seen.get(name) ?? 0));
    }
  }

  /** Changes what was used in a window, if it is not over. */
  #correct({ organisationId, limitId, bucket: name, windowStart }: CounterName, difference: number): void {
    if (difference === 0) return;
    const { live, stored } = this.#bucketsOf({ organisationId, id: limitId });
    const correct = (used: number) => Math.max(0, used + difference);
    const bucket = live.get(name);
    if (!bucket) {
      const counted: UseByStart = stored.get(name) ?? new Map();
      stored.set(name, counted.set(windowStart, correct(counted.get(windowStart) ?? 0)));
    } else if (startOf(bucket.span) === windowStart) {
      bucket.used = correct(bucket.used);
    } else if (bucket.former?.start === windowStart) {
      bucket.former = { start: windowStart, used: correct(bucket.former.used) };
    }
  }

  reserve(claims: readonly Claim[]): Booked | Refusal {
    const time = this.#now();
    const bookings: Booking[] = [];
    for (const claim of claims) {
      const bucket = this.#bucketOf(claim, time);
      const left = this.#mostHere(claim.limit.most, bucket.usedBefore) - bucket.used - bucket.reserved;
      // a bucket that is used up admits nothing, not even what needs nothing of it
      if (left <= 0 || claim.least > left) {
        const { name, used, span } = bucket;
        reportRefusal(claim, { bucket: name, span, used }, this.#onUsed);
        return { claim, resetsAt: span.end };
      }
      bookings.push({ claim, bucket, reserved: amountOf(claim), turn: bucket.turn });
    }
    for (const { bucket, reserved } of bookings) bucket.reserved += reserved;
    return new Booked(bookings, this.#end);
  }

  /** Books claims that another ledger had booked before it ended, whatever is left. */
  takeOver(claims: readonly Claim[]): Booked {
    const time = this.#now();
    const bookings = claims.map((claim): Booking => {
      const bucket = this.#bucketOf(claim, time);
      bucket.reserved += amountOf(claim);
      return { claim, bucket, reserved: amountOf(claim), turn: bucket.turn };
    });
    return new Booked(bookings, this.#end);
  }

  /**
   * Counts what was used already, in the window that is stored with it.
   *
   * @param windowStart Unix milliseconds, as it is stored.
   */
  count({ limit, bucket }: Pick<Claim, "limit" | "bucket">, windowStart: number, used: number): void {
    const current = this.#bucketOf({ limit, bucket }, this.#now());
    if (startOf(current.span) === windowStart) this.#use(limit, current, used);
    else this.gain(limit.organisationId, [{ limitId: limit.id, bucket, windowStart, used }]);
  }

  /** Counts what rows have used that another process wrote. */
  gain(organisationId: string, increments: readonly (Omit<CounterName, "organisationId"> & { used: number })[]): void {
    for (const { used, ...increment } of increments) {
      this.#correct({ ...increment, organisationId }, used);
    }
  }

  readonly #end: EndBookings = (bookings, used) => {
    const settled = { time: this.#now(), gains: [] };
    for (const booking of bookings) this.#close(booking, used?.[booking.claim.limit.counts], settled);
    return settled.gains;
  };

  /**
   * Ends a booking.
   *
   * @param used Undefined where the reservation is given back.
   * @param gains Receives what counters gain.
   */
  #close(
    { claim, bucket, reserved, turn }: Booking,
    used: number | undefined,
    { time, gains }: { time: number; gains: LimitIncrement[] },
  ): void {
    const { limit } = claim;
    const isCurrent = bucket.turn === turn && time < bucket.span.end && time >= bucket.span.start;
    const current = isCurrent ? bucket : this.#bucketOf(claim, time);
    const isSameWindow = current === bucket && current.turn === turn;
    if (isSameWindow) current.reserved -= reserved;
    if (used === undefined) return;
    if (current.owed) gains.push(...current.owed);
    current.owed = undefined;
    // a request belongs to the window it came in, tokens and money to the one in which they are known
    if (used === 0 || (!isSameWindow && limit.counts === "requests")) return;
    gains.push(this.#use(limit, current, used));
  }

  /** Counts a use in a bucket. */
  #use(limit: Limit, bucket: Bucket, used: number): LimitIncrement {
    const { name, span, used: before } = bucket;
    bucket.used += used;
    this.#onUsed?.({ limit, bucket: name, span, before, after: bucket.used });
    return toIncrement(limit, name, span, used);
  }

  add(limit: Limit, bucket: string, used: number): LimitIncrement | undefined {
    if (used === 0) return undefined;
    return this.#use(limit, this.#bucketOf({ limit, bucket }, this.#now()), used);
  }

  /** What a bucket holds in the window of now. Undefined where nothing was counted in it. */
  #find(limit: Limit, name: string): BucketState | undefined {
    const buckets = this.#known(limit);
    const time = this.#now();
    const found = buckets?.live.get(name);
    if (found && time >= found.span.end) return undefined;
    if (found) this.#bring(found, limit, time);
    const counted = buckets?.stored.get(name);
    const isCounted = counted && lastStart(counted) >= startOf(spanOf(limit.window, time));
    const bucket = found ?? (isCounted ? this.#open(limit, name, counted, time) : undefined);
    return bucket && toState(bucket);
  }

  read(limit: Limit, bucket: string): BucketState {
    return this.#find(limit, bucket) ?? { used: 0, reserved: 0, span: spanOf(limit.window, this.#now()) };
  }

  reset(limit: Limit, bucket: string): LimitIncrement | undefined {
    const state = this.#find(limit, bucket);
    if (!state || state.used === 0) return undefined;
    const current = this.#bucketOf({ limit, bucket }, this.#now());
    current.used = 0;
    current.usedBefore = 0;
    return toIncrement(limit, bucket, state.span, -state.used);
  }

  async close(): Promise<void> {
    // it has nothing in the background
  }

  list(limit: Limit): [bucket: string, state: BucketState][] {
    const buckets = this.#known(limit);
    const names = new Set([...(buckets?.live.keys() ?? []), ...(buckets?.stored.keys() ?? [])]);
    return [...names].flatMap((name): [string, BucketState][] => {
      const state = this.#find(limit, name);
      return state ? [[name, state]] : [];
    });
  }
}

/** Whether a limit has as many buckets as it may. Those that ended are forgotten first, once in each window. */
function isFull(buckets: Buckets, { window }: Limit, time: number): boolean {
  const { live, stored } = buckets;
  if (live.size + stored.size < maxBuckets) return false;
  if (time < buckets.endsFrom) return true;
  const span = spanOf(window, time);
  forgetEnded(live, time);
  for (const [name, counted] of stored) if (lastStart(counted) < startOf(span)) stored.delete(name);
  buckets.endsFrom = span.end;
  return live.size + stored.size >= maxBuckets;
}
