import type { CallerContext } from "../context.ts";
import type { AppliedLimit } from "../policies/applied.ts";
import type { BucketState } from "../policies/limit-store.ts";

/** Whole seconds until a time, at least 1. Times are Unix milliseconds. */
export function secondsUntil(time: number, now: number): number {
  return Math.max(1, Math.ceil((time - now) / 1_000));
}

/**
 * Notes the state of the rate limits that a refused request met.
 *
 * @returns A promise only where processes share the counters, and the refusal came without states.
 */
export function noteRates(
  { applied: all, states: known }: { applied: readonly AppliedLimit[]; states: readonly BucketState[] | undefined },
  { log, services }: CallerContext,
): void | Promise<void> {
  if (known) {
    log.rates = { applied: all, states: known };
    return;
  }
  const applied = all.filter(({ kind }) => kind === "rate");
  const read = applied.map(({ limit, bucket }) => services.limitStore.read(limit, bucket));
  const set = (states: readonly BucketState[]) => {
    log.rates = { applied, states };
  };
  const isReady = (one: BucketState | Promise<BucketState>): one is BucketState => !(one instanceof Promise);
  if (read.every(isReady)) return set(read);
  // without the shared counters, the refusal stands without its headers
  return Promise.all(read).then(set, () => {});
}
