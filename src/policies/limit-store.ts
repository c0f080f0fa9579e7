import type { CorrectedCounter, LimitIncrement } from "../schemas/logs.ts";
import { endOf, type Span, startOf, type Window } from "./windows.ts";

/** What a limit counts. Cost is whole nano-dollars. */
export type Counted = "requests" | "tokens" | "cost";

/** A budget and the record that has it, for alerts. */
export interface Budget {
  /** Id of the budget as the API shows it. */
  readonly id: string;
  readonly holder: BudgetHolder;
}

/** The record that has a budget. */
export interface BudgetHolder {
  /** `api_key` also stands for tokens of identity providers. */
  readonly kind: "api_key" | "workspace" | "provider" | "integration" | "model_alias" | "policy";
  readonly id: string;
  /** Null for records of the organisation, and where it is not known. */
  readonly workspaceId: string | null;
}

/** A bound on what is used within a window. */
export interface Limit {
  /** The same for the life of the limit: the id of a policy, or of the record that has the limit. */
  readonly id: string;
  readonly organisationId: string;
  readonly counts: Counted;
  readonly most: number;
  readonly window: Window;
  /** Use from which its holder is alerted, in the unit of `most`. */
  readonly alertAt: number | null;
  /** The budget that it is. Absent: a rate limit, which gives no alerts. */
  readonly budget?: Budget;
}

/** What a request asks of one limit before it is made. */
export interface Claim {
  readonly limit: Limit;
  /** Which bucket of the limit it counts in. */
  readonly bucket: string;
  /** What it takes at least: 1 request, or the estimated prompt. */
  readonly least: number;
  /** What it may take beyond that: the estimated output, which need not have room. 0 for requests. */
  readonly beyond: number;
}

/** State of one bucket in its current window. */
export interface BucketState {
  readonly used: number;
  readonly reserved: number;
  readonly span: Span;
}

/** A claim that found no room. */
export interface Refusal {
  readonly claim: Claim;
  /**
   * Unix milliseconds at which there may be room again: the end of the window, which is infinite where it never ends;
   * earlier if other processes hold what is left.
   */
  readonly resetsAt: number;
  /** State of the bucket of each claim, where `read` would have to ask for it. */
  readonly states?: readonly BucketState[];
  /** There may be room: shared counters are away, and nothing passes without them. */
  readonly isAway?: boolean;
}

/** What a request has reserved. It is settled once. */
export interface Reservation {
  /** State of the bucket of each claim with this reservation, in the order of the claims. */
  readonly states: readonly BucketState[];
  /**
   * Replaces what was reserved by what was used. Later calls change and return nothing.
   *
   * @returns What the counters gain, for the log row that stores it.
   */
  settle(used: Readonly<Record<Counted, number>>): LimitIncrement[];
  /** Gives back what was reserved: nothing was used. */
  release(): void;
}

/** Something was used of a bucket, or a request was refused because it is used up. */
export interface LimitUse {
  readonly limit: Limit;
  readonly bucket: string;
  readonly span: Span;
  /** Use of the bucket in its window before and after. They are equal for a refusal. */
  readonly before: number;
  readonly after: number;
  /** The limit counts as used up, although something is left: it is too little for a request. */
  readonly isUsedUp?: true;
}

/** Receives each use of a limit, and each refusal by one that is used up. It must not throw. */
export type LimitUseObserver = (use: LimitUse) => void;

type Eventually<Value> = Value | Promise<Value>;

/** What is used and reserved of all limits. The values are promises only where processes share the counters. */
export interface LimitStore {
  /**
   * Books all claims or none, in one step: nothing comes between a check and its booking.
   *
   * @returns The reservation, or the first claim without room. It never rejects: while shared counters are away, it falls
   * back to what this process knows, or refuses if it is strict.
   */
  reserve(claims: readonly Claim[]): Eventually<Reservation | Refusal>;
  /** What a bucket holds in the window of now. */
  read(limit: Limit, bucket: string): Eventually<BucketState>;
  /** Buckets of a limit in the window of now, in no particular order. */
  list(limit: Limit): Eventually<[bucket: string, state: BucketState][]>;
  /**
   * Sets what was used of a bucket to 0. What is reserved stays.
   *
   * @returns The negative increment that takes it from the stored counter; undefined where nothing was used.
   */
  reset(limit: Limit, bucket: string): Eventually<LimitIncrement | undefined>;
  /**
   * Adds what was used already, whatever is left of the limit. A negative amount takes such a use back.
   *
   * @returns What the counter gains; undefined for 0.
   */
  add(limit: Limit, bucket: string, used: number): Eventually<LimitIncrement | undefined>;
  /**
   * Follows stored counters that re-priced rows changed.
   *
   * @param counters All of them whose window lasts.
   */
  follow(counters: readonly CorrectedCounter[]): void;
  /**
   * Whether the counters that processes share are away, where they are, and how many requests this process has admitted
   * without them. Absent where none are shared.
   */
  outage?(): { of: "redis" | "database"; isAway: boolean; admitted?: number };
  /** Ends what runs in the background. Call it after the last request. */
  close(): Promise<void>;
}

/** Most live buckets of one limit. Further values share one more bucket. */
export const maxBuckets = 10_000;

/** Name of the bucket that values beyond `maxBuckets` share. */
export const overflowBucket = "*";

/**
 * What a claim books, also where less is left. What others give back then goes to it first: if it were free for the next
 * request, each of several could use more than it was granted, and a limit be overrun by all of them.
 */
export const amountOf = ({ least, beyond }: Claim): number => least + beyond;

/** Of a limit of which less than this part is left, a request that needs more shows that it is used up. */
const littleLeft = 0.1;

/**
 * Reports a refusal, if the bucket is used up: all of it, or so much that too little is left for a request. What others
 * have reserved may come back and does not matter.
 */
export function reportRefusal(
  { limit, least }: Pick<Claim, "limit" | "least">,
  { bucket, span, used }: { bucket: string; span: Span; used: number },
  onUsed: LimitUseObserver | undefined,
): void {
  const left = limit.most - used;
  const use = { limit, bucket, span, before: used, after: used };
  if (left <= 0) onUsed?.(use);
  else if (least > left && left < littleLeft * limit.most) onUsed?.({ ...use, isUsedUp: true });
}

/** What a counter gains. A use that a reset takes away is negative. */
export function toIncrement(limit: Pick<Limit, "id">, bucket: string, span: Span, used: number): LimitIncrement {
  return { limitId: limit.id, bucket, windowStart: startOf(span), windowEnd: endOf(span), used };
}
