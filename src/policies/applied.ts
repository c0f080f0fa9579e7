import { isObject } from "../lib/json.ts";
import { dayMs } from "../lib/periods.ts";
import type { Queue } from "../schemas/queues.ts";
import type { BucketState, BudgetHolder, Limit, LimitStore } from "./limit-store.ts";
import type { Window } from "./windows.ts";

/** Nano-dollars of a dollar. */
const nanosOfDollar = 1_000_000_000;

/** A limit that applies to a request, and what its refusal says. */
export interface AppliedLimit {
  readonly limit: Limit;
  readonly bucket: string;
  /** A budget refuses with 412, a rate with 429. */
  readonly kind: "usage" | "rate";
  /** Whose limit it is, for messages, such as `workspace team`. */
  readonly holder: string;
  /** Code of the refusal. */
  readonly code: string;
  /** The policy that it is of. */
  readonly policy?: { readonly id: string; readonly name: string | null };
  /** Requests wait for room in it. Absent: they are refused. */
  readonly queue?: Queue;
}

/** A record with limits. */
export interface LimitHolder extends BudgetOwner {
  /** What the limits count in: requests of the record share it. */
  readonly bucket: string;
  readonly holder: string;
  /** Codes of refusals. */
  readonly codes: Readonly<Record<"usage" | "rate", string>>;
  readonly usageLimits: unknown;
  readonly rateLimits: unknown;
  /** Unix milliseconds of the last reset by hand, which makes its counters new ones. */
  readonly lastResetAt: number | null;
}

/** The budgets of a record. */
function budgetsOf(record: LimitHolder): Limit[] {
  const { usageLimits, lastResetAt } = record;
  return readUsageLimits(usageLimits).flatMap((stored) => {
    const limit = toUsageLimit(stored, record);
    if (!limit || lastResetAt === null) return limit ?? [];
    return { ...limit, id: `${limit.id}:${lastResetAt}` };
  });
}

/** What was used of a budget. */
export interface BudgetUse {
  readonly limit: Limit;
  readonly bucket: string;
  /** In its current window. */
  readonly state: BucketState;
}

/** What was used of the budget of a record in its current period. Undefined where it has none. */
export async function usageOf(record: LimitHolder, store: LimitStore): Promise<BudgetUse | undefined> {
  const [limit] = budgetsOf(record);
  if (!limit) return undefined;
  const { bucket } = record;
  return { limit, bucket, state: await store.read(limit, bucket) };
}

/** Whether a budget is used up. */
export const isUsedUp = ({ limit, state }: Pick<BudgetUse, "limit" | "state">): boolean => state.used >= limit.most;

/** An amount of a limit as the API shows it: dollars, tokens or requests. */
export function toShownUse({ counts }: Pick<Limit, "counts">, used: number): number {
  return counts === "cost" ? used / nanosOfDollar : used;
}

/** The limits of a record. */
export function limitsOf(record: LimitHolder): AppliedLimit[] {
  const { bucket, holder, codes, rateLimits } = record;
  const usage = budgetsOf(record).map(
    (limit): AppliedLimit => ({ limit, bucket, kind: "usage", holder, code: codes.usage }),
  );
  const rates = readRateLimits(rateLimits).map((stored): AppliedLimit => {
    const limit = toRateLimit(stored, record);
    const { queue } = stored;
    return { limit, bucket, kind: "rate", holder, code: codes.rate, ...(queue && { queue }) };
  });
  return [...usage, ...rates];
}

/** A budget as records store it. Cost is in US dollars. */
export interface StoredUsageLimit {
  readonly id?: string | undefined;
  readonly type: "cost" | "tokens" | "requests";
  readonly credit_limit?: number | null | undefined;
  readonly alert_threshold?: number | null | undefined;
  readonly periodic_reset?: "weekly" | "monthly" | null | undefined;
  readonly periodic_reset_days?: number | null | undefined;
  /** Unix milliseconds. */
  readonly next_usage_reset_at?: number | null | undefined;
}

/** A rate limit as records store it. */
export interface StoredRateLimit {
  readonly type: "requests" | "tokens";
  readonly unit: "rps" | "rpm" | "rph" | "rpd" | "rpw";
  readonly value: number;
  readonly queue?: Queue | null | undefined;
}

/** Budgets as a JSON column holds them: one, a list or null. The control plane checked them when it wrote them. */
function readUsageLimits(stored: unknown): readonly StoredUsageLimit[] {
  const list = (Array.isArray(stored) ? stored : [stored]).filter(isObject);
  return list as unknown as StoredUsageLimit[]; // as checked
}

/** As `readUsageLimits`, for rate limits. */
function readRateLimits(stored: unknown): readonly StoredRateLimit[] {
  return (Array.isArray(stored) ? stored : []) as StoredRateLimit[]; // as checked
}

const windowOfUnit: Readonly<Record<StoredRateLimit["unit"], Window>> = {
  rps: "second",
  rpm: "minute",
  rph: "hour",
  rpd: "day",
  rpw: "week",
};

function windowOf({
  periodic_reset: period,
  periodic_reset_days: days,
  next_usage_reset_at: next,
}: StoredUsageLimit): Window {
  if (period === "weekly") return "week";
  if (period === "monthly") return "month";
  return days == null ? "ever" : { days, from: (next ?? 0) - days * dayMs };
}

/** The record or policy that has a limit. */
interface LimitOwner {
  /** Id of the record. */
  readonly id: string;
  readonly organisationId: string;
}

/** The record or policy that has a budget. */
interface BudgetOwner extends LimitOwner {
  /** The record as alerts name it. */
  readonly alerted: BudgetHolder;
}

/** An amount of a budget as counters hold it. */
const toCounted = (type: StoredUsageLimit["type"], amount: number): number =>
  type === "cost" ? Math.min(Math.round(amount * nanosOfDollar), Number.MAX_VALUE) : amount;

/** The limit of a stored budget. Undefined where it bounds nothing. */
export function toUsageLimit(stored: StoredUsageLimit & { credit_limit: number }, owner: BudgetOwner): Limit;
export function toUsageLimit(stored: StoredUsageLimit, owner: BudgetOwner): Limit | undefined;
export function toUsageLimit(stored: StoredUsageLimit, owner: BudgetOwner): Limit | undefined {
  const { id = owner.id, type, credit_limit: most, alert_threshold: alertAt } = stored;
  if (most == null) return undefined;
  const window = windowOf(stored);
  return {
    // a budget that counts something else, or over another time, begins anew
    id: `${id}:${type}:${typeof window === "string" ? window : `${window.days}d${window.from}`}`,
    organisationId: owner.organisationId,
    counts: type,
    most: toCounted(type, most),
    window,
    alertAt: alertAt == null ? null : toCounted(type, alertAt),
    budget: { id, holder: owner.alerted },
  };
}

/** The limit of a stored rate. */
export function toRateLimit({ type, unit, value }: StoredRateLimit, { id, organisationId }: LimitOwner): Limit {
  const window = windowOfUnit[unit];
  return { id: `${id}:${type}:${unit}`, organisationId, counts: type, most: value, window, alertAt: null };
}
