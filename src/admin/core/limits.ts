import type { JsonValue } from "../../db/tables/columns.ts";
import { isObject } from "../../lib/json.ts";
import { nextPeriodStart, startOfDay } from "../../lib/periods.ts";
import { type BudgetUse, type LimitHolder, usageOf } from "../../policies/applied.ts";
import type { LimitStore } from "../../policies/limit-store.ts";
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
function toShown(stored: JsonValue, { used, isExhausted }: BudgetUse) {
  if (!isObject(stored)) return null;
  const own = { status: isExhausted ? "exhausted" : "active", current_usage: used };
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

const unused: BudgetUse = { used: 0, isExhausted: false };

/** The budget of a record as it is shown. */
export async function showUsage(record: LimitHolder, limits: LimitStore) {
  // written by `toStoredUsage`
  return toShown(record.usageLimits as JsonValue, await usageOf(record, limits));
}

/** The budgets of a record that has a list of them, as they are shown. */
export async function showUsageList(record: LimitHolder, limits: LimitStore) {
  // written by `toStoredUsageList`, with at most one entry
  const { usageLimits } = record;
  if (!Array.isArray(usageLimits)) return null;
  const use = await usageOf(record, limits);
  return usageLimits.map((one: JsonValue) => toShown(one, use));
}

/** Budgets that nothing uses yet, as they are shown. */
export function showNewUsageList(stored: unknown) {
  return Array.isArray(stored) ? stored.map((one: JsonValue) => toShown(one, unused)) : null;
}
