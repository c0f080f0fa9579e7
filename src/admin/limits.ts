import type { JsonValue } from "../db/tables/columns.ts";
import { isObject } from "../lib/json.ts";
import type { UsageLimits } from "../schemas/control.ts";
import { toIso } from "./request.ts";

const dayMs = 86_400_000;

function startOfDay(time: number): number {
  return Math.floor(time / dayMs) * dayMs;
}

/** When a budget is filled up again; null for those that never are. */
function nextReset(
  { periodic_reset, periodic_reset_days, next_usage_reset_at }: UsageLimits,
  now: number,
): number | null {
  if (typeof next_usage_reset_at === "number") return startOfDay(next_usage_reset_at);
  const today = new Date(now);
  if (periodic_reset === "monthly") return Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1);
  // weeks begin on Monday
  if (periodic_reset === "weekly") return startOfDay(now) + (7 - ((today.getUTCDay() + 6) % 7)) * dayMs;
  return periodic_reset_days == null ? null : startOfDay(now) + periodic_reset_days * dayMs;
}

/** A budget as it is stored: its next reset in Unix milliseconds, at midnight. */
export function toStoredUsageLimits(limits: UsageLimits, now: number): JsonValue {
  const {
    type,
    credit_limit = null,
    alert_threshold = null,
    periodic_reset = null,
    periodic_reset_days = null,
  } = limits;
  const next_usage_reset_at = nextReset(limits, now);
  return { type, credit_limit, alert_threshold, periodic_reset, periodic_reset_days, next_usage_reset_at };
}

/** A stored budget as it is shown. */
export function showUsageLimits(stored: unknown): Record<string, unknown> | null {
  if (!isObject(stored)) return null;
  const next = stored.next_usage_reset_at;
  return { ...stored, next_usage_reset_at: typeof next === "number" ? toIso(next) : null };
}

/** A list of limits as it is stored: an empty one is none. Absent stays absent. */
export function toLimitList<Limit>(limits: readonly Limit[] | null | undefined): readonly Limit[] | null | undefined {
  return limits?.length === 0 ? null : limits;
}
