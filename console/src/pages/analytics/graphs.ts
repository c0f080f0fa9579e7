import type { Series, SeriesChartProps } from "@/components/charts/series.ts";
import { formatDollars, formatDuration, formatNumber, formatShare } from "@/lib/format.ts";
import { type Row, readPath, readText, rowsOf } from "@/lib/read.ts";
import { text } from "@/text/text.ts";

const words = text.analytics;

type Figure = (value: number) => string;

/** How a graph of the API is drawn. */
export interface Graph {
  /** End of its path below `/v1/analytics/`. */
  readonly path: string;
  readonly label: string;
  readonly kind: SeriesChartProps["kind"];
  readonly format: Figure;
  readonly series: (points: readonly Row[]) => readonly Series[];
  /** Figures of a point by the names of the series. Default: the members of the point. */
  readonly figures?: (point: Row) => Readonly<Record<string, number>>;
  /** Member that names a point. Default: its time. */
  readonly at?: string;
}

const cents: Figure = (value) => formatDollars(value / 100);
const percent: Figure = (value) => formatShare(value / 100);
const signed: Figure = (value) => value.toLocaleString(undefined, { maximumFractionDigits: 2 });

const fixed =
  (...names: readonly (keyof typeof words.series)[]) =>
  (): readonly Series[] =>
    names.map((name) => ({ name, label: words.series[name] }));

type GraphText = keyof typeof words.graphs;

function graph(
  path: GraphText,
  kind: Graph["kind"],
  format: Figure,
  series: Graph["series"],
  more: Partial<Graph> = {},
): Graph {
  return { path: `graphs/${path}`, label: words.graphs[path], kind, format, series, ...more };
}

/** Statuses found in any point, as one series each. */
function statusSeries(points: readonly Row[]): readonly Series[] {
  const codes = new Set(
    points.flatMap((point) => rowsOf(point.stats).map((one) => readText(one, "response_status_code"))),
  );
  return [...codes].sort().map((code) => ({ name: code, label: code }));
}

const statusFigures = (point: Row): Readonly<Record<string, number>> =>
  Object.fromEntries(rowsOf(point.stats).map((one) => [readText(one, "response_status_code"), Number(one.count)]));

/** Every graph of the API. */
export const graphs: readonly Graph[] = [
  graph("requests", "bar", formatNumber, fixed("total")),
  graph("cost", "bar", cents, fixed("total")),
  graph("tokens", "bar", formatNumber, fixed("total")),
  graph("latency", "line", formatDuration, fixed("p50", "p90", "p99", "avg")),
  graph("users", "bar", formatNumber, fixed("total")),
  graph("users/requests", "line", signed, fixed("avg")),
  graph("errors", "bar", formatNumber, fixed("total")),
  graph("errors/rate", "line", percent, fixed("rate")),
  graph("errors/stacks", "stack", formatNumber, statusSeries, { figures: statusFigures }),
  graph("errors/status-codes", "bar", formatNumber, fixed("count"), { at: "status_code" }),
  graph("requests/rescued", "stack", formatNumber, fixed("retry", "fallback"), {
    figures: (point) => ({
      retry: rowsOf(point.retry).reduce((sum, { count }) => sum + Number(count), 0),
      fallback: Number(point.fallback),
    }),
  }),
  graph("cache/hit-rate", "stack", formatNumber, fixed("simple_hits", "semantic_hits")),
  graph("cache/latency", "line", formatDuration, fixed("avg")),
  graph("feedbacks", "bar", formatNumber, fixed("total")),
  graph("feedbacks/scores", "bar", formatNumber, fixed("total"), { at: "score" }),
  graph("feedbacks/weighted", "line", signed, fixed("avg")),
  graph("feedbacks/ai-models", "bar", signed, fixed("total", "avg_weighted_feedback"), { at: "ai_model" }),
];

export interface Drawn {
  readonly points: readonly Readonly<Record<string, string | number>>[];
  readonly series: readonly Series[];
}

const dayMs = 86_400_000;

/** Words of the axis for a time: hours within two days, else days. */
function labelOf(time: string, span: number): string {
  const date = new Date(time);
  return span <= 2 * dayMs
    ? date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
    : date.toLocaleDateString(undefined, { month: "short", day: "numeric" });
}

/** The points of an answer, ready to be drawn and listed. */
export function toDrawn({ series, figures, at }: Graph, answer: unknown): Drawn {
  const points = rowsOf(readPath(answer, "data_points"));
  const shown = series(points);
  const span = Date.parse(readText(points.at(-1), "timestamp")) - Date.parse(readText(points[0], "timestamp"));
  return {
    series: shown,
    points: points.map((point) => {
      const values = figures?.(point);
      const numbers = Object.fromEntries(
        shown.map(({ name }) => [name, values?.[name] ?? (values === undefined ? Number(point[name] ?? 0) : 0)]),
      );
      const label = at === undefined ? labelOf(readText(point, "timestamp"), span) : readText(point, at);
      return { at: label, time: readText(point, "timestamp"), ...numbers };
    }),
  };
}
