import type { Clock } from "../../lib/clock.ts";
import type { LimitIncrement } from "../../schemas/logs.ts";
import { type Claim, type Counted, type LimitUseObserver, toIncrement } from "../limit-store.ts";
import { type Span, spanOf, startOf } from "../windows.ts";
import { keepUntil, keysOf, type SharedBucket } from "./buckets.ts";
import type { RedisCounters, SharedSettlement } from "./counters.ts";
import { Unsent } from "./unsent.ts";

/** One booked claim. */
export interface Booking {
  readonly claim: Claim;
  readonly bucket: SharedBucket;
  /** The window it was booked in. */
  readonly span: Span;
  /** `<id>:<amount>`, or `<id>:` where the amount was not learnt. */
  readonly member: string;
  /** What is reserved. */
  readonly amount: number;
}

/** A booking, the window of now and what it counts there. */
interface Settled {
  readonly booking: Booking;
  readonly span: Span;
  readonly used: number;
}

/** Settings of settling. */
interface SettlingOptions {
  readonly counters: RedisCounters;
  readonly clock: Clock;
  readonly onUsed: LimitUseObserver | undefined;
  /** Whether Redis is away. */
  readonly isAway: () => boolean;
  /** Called when Redis failed. */
  readonly lose: (error: unknown) => void;
}

/** Settles in Redis what was booked there. Nobody waits for it: what fails is given back when Redis is there again. */
export class Settling {
  readonly #options: SettlingOptions;
  readonly unsent = new Unsent();
  /** Settlements under way. */
  readonly #sending = new Set<Promise<void>>();

  constructor(options: SettlingOptions) {
    this.#options = options;
  }

  /**
   * Replaces what was booked by what was used.
   *
   * @param used Undefined: nothing was used.
   * @returns What the stored counters gain.
   */
  settle(bookings: readonly Booking[], used: Readonly<Record<Counted, number>> | undefined): LimitIncrement[] {
    const now = this.#options.counters.time.now();
    const settled = bookings.map((booking): Settled => {
      const { limit } = booking.claim;
      const span = spanOf(limit.window, now);
      // a request belongs to the window it came in, tokens and money to the one in which they are known
      const isElsewhere = limit.counts === "requests" && span.start !== booking.span.start;
      return { booking, span, used: isElsewhere ? 0 : (used?.[limit.counts] ?? 0) };
    });
    for (const { booking } of settled) booking.bucket.touchedAt = this.#options.clock.monotonic();
    this.#send(settled);
    return settled.flatMap(({ booking: { claim, bucket }, span, used: counted }) =>
      counted === 0 ? [] : [toIncrement(claim.limit, bucket.name, span, counted)],
    );
  }

  /** Gives back what may be booked: Redis was asked and did not reply. */
  giveBack(bookings: readonly Booking[]): void {
    this.unsent.giveBack(bookings.map((booking) => this.#toSettlement({ booking, span: booking.span, used: 0 })));
  }

  /** Resolves when nothing is under way. */
  async finish(): Promise<void> {
    await Promise.all(this.#sending);
  }

  #toSettlement({ booking: { bucket, member, span: booked }, span, used }: Settled): SharedSettlement {
    const now = this.#options.counters.time.now();
    return {
      keys: keysOf(bucket, booked),
      member,
      counting: keysOf(bucket, span).bucket,
      used,
      keepUntil: keepUntil(booked, now, 0),
      keepCounting: keepUntil(span, now, 0),
    };
  }

  #send(settled: readonly Settled[]): void {
    const { counters, isAway, lose } = this.#options;
    const settlements = settled.map((one) => this.#toSettlement(one));
    const keep = () => {
      this.unsent.giveBack(settlements);
      for (const one of settled) this.#note(one, this.#expect(one));
    };
    if (isAway()) {
      keep();
      return;
    }
    const sending = counters.settle(settlements).then(
      (replies) => {
        for (const [index, one] of settled.entries()) this.#note(one, replies[index]);
      },
      (error) => {
        keep();
        lose(error);
      },
    );
    this.#sending.add(sending);
    sending.finally(() => this.#sending.delete(sending));
  }

  /** Use before and after, as far as it is known here. */
  #expect({ booking: { bucket }, span, used }: Settled): { before: number; after: number } {
    const before = bucket.heard?.start === startOf(span) ? bucket.heard.used : 0;
    return { before, after: before + used };
  }

  /** Notes and reports what was counted; undefined where nothing was, as Redis has lost the reservation. */
  #note({ booking, span, used }: Settled, counted: { before: number; after: number } | undefined): void {
    const { bucket, claim, amount } = booking;
    const { heard } = bucket;
    if (heard?.start === startOf(booking.span)) {
      bucket.heard = { ...heard, reserved: Math.max(0, heard.reserved - amount) };
    }
    if (used === 0 || !counted) return;
    const { before, after } = counted;
    const start = startOf(span);
    const reserved = bucket.heard?.start === start ? bucket.heard.reserved : 0;
    bucket.heard = { start, used: after, reserved };
    this.#options.onUsed?.({ limit: claim.limit, bucket: bucket.name, span, before, after });
  }
}
