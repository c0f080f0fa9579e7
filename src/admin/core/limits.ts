import type { JsonValue } from "../../db/tables/columns.ts";
import { isObject } from "../../lib/json.ts";
import { nextPeriodStart, startOfDay } from "../../lib/periods.ts";
import type { UsageLimits } from "../../schemas/control.ts";
import { toIso } from "./request.ts";

/** When a budget resets: as given, else at midnight when its period ends; null when it never does. */
export function nextReset(
  limits: Pick<UsageLimits, "periodic_reset" | "periodic_reset_days" | "next_usage_reset_at">,
  now: number,
): number | null {
  if (limits.next_usage_reset_at != null) return startOfDay(limits.next_usage_reset_at);
  const period = limits.periodic_reset ?? limits.periodic_reset_days;
  return period == null ? null : nextPeriodStart(now, period);
}

/**
 * A budget as it is stored.
 *
 * @param former The stored budget: its id is preserved.
 */
export function toStoredUsage(limits: UsageLimits | null, now: number, former?: JsonValue): JsonValue {
  if (limits === null) return null;
  return {
    id: isObject(former) && typeof former.id === "string" ? former.id : crypto.randomUUID(),
    type: limits.type,
    credit_limit: limits.credit_limit ?? null,
    alert_threshold: limits.alert_threshold ?? null,
    periodic_reset: limits.periodic_reset ?? null,
    periodic_reset_days: limits.periodic_reset_days ?? null,
    next_usage_reset_at: nextReset(limits, now),
  };
}

/** The next reset of a stored budget, as the API writes it. */
export function toNextReset(stored: JsonValue | null): string | null {
  return isObject(stored) && typeof stored.next_usage_reset_at === "number" ? toIso(stored.next_usage_reset_at) : null;
}

/** A stored budget as responses show it, with the fields only the gateway writes. */
export function toShownUsage(stored: JsonValue | null, isExhausted: boolean) {
  if (!isObject(stored)) return null;
  const own = { status: isExhausted ? "exhausted" : "active", current_usage: 0 };
  const alerts = { is_threshold_alerts_sent: false, is_exhausted_alerts_sent: false };
  return { ...own, ...alerts, ...stored, next_usage_reset_at: toNextReset(stored) };
}

/** A list of limits as it is stored: null if empty. Absent stays absent. */
export function toLimitList<Limit>(limits: readonly Limit[] | null | undefined): readonly Limit[] | null | undefined {
  return limits?.length === 0 ? null : limits;
}

/** A list of budgets as it is stored: null if empty or null. Absent stays absent. */
export function toStoredUsageList(
  limits: readonly UsageLimits[] | null | undefined,
  now: number,
): JsonValue | undefined {
  const given = toLimitList(limits);
  return given ? given.map((limit) => toStoredUsage(limit, now)) : given;
}

/** A stored list of budgets as it is shown. */
export function toShownUsageList(stored: unknown) {
  // written by `toStoredUsageList`
  return Array.isArray(stored) ? stored.map((limits: JsonValue) => toShownUsage(limits, false)) : null;
}
