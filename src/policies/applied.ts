import { isObject } from "../lib/json.ts";
import { dayMs } from "../lib/periods.ts";
import type { Ledger, Limit } from "./ledger.ts";
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
}

/** A record with limits. */
export interface LimitHolder {
  /** Id of the record. */
  readonly id: string;
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
function budgetsOf({ id, usageLimits, lastResetAt }: LimitHolder): Limit[] {
  return readUsageLimits(usageLimits).flatMap((stored) => {
    const limit = toUsageLimit(stored, id);
    if (!limit || lastResetAt === null) return limit ?? [];
    return { ...limit, id: `${limit.id}:${lastResetAt}` };
  });
}

/** What was used of the budget of a record in its current period, in the unit of the budget: dollars, tokens or requests. */
export function usageOf(record: LimitHolder, ledger: Ledger): { used: number; isExhausted: boolean } {
  const [limit] = budgetsOf(record);
  if (!limit) return { used: 0, isExhausted: false };
  const used = ledger.stateOf(limit, record.bucket)?.used ?? 0;
  return { used: limit.counts === "cost" ? used / nanosOfDollar : used, isExhausted: used >= limit.most };
}

/** The limits of a record. */
export function limitsOf(record: LimitHolder): AppliedLimit[] {
  const { id, bucket, holder, codes, rateLimits } = record;
  const usage = budgetsOf(record).map(
    (limit): AppliedLimit => ({ limit, bucket, kind: "usage", holder, code: codes.usage }),
  );
  const rates = readRateLimits(rateLimits).map(
    (stored): AppliedLimit => ({ limit: toRateLimit(stored, id), bucket, kind: "rate", holder, code: codes.rate }),
  );
  return [...usage, ...rates];
}

/** A budget as records store it. Cost is in US dollars. */
export interface StoredUsageLimit {
  readonly id?: string | undefined;
  readonly type: "cost" | "tokens" | "requests";
  readonly credit_limit?: number | null | undefined;
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

/** The limit of a stored budget. Undefined where it bounds nothing. */
export function toUsageLimit(stored: StoredUsageLimit, ownerId: string): Limit | undefined {
  const { id = ownerId, type, credit_limit: most } = stored;
  if (most == null) return undefined;
  const window = windowOf(stored);
  return {
    // a budget that counts something else, or over another time, begins anew
    id: `${id}:${type}:${typeof window === "string" ? window : `${window.days}d${window.from}`}`,
    counts: type,
    most: type === "cost" ? Math.round(most * nanosOfDollar) : most,
    window,
  };
}

/** The limit of a stored rate. */
export function toRateLimit({ type, unit, value }: StoredRateLimit, ownerId: string): Limit {
  return { id: `${ownerId}:${type}:${unit}`, counts: type, most: value, window: windowOfUnit[unit] };
}
