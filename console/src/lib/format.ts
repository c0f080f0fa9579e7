// Numbers, money and times as people read them, in the locale of the words and the zone of the viewer.

import { locale } from "../text/locale.ts";

const language = locale();

const whole = new Intl.NumberFormat(language);
const short = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
const share = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });
const moment = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "narrow" });

export const formatNumber = (value: number): string => whole.format(value);

/** 12,345,678 as `12.3M`. */
export const formatShort = (value: number): string =>
  Math.abs(value) < 10_000 ? whole.format(value) : short.format(value);

/** A share of one, for example 0.031 as `3.1%`. */
export const formatShare = (value: number): string => share.format(value);

/** US dollars: cents above one dollar, four significant digits below. */
export function formatDollars(value: number): string {
  const digits =
    Math.abs(value) >= 1 || value === 0
      ? { minimumFractionDigits: 2, maximumFractionDigits: 2 }
      : { maximumSignificantDigits: 4 };
  return new Intl.NumberFormat(language, { style: "currency", currency: "USD", ...digits }).format(value);
}

/** Digits before the decimal point. */
const wholeDigits = (value: number): number => Math.max(1, Math.floor(Math.log10(value)) + 1);
/** Most digits of an amount in a column. */
const columnDigits = 7;

/**
 * US dollars of one column, all with the same decimals: two significant digits of the smallest amount, as far as the
 * largest leaves room for them.
 */
export function dollarColumn(values: readonly number[]): (value: number) => string {
  const amounts = values.map(Math.abs).filter((value) => value > 0);
  const smallest = Math.min(1, ...amounts);
  const wanted = 1 - Math.floor(Math.log10(smallest));
  const decimals = Math.max(2, Math.min(wanted, columnDigits - wholeDigits(Math.max(1, ...amounts))));
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const { format } = new Intl.NumberFormat(language, { style: "currency", currency: "USD", ...digits });
  const least = 10 ** -decimals;
  return (value) => (value > 0 && value < least / 2 ? `<${format(least)}` : format(value));
}

const decimals = (digits: number): Intl.NumberFormat =>
  new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });

const fine = new Intl.NumberFormat(language, { minimumSignificantDigits: 2, maximumSignificantDigits: 2 });

/** Milliseconds below one second, of which fewer than ten have two significant digits; else seconds, else minutes. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds === 0) return "0 ms";
  if (milliseconds < 9.95) return `${fine.format(milliseconds)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${decimals(2).format(milliseconds / 1000)} s`;
  const seconds = Math.round(milliseconds / 1000);
  const minutes = `${Math.floor(seconds / 60)} min`;
  return seconds % 60 === 0 ? minutes : `${minutes} ${seconds % 60} s`;
}

/** A point in time in the viewer's zone; the input as it is where it is no time. */
export function formatTime(value: string | number): string {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? String(value) : moment.format(date);
}

export function formatDay(value: string | number): string {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? String(value) : day.format(date);
}

const hour = new Intl.DateTimeFormat(language, {
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
const date = new Intl.DateTimeFormat(language, { month: "short", day: "2-digit" });
const shortestDayMs = 23 * 3_600_000;

/** How the first of `times`, and all others, are read: as dates where a day or more is between two of them. */
export function pointFormat(times: readonly (string | number)[]): (time: string | number) => string {
  const [first = 0, second = first] = times.slice(0, 2).map((time) => new Date(time).getTime());
  const format = second - first >= shortestDayMs ? date : hour;
  return (time) => format.format(new Date(time));
}

const units: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** `5m ago`, `in 2d`. */
export function formatAgo(value: string | number, now = Date.now()): string {
  const distance = new Date(value).getTime() - now;
  if (Number.isNaN(distance)) return String(value);
  const [unit, size] = units.find(([, size]) => Math.round(Math.abs(distance) / size) >= 1) ?? ["second", 1000];
  return relative.format(Math.round(distance / size), unit);
}

/** Bytes as `1.2 MB`. */
export function formatBytes(value: number): string {
  if (value < 1000) return `${value} B`;
  if (value < 1_000_000) return `${decimals(1).format(value / 1000)} kB`;
  return `${decimals(1).format(value / 1_000_000)} MB`;
}
