import { type Answer, get, type PathOf } from "@/api/client.ts";
import { startOfMonth } from "@/lib/period.ts";
import { text } from "@/text/text.ts";
import type { Grouping } from "./groups.ts";

const words = text.analytics;

type SeriesRoute = Extract<PathOf<"get">, `/v1/analytics/series/${string}`>;

/** A figure by group over time, whatever it is grouped by. */
export type SeriesAnswer = Omit<ModelSeries, "data"> & {
  readonly data: readonly Omit<ModelSeries["data"][number], "model">[];
};

type ModelSeries = Answer<"/v1/analytics/series/model", "get">;

export type Figure = keyof typeof words.figures;

export const figures = Object.keys(words.figures) as Figure[]; // its own keys

/** The figure that an address names. */
export const readFigure = (name: string | undefined): Figure => figures.find((figure) => figure === name) ?? "cost";

/** Reads a figure by group over time. */
export function readSeries(
  { route, key = "" }: Grouping,
  query: Readonly<Record<string, string | number | undefined>>,
  signal: AbortSignal,
): Promise<SeriesAnswer> {
  // every grouping has both routes
  const path = route.replace("/groups/", "/series/") as SeriesRoute;
  return get(path, { path: { metadataKey: key }, query, signal });
}

/** Each number added to those before it. */
export function runningSum(values: readonly number[]): readonly number[] {
  let sum = 0;
  return values.map((value) => {
    sum += value;
    return sum;
  });
}

const dayMs = 86_400_000;

/** What a month comes to if it goes on as it began. */
export interface Forecast {
  readonly total: number;
  /** For each day that has not begun yet, its part. */
  readonly days: readonly number[];
  /** Unix milliseconds: the last day of the month. */
  readonly end: number;
  /** When the sum reaches a bound; undefined: not in this month. */
  readonly reaches: (bound: number) => number | undefined;
}

/** @param now End of what `total` counts, which began with its month. */
export function toForecast(total: number, now: number): Forecast | undefined {
  const [start, next] = [startOfMonth(now), startOfMonth(now, 1)];
  if (now <= start || total <= 0) return undefined;
  const pace = total / (now - start);
  const tomorrow = Math.floor(now / dayMs) * dayMs + dayMs;
  const days = Array.from({ length: Math.max(0, Math.round((next - tomorrow) / dayMs)) }, () => pace * dayMs);
  return {
    total: pace * (next - start),
    days,
    end: next - 1,
    reaches: (bound) => (bound / pace < next - start ? start + bound / pace : undefined),
  };
}
