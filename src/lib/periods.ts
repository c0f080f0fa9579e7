/** Milliseconds of a day. */
export const dayMs = 86_400_000;

/** Midnight (UTC) at the start of a time's day. */
export function startOfDay(time: number): number {
  return Math.floor(time / dayMs) * dayMs;
}

/** A repeating period: weeks from Monday, calendar months, or a number of days. */
export type Period = "weekly" | "monthly" | number;

/** Midnight (UTC) at the start of the next period: Monday, the first of the month, or so many days from today. */
export function nextPeriodStart(time: number, period: Period): number {
  const today = startOfDay(time);
  const date = new Date(today);
  if (period === "monthly") return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
  if (period !== "weekly") return today + period * dayMs;
  const days = (8 - date.getUTCDay()) % 7;
  return today + (days === 0 ? 7 : days) * dayMs;
}
