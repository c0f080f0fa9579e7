import type * as v from "valibot";
import type { JsonValue } from "../db/tables/columns.ts";
import { isObject } from "../lib/json.ts";
import { nextPeriodStart, startOfDay } from "../lib/periods.ts";
import type { RateLimitList, UsageLimitList, UsageLimits } from "../schemas/control.ts";
import { toIso } from "./request.ts";

/** A value as a JSON column takes it: members that are undefined are left out. */
export function toJson(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value));
}

/** When a budget is counted anew, at midnight; null when it never is. */
function nextReset(limits: UsageLimits, now: number): number | null {
  if (limits.next_usage_reset_at != null) return startOfDay(limits.next_usage_reset_at);
  const period = limits.periodic_reset ?? limits.periodic_reset_days;
  return period == null ? null : nextPeriodStart(now, period);
}

/** A list of budgets as it is stored: undefined stays, null and an empty list are null. */
export function toStoredUsageList(
  limits: v.InferOutput<typeof UsageLimitList> | null | undefined,
  now: number,
): JsonValue | undefined {
  if (limits === undefined) return undefined;
  if (limits === null || limits.length === 0) return null;
  return limits.map((limit) => ({
    type: limit.type,
    credit_limit: limit.credit_limit ?? null,
    alert_threshold: limit.alert_threshold ?? null,
    periodic_reset: limit.periodic_reset ?? null,
    periodic_reset_days: limit.periodic_reset_days ?? null,
    next_usage_reset_at: nextReset(limit, now),
  }));
}

/** A list of rate limits as it is stored: undefined stays, null and an empty list are null. */
export function toStoredRateList(
  limits: v.InferOutput<typeof RateLimitList> | null | undefined,
): JsonValue | undefined {
  return limits?.length === 0 ? null : limits;
}

/** A stored list of budgets as it is shown. */
export function showUsageList(stored: JsonValue | null): JsonValue {
  if (!Array.isArray(stored)) return null;
  return stored.map((limit) => {
    if (!isObject(limit)) return limit;
    const { next_usage_reset_at: next } = limit;
    return { ...limit, next_usage_reset_at: typeof next === "number" ? toIso(next) : null };
  });
}
