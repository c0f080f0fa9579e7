import type { Services } from "../../context.ts";
import type { AlertFlags } from "../../control/alerts/alerts.ts";
import { isObject } from "../../lib/json.ts";
import { nextPeriodStart, startOfDay } from "../../lib/periods.ts";
import { isUsedUp, type LimitHolder, toShownUse, usageOf } from "../../policies/applied.ts";
import type { ShownBudget, StoredBudget, UsageLimits } from "../../schemas/control.ts";
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
 * @param former The stored budget: its id is preserved, and the day its periods are counted from, so that a raised or
 * lowered limit continues with its counter.
 */
export function toStoredUsage(limits: UsageLimits, now: number, former?: StoredBudget | null): StoredBudget {
  const { id, periodic_reset_days: formerDays, next_usage_reset_at: formerNext } = former ?? {};
  const days = limits.periodic_reset_days ?? null;
  const goesOn = days !== null && days === formerDays && limits.next_usage_reset_at == null;
  return {
    id: id ?? crypto.randomUUID(),
    type: limits.type,
    credit_limit: limits.credit_limit ?? null,
    alert_threshold: limits.alert_threshold ?? null,
    periodic_reset: limits.periodic_reset ?? null,
    periodic_reset_days: days,
    next_usage_reset_at: goesOn && formerNext != null ? formerNext : nextReset(limits, now),
  };
}

/** The next reset of a stored budget, as the API writes it. */
export function toNextReset(stored: StoredBudget | null): string | null {
  return toIso(stored?.next_usage_reset_at);
}

/** The fields of a budget that only the gateway writes. */
type ShownUse = Pick<ShownBudget, "status" | "current_usage" | "is_threshold_alerts_sent" | "is_exhausted_alerts_sent">;

/** A stored budget as responses show it. */
function toShown(stored: StoredBudget, use: ShownUse): ShownBudget {
  return { ...use, ...stored, next_usage_reset_at: toNextReset(stored) };
}

/** A list of limits as it is stored: null if empty. Absent stays absent. */
export function toLimitList<Limit>(limits: Limit[] | null | undefined): Limit[] | null | undefined {
  return limits?.length === 0 ? null : limits;
}

/**
 * A list of budgets as it is stored: null if empty or null. Absent stays absent.
 *
 * @param former The stored list, whose budgets continue.
 */
export function toStoredUsageList(
  limits: UsageLimits[] | null | undefined,
  now: number,
  former?: readonly StoredBudget[] | null,
): StoredBudget[] | null | undefined {
  const given = toLimitList(limits);
  return given ? given.map((limit, index) => toStoredUsage(limit, now, former?.[index])) : given;
}

/** Which alerts a budget sent, as it is shown. */
export function showFlags(flags: AlertFlags | undefined) {
  const { isThresholdSent = false, isExhaustedSent = false } = flags ?? {};
  return { is_threshold_alerts_sent: isThresholdSent, is_exhausted_alerts_sent: isExhaustedSent };
}

const unused: ShownUse = { status: "active", current_usage: 0, ...showFlags(undefined) };

/** What was used of the budgets of records, in their order. */
async function readUses(
  records: readonly LimitHolder[],
  { limitStore, limitAlerts }: Pick<Services, "limitAlerts" | "limitStore">,
): Promise<ShownUse[]> {
  const uses = await Promise.all(records.map((record) => usageOf(record, limitStore)));
  const found = uses.filter((use) => use !== undefined);
  const flags = await limitAlerts.readFlags(found);
  const flagsOf = new Map(found.map((use, index) => [use, flags[index]]));
  return uses.map((use): ShownUse => {
    if (!use) return unused;
    const { limit, state } = use;
    return {
      status: isUsedUp(use) ? "exhausted" : "active",
      current_usage: toShownUse(limit, state.used),
      ...showFlags(flagsOf.get(use)),
    };
  });
}

/** The budgets of records of one organisation as they are shown, in their order; null where a record has none. */
export async function showUsages(
  records: readonly LimitHolder[],
  services: Pick<Services, "limitAlerts" | "limitStore">,
): Promise<(ShownBudget | null)[]> {
  const uses = await readUses(records, services);
  return records.map(({ usageLimits }, index) => {
    if (!isObject(usageLimits)) return null;
    const stored = usageLimits as unknown as StoredBudget; // written by `toStoredUsage`, which is of this shape
    return toShown(stored, uses[index] ?? unused);
  });
}

/** As `showUsages`, for records that have a list of budgets. */
export async function showUsageLists(
  records: readonly LimitHolder[],
  services: Pick<Services, "limitAlerts" | "limitStore">,
): Promise<(ShownBudget[] | null)[]> {
  const uses = await readUses(records, services);
  return records.map(({ usageLimits }, index) => {
    // written by `toStoredUsageList`, with at most one entry
    if (!Array.isArray(usageLimits)) return null;
    return usageLimits.map((one: StoredBudget) => toShown(one, uses[index] ?? unused));
  });
}

/** Budgets that nothing uses yet, as they are shown. */
export function showNewUsageList(stored: readonly StoredBudget[] | null | undefined): ShownBudget[] | null {
  return stored?.map((one) => toShown(one, unused)) ?? null;
}
