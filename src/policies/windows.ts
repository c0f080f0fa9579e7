import { dayMs, nextPeriodStart, startOfDay } from "../lib/periods.ts";

/** Over which time a limit counts. A number of days begins at `from`, Unix milliseconds. */
export type Window =
  | "second"
  | "minute"
  | "hour"
  | "day"
  | "week"
  | "month"
  | { readonly days: number; readonly from: number }
  | "ever";

/** One window: from `start` until before `end`, Unix milliseconds. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Begin of a window as it is stored: 0 where it has none. */
export const startOf = ({ start }: Span): number => (Number.isFinite(start) ? start : 0);

/** End of a window as it is stored: null where it has none. */
export const endOf = ({ end }: Span): number | null => (Number.isFinite(end) ? end : null);

const minuteMs = 60_000;
const lengths = { second: 1_000, minute: minuteMs, hour: 60 * minuteMs, day: dayMs } as const;

/** Monday 00:00 UTC before or at a time. The first of January 1970 was a Thursday. */
function startOfWeek(time: number): number {
  const days = Math.floor(time / dayMs);
  return (days - ((((days + 3) % 7) + 7) % 7)) * dayMs;
}

function startOfMonth(time: number): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/**
 * The window a time lies in. Windows are fixed and aligned in UTC: weeks begin on Monday, months on their first day.
 *
 * @param time Unix milliseconds.
 */
export function spanOf(window: Window, time: number): Span {
  if (window === "ever") return { start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY };
  if (window === "week") return { start: startOfWeek(time), end: nextPeriodStart(time, "weekly") };
  if (window === "month") return { start: startOfMonth(time), end: nextPeriodStart(time, "monthly") };
  if (typeof window === "string") {
    const start = Math.floor(time / lengths[window]) * lengths[window];
    return { start, end: start + lengths[window] };
  }
  const length = window.days * dayMs;
  const from = startOfDay(window.from);
  const start = from + Math.floor((time - from) / length) * length;
  return { start, end: start + length };
}
