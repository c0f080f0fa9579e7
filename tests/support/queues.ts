import type { AppliedLimit } from "../../src/policies/applied.ts";
import { Ledger } from "../../src/policies/ledger.ts";
import type { Claim, Limit, LimitStore, Refusal, Reservation } from "../../src/policies/limit-store.ts";
import { LimitQueues, type Wait } from "../../src/policies/queue/limit-queues.ts";
import type { Priority, Queue } from "../../src/schemas/queues.ts";

/** Timers that fire when they are made to. */
export function createManualTimers() {
  const actions = new Map<() => void, number>();
  return {
    start(delayMs: number, action: () => void) {
      const own = () => action();
      actions.set(own, delayMs);
      return () => void actions.delete(own);
    },
    /** Fires those with a delay of at most so many milliseconds. */
    fire(mostMs = Number.POSITIVE_INFINITY) {
      for (const [action, delayMs] of [...actions]) {
        if (delayMs > mostMs || !actions.delete(action)) continue;
        action();
      }
    },
    /** Milliseconds of those that have not fired. */
    delays: () => [...actions.values()],
  };
}

/** Lets everything go on that waits for nothing but its turn. */
export const settle = () => new Promise<void>((resolve) => setTimeout(resolve));

export const plenty: Queue = { max_waiting: 100, max_wait_ms: 600_000 };

/** A limit as requests meet it. */
export function applied(limit: Limit, queue: Queue | undefined = plenty, bucket = "b"): AppliedLimit {
  return { limit, bucket, kind: "rate", holder: "policy", code: "full", ...(queue && { queue }) };
}

/** What a request asks for. */
interface Asked {
  readonly least?: number;
  readonly beyond?: number;
  readonly priority?: Priority;
  readonly bytes?: number;
  readonly signal?: AbortSignal;
}

/** A request that asked for its turn. */
export interface Turn {
  readonly waits: Wait[];
  /** How it ended: `admitted`, `refused` or the message of an error; `waits` while it does. */
  how(): string;
  readonly reservation: () => Reservation | undefined;
  readonly refusal: () => Refusal | undefined;
}

/** Asks for a turn. */
export function ask(queues: LimitQueues, limits: readonly AppliedLimit[], asked: Asked = {}): Turn {
  const { least = 1, beyond = 0, priority = "normal", bytes = 0, signal = new AbortController().signal } = asked;
  const claims = limits.map(({ limit, bucket }): Claim => ({ limit, bucket, least, beyond }));
  const waits: Wait[] = [];
  let ended: Reservation | Refusal | Error | undefined;
  const begin = async () => queues.reserve({ applied: limits, claims, priority, bytes, signal, waits });
  begin().then(
    (outcome) => {
      ended = outcome;
    },
    (error: Error) => {
      ended = error;
    },
  );
  const reservation = () => (ended && "settle" in ended ? ended : undefined);
  const refusal = () => (ended && "claim" in ended ? ended : undefined);
  const how = () => {
    if (!ended) return "waits";
    return ended instanceof Error ? ended.message : reservation() ? "admitted" : "refused";
  };
  return { waits, how, reservation, refusal };
}

/** Queues over a store of limits, with a clock that stands still until it is moved. */
export function createQueues(bounds = { requests: 1_000, bytes: 1_000_000 }, given?: LimitStore) {
  let now = Date.UTC(2026, 0, 15, 12);
  const timers = createManualTimers();
  const store = given ?? new Ledger({ now: () => now });
  const queues = new LimitQueues({ store, now: () => now, monotonic: () => now, timers, bounds });
  return {
    queues,
    timers,
    store,
    /** Moves the clock, and lets the looks of queues that are due happen. */
    async advance(milliseconds: number) {
      now += milliseconds;
      timers.fire(milliseconds);
      await settle();
    },
  };
}
