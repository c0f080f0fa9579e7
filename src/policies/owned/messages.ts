import type { BucketState, Claim, Limit } from "../limit-store.ts";

/** A limit by its number in a connection, its bucket, and what a request asks of it. */
export type SentClaim = [limit: number, bucket: string, least: number, beyond: number];

/** State of a bucket. JSON has no infinite numbers: null where a window has no begin or end. */
export type SentState = [used: number, reserved: number, start: number | null, end: number | null];

/** What became of claims: their buckets and states, or which of them has no room until when. */
export type ReserveAnswer =
  | { readonly booked: readonly (readonly [bucket: string, state: SentState])[] }
  | { readonly refused: number; readonly resetsAt: number | null; readonly states: readonly SentState[] };

/** What a claim used, by its place among those of its booking. */
export type SentUse = [claim: number, windowStart: number, used: number];

export function toSentState({ used, reserved, span: { start, end } }: BucketState): SentState {
  return [used, reserved, Number.isFinite(start) ? start : null, Number.isFinite(end) ? end : null];
}

export function toState([used, reserved, start, end]: SentState): BucketState {
  const span = { start: start ?? Number.NEGATIVE_INFINITY, end: end ?? Number.POSITIVE_INFINITY };
  return { used, reserved, span };
}

/** Limits that a connection has named: each is described once, and has a number from then on. */
export class LimitNumbers {
  #numbers = new WeakMap<Limit, number>();
  #last = 0;

  /**
   * Its number in the connection.
   *
   * @param describe Sends a limit that is new.
   */
  of(limit: Limit, describe: (number: number, limit: Limit) => void): number {
    const known = this.#numbers.get(limit);
    if (known !== undefined) return known;
    const number = ++this.#last;
    this.#numbers.set(limit, number);
    describe(number, limit);
    return number;
  }

  /** Begins anew: the other side knows none. */
  clear(): void {
    this.#numbers = new WeakMap();
    this.#last = 0;
  }

  /** How many limits have a number. */
  get count(): number {
    return this.#last;
  }
}

export function toSentClaim({ bucket, least, beyond }: Claim, limit: number): SentClaim {
  return [limit, bucket, least, beyond];
}
