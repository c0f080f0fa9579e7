import type { CallerContext } from "../../context.ts";
import { endOf, spanOf, startOf } from "../../policies/windows.ts";
import type { LimitCounter } from "../../schemas/logs.ts";

const noCounters: readonly LimitCounter[] = [];

/**
 * Counters of money that a finished request counts in, also those it added nothing to because it has no price: they
 * follow when it gets another one. None for a request that cannot be priced again.
 */
export function moneyCountersOf({ log, services }: CallerContext): readonly LimitCounter[] {
  const { moneyLimits, counted, cost, priceSource } = log;
  if (moneyLimits.length === 0 || (cost !== null && priceSource === null)) return noCounters;
  return moneyLimits.map(({ limit, bucket }): LimitCounter => {
    for (let index = counted.length - 1; index >= 0; index--) {
      const added = counted[index];
      if (added?.limitId === limit.id && added.bucket === bucket) return added;
    }
    const span = spanOf(limit.window, services.steadyTime());
    return { limitId: limit.id, bucket, windowStart: startOf(span), windowEnd: endOf(span) };
  });
}
