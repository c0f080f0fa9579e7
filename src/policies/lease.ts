import type { LeaseKey, LeaseState } from "../schemas/limit-leases.ts";
import type { LimitIncrement } from "../schemas/logs.ts";
import { amountOf, type BucketState, type Claim, type Limit, toIncrement } from "./limit-store.ts";
import { endOf, type Span, startOf } from "./windows.ts";

/** How long a node does not ask again after the database had too little, in milliseconds. */
const pauseMs = 200;

/** What a claim takes where there is enough. A bucket that is used up admits nothing, so that it is never nothing. */
export const fullOf = (claim: Claim): number => Math.max(1, amountOf(claim));

/** What one node may use of a bucket in one window, and what it used. */
export class Lease {
  limit: Limit;
  readonly bucket: string;
  readonly span: Span;
  readonly number: number;
  /** What the node may use in all; at most what the database has. */
  granted = 0;
  /** What it used since the lease began, stored or not. */
  used = 0;
  /** What its running requests have reserved. */
  reserved = 0;
  /** What others used, as of the last contact with the database. */
  others = 0;
  /** What others hold and had not used, as of the same time. */
  #held = 0;
  /** How much may lie unused while other nodes might ask for it. */
  keep = 1;
  /** The window began while the database was away: the node uses its share, which the database does not know. */
  isLocal = false;
  /** Requests that wait for more. */
  waiting = 0;
  /** Monotonic time of the last claim. */
  claimedAt: number;
  /** Monotonic time from which the node asks for more than was free at the last contact. */
  askFrom = Number.NEGATIVE_INFINITY;
  #free = 0;
  /** Monotonic time until which other nodes may use shares of this window that the database does not know. */
  #dividedUntil = Number.NEGATIVE_INFINITY;
  /** Use of the bucket that the observer knows. Undefined before the first contact. */
  reported: number | undefined;

  constructor(limit: Limit, bucket: string, { span, number, time }: { span: Span; number: number; time: number }) {
    this.limit = limit;
    this.bucket = bucket;
    this.span = span;
    this.number = number;
    this.claimedAt = time;
  }

  /** What is neither used nor reserved; negative after requests that used more than they had reserved. */
  get left(): number {
    return this.granted - this.used - this.reserved;
  }

  /** What this node knows to be left of the limit itself. */
  get leftOfLimit(): number {
    return this.limit.most - this.others - this.committed;
  }

  /** What the node is committed to. */
  get committed(): number {
    return this.used + this.reserved;
  }

  get key(): LeaseKey {
    const { limit, bucket, span, number } = this;
    const { organisationId, id: limitId } = limit;
    return { organisationId, limitId, bucket, windowStart: startOf(span), windowEnd: endOf(span), number };
  }

  get state(): BucketState {
    return { used: Math.max(0, this.others + this.used), reserved: this.reserved + this.#held, span: this.span };
  }

  /** The state as a claim meets it that this node has to refuse: nothing is left. */
  get fullState(): BucketState {
    const { used, reserved, span } = this.state;
    return { used, reserved: Math.max(reserved, this.limit.most - used), span };
  }

  /** Whether a claim would fit in if other nodes held nothing. */
  hasRoomElsewhere({ least }: Claim): boolean {
    return Math.max(1, least) <= this.leftOfLimit;
  }

  /** What a counter gains. */
  toIncrement(used: number, nodeId?: string): LimitIncrement {
    const increment = toIncrement(this.limit, this.bucket, this.span, used);
    return nodeId === undefined ? increment : { ...increment, lease: { nodeId, number: this.number } };
  }

  /** Whether the database may have enough for a claim. */
  mayGain({ least }: Claim, time: number): boolean {
    if (time < this.#dividedUntil) return false;
    return time >= this.askFrom || (this.#free > 0 && Math.max(1, least) - this.left <= this.#free);
  }

  /** The database knows the share of this node; those of others at monotonic time `dividedUntil`. */
  join(dividedUntil: number): void {
    this.isLocal = false;
    this.#dividedUntil = dividedUntil;
  }

  /** Takes over what the database has. */
  refresh({ counted, written, granted, free }: LeaseState, nodes: number): void {
    this.others = counted - written;
    this.#held = Math.max(0, this.limit.most - counted - free - Math.max(0, granted - written));
    this.#free = free;
    this.keep = Math.max(1, Math.ceil((Math.max(0, free) + Math.max(0, this.left)) / (4 * nodes)));
  }

  /** Takes over the outcome of a request for `wanted` in all. */
  grant(state: LeaseState, { wanted, nodes, time }: { wanted: number; nodes: number; time: number }): void {
    // what was used beyond a lease is held, too
    this.granted = Math.max(state.granted, state.written);
    if (state.granted < wanted || state.free <= 0) this.askFrom = time + pauseMs;
    this.refresh(state, nodes);
  }

  /** Counts what is used without a lease; negative where it is taken back. What is leased stays. */
  add(used: number): void {
    this.others += used;
    this.reported = this.state.used;
    if (used < 0) this.askFrom = Number.NEGATIVE_INFINITY;
  }

  /** Forgets what the database no longer knows: the node was removed. What runs stays reserved. */
  renounce(): void {
    this.granted = this.isLocal ? Math.max(0, this.granted - this.used) : 0;
    this.others += this.used;
    this.used = 0;
  }
}
