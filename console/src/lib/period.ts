import { asObject, textOf } from "./json.ts";

const hourMs = 3_600_000;

/** Ranges by name, in milliseconds up to now. */
const lengths = { "1h": hourMs, "24h": 24 * hourMs, "7d": 7 * 24 * hourMs, "30d": 30 * 24 * hourMs } as const;

/** A range up to now: of a length, or since the month began in UTC, as budgets count. */
export type RangeName = keyof typeof lengths | "month";

export const rangeNames: readonly RangeName[] = ["1h", "24h", "7d", "30d", "month"];

/** Start of the month of a time, in UTC; `months` later with a number. */
export function startOfMonth(time: number, months = 0): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months);
}

/** A range of time. */
export interface Period {
  /** Undefined: chosen by its two ends. */
  readonly name: RangeName | undefined;
  /** Unix milliseconds. */
  readonly from: number;
  readonly to: number;
}

/** Whether a name is that of a range up to now. */
export function isRangeName(value: string): value is RangeName {
  return value === "month" || Object.hasOwn(lengths, value);
}

/**
 * The range an address names: `range=7d`, or `from` and `to` as ISO 8601.
 *
 * @param fallback Range of an address that names none.
 */
export function readPeriod(search: unknown, now: number, fallback: RangeName = "24h"): Period {
  const { from: first, to: last, range } = asObject(search);
  const [from, to] = [Date.parse(textOf(first)), Date.parse(textOf(last))];
  if (!Number.isNaN(from)) {
    const end = Number.isNaN(to) ? now : to;
    if (end > from) return { name: undefined, from, to: end };
  }
  const asked = textOf(range);
  const name = isRangeName(asked) ? asked : fallback;
  return { name, from: name === "month" ? startOfMonth(now) : now - lengths[name], to: now };
}

/** The period as members of an address. */
export function periodSearch({ name, from, to }: Period): Readonly<Record<string, string | undefined>> {
  if (name !== undefined) return { range: name, from: undefined, to: undefined };
  return { range: undefined, from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

/** The period as the query of analytics. */
export function periodQuery({ from, to }: Period): Readonly<Record<string, string>> {
  return { time_of_generation_min: new Date(from).toISOString(), time_of_generation_max: new Date(to).toISOString() };
}

/** A time for an input of the type `datetime-local`, in the viewer's zone. */
export function toLocalInput(time: number): string {
  const date = new Date(time);
  return new Date(time - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
