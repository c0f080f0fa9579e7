import type { CallerContext } from "../../context.ts";
import { spanOf } from "../../policies/windows.ts";
import type { LimitCounter } from "../../schemas/logs.ts";

const noCounters: readonly LimitCounter[] = [];

/**
 * Counters of money that a finished request counts in, also those it added nothing to because it has no price: they
 * follow when it gets another one. None for a request that cannot be priced again.
 */
export function moneyCountersOf({ log, services }: CallerContext): readonly LimitCounter[] {
  const { moneyLimits, counted, cost, priceSource } = log;
  if (moneyLimits.length === 0 || (cost !== null && priceSource === null)) return noCounters;
  const now = services.clock.now();
  return moneyLimits.map(({ limit, bucket }): LimitCounter => {
    const added = counted.findLast((one) => one.limitId === limit.id && one.bucket === bucket);
    if (added) return { limitId: limit.id, bucket, windowStart: added.windowStart, windowEnd: added.windowEnd };
    const { start, end } = spanOf(limit.window, now);
    const isEndless = !Number.isFinite(end);
    return { limitId: limit.id, bucket, windowStart: isEndless ? 0 : start, windowEnd: isEndless ? null : end };
  });
}
