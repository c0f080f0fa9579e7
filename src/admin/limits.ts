import type * as v from "valibot";
import type { JsonValue } from "../db/tables/columns.ts";
import type { RateLimitList, UsageLimitList } from "../schemas/control.ts";

/** A value as a JSON column takes it: members that are undefined are left out. */
export function toJson(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value));
}

/** A time as the start of its day in UTC, ISO 8601. */
function toDay(time: number): string {
  return new Date(new Date(time).setUTCHours(0, 0, 0, 0)).toISOString();
}

/** A list of limits as it is stored: undefined stays, null and an empty list are null. */
export function toStoredLimits(
  limits: v.InferOutput<typeof UsageLimitList> | v.InferOutput<typeof RateLimitList> | null | undefined,
): JsonValue | undefined {
  if (limits === undefined) return undefined;
  if (limits === null || limits.length === 0) return null;
  return toJson(
    limits.map((limit) =>
      "next_usage_reset_at" in limit && typeof limit.next_usage_reset_at === "number"
        ? { ...limit, next_usage_reset_at: toDay(limit.next_usage_reset_at) }
        : limit,
    ),
  );
}
