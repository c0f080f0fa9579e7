import { type Budget, type Limit, type LimitUse, type LimitUseObserver, maxBuckets } from "./limit-store.ts";
import { type Span, startOf } from "./windows.ts";

/** What an alert says: use reached the threshold of a budget, or all of it. */
export type AlertKind = "threshold" | "exhausted";

/** The use of a bucket reached a bound of its budget. */
export interface LimitEvent {
  readonly limit: Limit;
  readonly budget: Budget;
  readonly bucket: string;
  readonly span: Span;
  readonly kind: AlertKind;
  /** The use that was reached: the threshold, or the limit. */
  readonly bound: number;
  readonly used: number;
  /** Unix milliseconds. */
  readonly at: number;
}

/** Settings of a watch. */
interface LimitWatchOptions {
  /** Unix milliseconds. */
  now: () => number;
  /** Called for each event, during a request: it must neither throw nor do more than ask for the work to be done. */
  wake: () => void;
}

/** Most events that wait. Beyond them, the next use of a bucket reports it again. */
const mostWaiting = 10_000;

/** Begin of the window in which a bucket was reported last, and its use then, by its name. */
type Reported = Map<string, { readonly start: number; readonly used: number }>;

/**
 * Notices which budgets reached a bound, and queues them: what follows is not awaited by any request. An event may come
 * more than once, for example after a restart: the record shows whether it is new.
 */
export class LimitWatch {
  readonly #options: LimitWatchOptions;
  readonly #waiting: LimitEvent[] = [];
  /** A changed record has another limit object, whose bounds are reported anew. */
  readonly #reported: Readonly<Record<AlertKind, WeakMap<Limit, Reported>>> = {
    threshold: new WeakMap(),
    exhausted: new WeakMap(),
  };

  constructor(options: LimitWatchOptions) {
    this.#options = options;
  }

  /** To be called for every use. */
  readonly observe: LimitUseObserver = (use) => {
    const { limit, after, isUsedUp } = use;
    const { budget, alertAt, most } = limit;
    if (!budget) return;
    if (alertAt !== null && after >= alertAt) this.#note(use, budget, "threshold", alertAt);
    if (after >= most || isUsedUp) this.#note(use, budget, "exhausted", most);
  };

  #note(
    { limit, bucket, span, before, after, isUsedUp }: LimitUse,
    budget: Budget,
    kind: AlertKind,
    bound: number,
  ): void {
    // a bound of 0 is reached before anything is used
    if (bound === 0) return;
    const reported = this.#reportedOf(limit, kind);
    const start = startOf(span);
    const last = reported.get(bucket);
    // use that went down and reaches the bound again is another event, whatever was reported
    if (last?.start === start && before >= (isUsedUp && kind === "exhausted" ? last.used : bound)) return;
    if (this.#waiting.length >= mostWaiting) return;
    reported.set(bucket, { start, used: after });
    this.#waiting.push({ limit, budget, bucket, span, kind, bound, used: after, at: this.#options.now() });
    this.#options.wake();
  }

  #reportedOf(limit: Limit, kind: AlertKind): Reported {
    const known = this.#reported[kind].get(limit);
    if (known && known.size <= maxBuckets) return known;
    const made: Reported = new Map();
    this.#reported[kind].set(limit, made);
    return made;
  }

  /** The oldest event, which stays in the queue. */
  peek(): LimitEvent | undefined {
    return this.#waiting[0];
  }

  /** Removes the oldest event. */
  shift(): void {
    this.#waiting.shift();
  }
}
