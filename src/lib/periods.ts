/** Milliseconds of a day. */
export const dayMs = 86_400_000;

/** Midnight (UTC) at the start of a time's day. */
export function startOfDay(time: number): number {
  return Math.floor(time / dayMs) * dayMs;
}

/** Whether a text begins with a day of the calendar, `YYYY-MM-DD`. Runtimes take 30 February for a day in March. */
export function startsWithDay(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})/.exec(text) ?? [];
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
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
