import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Link } from "../../lib/link.ts";
import type { SteadyLink } from "../../lib/steady-link.ts";
import type { CorrectedCounter, LimitIncrement } from "../../schemas/logs.ts";
import {
  type BucketState,
  type Claim,
  type Counted,
  type Limit,
  type LimitStore,
  type Refusal,
  type Reservation,
  toIncrement,
} from "../limit-store.ts";
import { createLocalShare } from "../local-share.ts";
import { spanOf, startOf } from "../windows.ts";
import { LimitNumbers, type ReserveAnswer, type SentState, type SentUse, toSentClaim, toState } from "./messages.ts";

/** How long a request waits for an owner that is being replaced, in milliseconds. */
const patienceMs = 5_000;
/** When a request may come again that was refused because there is no owner, in milliseconds. */
const askAgainMs = 1_000;
/** Buckets whose last state is remembered. */
const mostRemembered = 10_000;
/** Limits that a connection describes before it begins anew. */
const mostNumbers = 20_000;

/** Settings of limits that another process counts. */
interface OwnedLimitStoreOptions {
  readonly link: SteadyLink;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Processes that count by their share while there is no owner. */
  readonly workers: number;
  /** Without an owner, refuses instead of counting by the share of this process. */
  readonly isStrict: boolean;
}

/** A booking at the owner. */
interface Booking {
  readonly claims: readonly Claim[];
  /** Names of its buckets. */
  readonly buckets: readonly string[];
  readonly states: readonly BucketState[];
}

const nameOf = ({ organisationId, id }: Limit, bucket: string): string => JSON.stringify([organisationId, id, bucket]);

/** Limits that the process counts which owns the log: a reservation is one message to it and its answer. */
export class OwnedLimitStore implements LimitStore {
  readonly #options: OwnedLimitStoreOptions;
  readonly #numbers = new LimitNumbers();
  readonly #open = new Map<number, Booking>();
  readonly #heard = new BoundedMap<string, BucketState>(mostRemembered);
  #serial = 0;

  constructor(options: OwnedLimitStoreOptions) {
    this.#options = options;
    options.link.greet((link) => {
      this.#numbers.clear();
      for (const [id, { claims }] of this.#open) link.tell("limits.takeOver", [id, this.#toSent(link, claims)]);
    });
  }

  async reserve(claims: readonly Claim[]): Promise<Reservation | Refusal> {
    const { link } = this.#options;
    // once more if the owner ended meanwhile
    for (let times = 0; times < 2; times++) {
      const owner = link.current ?? (await link.within(patienceMs));
      if (!owner) break;
      const id = ++this.#serial;
      try {
        const answer = await owner.ask<ReserveAnswer>("limits.reserve", [id, this.#toSent(owner, claims)]);
        if (owner.isClosed) continue;
        return "booked" in answer ? this.#toReservation(id, claims, answer) : this.#toRefusal(claims, answer);
      } catch {
        // it has ended
      }
    }
    return this.#reserveHere(claims);
  }

  #toSent(owner: Link, claims: readonly Claim[]) {
    if (this.#numbers.count > mostNumbers) {
      this.#numbers.clear();
      owner.tell("limits.new", null);
    }
    const describe = (number: number, limit: Limit) => owner.tell("limits.limit", [number, limit]);
    return claims.map((claim) => toSentClaim(claim, this.#numbers.of(claim.limit, describe)));
  }

  #toRefusal(claims: readonly Claim[], answer: Extract<ReserveAnswer, { refused: number }>): Refusal {
    const claim = claims[answer.refused] as Claim; // the owner names one of them
    return { claim, resetsAt: answer.resetsAt ?? Number.POSITIVE_INFINITY, states: answer.states.map(toState) };
  }

  #toReservation(
    id: number,
    claims: readonly Claim[],
    { booked }: Extract<ReserveAnswer, { booked: unknown }>,
  ): Reservation {
    const booking: Booking = {
      claims,
      buckets: booked.map(([bucket]) => bucket),
      states: booked.map(([, state]) => toState(state)),
    };
    this.#open.set(id, booking);
    for (const [index, { limit, bucket }] of claims.entries()) {
      const state = booking.states[index];
      if (state) this.#heard.set(nameOf(limit, bucket), state);
    }
    return {
      states: booking.states,
      settle: (used) => this.#settle(id, used),
      release: () => void this.#settle(id, undefined),
    };
  }

  /** Ends a booking. What counters gain is decided here, so that the row has it. */
  #settle(id: number, used: Readonly<Record<Counted, number>> | undefined): LimitIncrement[] {
    const booking = this.#open.get(id);
    if (!booking) return [];
    this.#open.delete(id);
    const gains: LimitIncrement[] = [];
    const uses: SentUse[] = [];
    const time = this.#options.now();
    for (const [index, { limit }] of booking.claims.entries()) {
      const amount = used?.[limit.counts] ?? 0;
      const booked = booking.states[index]?.span ?? spanOf(limit.window, time);
      const isSame = time >= booked.start && time < booked.end;
      // a request belongs to the window it came in, tokens and money to the one in which they are known
      if (amount === 0 || (!isSame && limit.counts === "requests")) continue;
      const span = isSame ? booked : spanOf(limit.window, time);
      gains.push(toIncrement(limit, booking.buckets[index] ?? "", span, amount));
      uses.push([index, startOf(span), amount]);
    }
    // without an owner, the next one counts the row when it comes
    this.#options.link.current?.tell("limits.settle", [id, uses]);
    return gains;
  }

  /** Counts by the share of this process. */
  #reserveHere(claims: readonly Claim[]): Reservation | Refusal {
    const { isStrict, now } = this.#options;
    const [first] = claims;
    if (isStrict && first) return { claim: first, resetsAt: now() + askAgainMs, states: [], isAway: true };
    const outcome = this.#share.reserve(claims);
    if ("claim" in outcome) return { ...outcome, states: [] };
    return {
      states: outcome.states,
      settle: (used) => {
        const gains = outcome.settle(used);
        const [one] = claims;
        if (one && gains.length > 0) {
          this.#options.link.current?.tell("limits.gain", [one.limit.organisationId, gains]);
        }
        return gains;
      },
      release: () => outcome.release(),
    };
  }

  /** Counts while there is no owner. */
  get #share() {
    const { now, workers } = this.#options;
    this.#shareOfOutage ??= createLocalShare({
      now,
      onUsed: undefined,
      nodes: () => workers,
      lastKnown: (limit, bucket, span) => {
        const heard = this.#heard.get(nameOf(limit, bucket));
        return heard && heard.span.start === span.start ? heard.used + heard.reserved : 0;
      },
    });
    return this.#shareOfOutage;
  }
  #shareOfOutage: ReturnType<typeof createLocalShare> | undefined;

  /** @throws If there is no owner. */
  async #ask<Value>(kind: string, value: unknown): Promise<Value> {
    const owner = await this.#options.link.within(patienceMs);
    if (!owner) throw new Error("Cannot read limits: the process that counts them is away");
    return owner.ask<Value>(kind, value);
  }

  async read(limit: Limit, bucket: string): Promise<BucketState> {
    return toState(await this.#ask<SentState>("limits.read", [limit, bucket]));
  }

  async list(limit: Limit): Promise<[bucket: string, state: BucketState][]> {
    const listed = await this.#ask<[string, SentState][]>("limits.list", limit);
    return listed.map(([bucket, state]) => [bucket, toState(state)]);
  }

  async reset(limit: Limit, bucket: string): Promise<LimitIncrement | undefined> {
    return (await this.#ask<LimitIncrement | null>("limits.reset", [limit, bucket])) ?? undefined;
  }

  async add(limit: Limit, bucket: string, used: number): Promise<LimitIncrement | undefined> {
    if (used === 0) return undefined;
    return (await this.#ask<LimitIncrement | null>("limits.add", [limit, bucket, used])) ?? undefined;
  }

  follow(_: readonly CorrectedCounter[]): void {
    // the owner follows
  }

  async close(): Promise<void> {
    // the owner gives back what is booked when the connection ends
  }
}
