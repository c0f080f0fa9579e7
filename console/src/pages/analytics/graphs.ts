import type { AnswerOf } from "@/api/client.ts";
import type { Of } from "@/components/attribute.ts";
import type { Series, SeriesChartProps } from "@/components/charts/series.ts";
import { formatDollars, formatDuration, formatNumber, formatShare } from "@/lib/format.ts";
import { locale } from "@/text/locale.ts";
import { text } from "@/text/text.ts";

const words = text.analytics;

type Figure = (value: number) => string;

/** Graphs of the API by the end of their path. */
type GraphName = keyof typeof words.graphs;

/** A point of a graph. */
type PointOf<N extends GraphName> = AnswerOf<`GET /v1/analytics/graphs/${N}`>["data_points"][number];

/** Members of a point that are drawn. */
type Drawable<N extends GraphName> = keyof PointOf<N> & keyof typeof words.series;

/** How a graph of the API is drawn. */
export interface Graph {
  readonly name: GraphName;
  readonly label: string;
  readonly kind: SeriesChartProps["kind"];
  readonly format: Figure;
  readonly series: Of<readonly object[], readonly Series[]>;
  /** Figures of a point by the names of the series. */
  readonly figures: Of<object, Readonly<Record<string, number>>>;
  /** What names the points. Default: their times. */
  readonly at?: { readonly label: string; readonly of: Of<object, string> };
}

const cents: Figure = (value) => formatDollars(value / 100);
const percent: Figure = (value) => formatShare(value / 100);
const signed: Figure = (value) => value.toLocaleString(locale(), { maximumFractionDigits: 2 });

interface GraphParts<N extends GraphName> {
  readonly series?: (points: readonly PointOf<N>[]) => readonly Series[];
  readonly figures?: (point: PointOf<N>) => Readonly<Record<string, number>>;
  readonly at?: keyof PointOf<N> & string;
}

function graph<N extends GraphName>(
  name: N,
  [kind, format]: readonly [Graph["kind"], Figure],
  members: readonly Drawable<N>[],
  { series, figures, at }: GraphParts<N> = {},
): Graph {
  const fixed = members.map((member) => ({ name: member, label: words.series[member] }));
  const ofMembers = (point: PointOf<N>) =>
    Object.fromEntries(members.map((member) => [member, Number(point[member] ?? 0)]));
  return {
    name,
    label: words.graphs[name],
    kind,
    format,
    series: series ?? (() => fixed),
    figures: figures ?? ofMembers,
    ...(at !== undefined && { at: { label: at, of: (point: PointOf<N>) => String(point[at]) } }),
  };
}

/** Every graph of the API. */
export const graphs: readonly Graph[] = [
  graph("requests", ["bar", formatNumber], ["total"]),
  graph("cost", ["bar", cents], ["total"]),
  graph("tokens", ["bar", formatNumber], ["total"]),
  graph("latency", ["line", formatDuration], ["p50", "p90", "p99", "avg"]),
  graph("users", ["bar", formatNumber], ["total"]),
  graph("users/requests", ["line", signed], ["avg"]),
  graph("errors", ["bar", formatNumber], ["total"]),
  graph("errors/rate", ["line", percent], ["rate"]),
  graph("errors/stacks", ["stack", formatNumber], [], {
    // statuses found in any point, as one series each
    series: (points) =>
      [...new Set(points.flatMap(({ stats }) => stats.map((one) => String(one.response_status_code))))]
        .sort()
        .map((code) => ({ name: code, label: code })),
    figures: ({ stats }) => Object.fromEntries(stats.map((one) => [String(one.response_status_code), one.count])),
  }),
  graph("errors/status-codes", ["bar", formatNumber], ["count"], { at: "status_code" }),
  graph("requests/rescued", ["stack", formatNumber], ["retry", "fallback"], {
    figures: ({ retry, fallback }) => ({ retry: retry.reduce((sum, { count }) => sum + count, 0), fallback }),
  }),
  graph("cache/hit-rate", ["stack", formatNumber], ["simple_hits", "semantic_hits"]),
  graph("cache/latency", ["line", formatDuration], ["avg"]),
  graph("cache/prompt", ["bar", cents], ["saved_cost"]),
  graph("auto/savings", ["bar", cents], ["saved_cost"]),
  graph("feedbacks", ["bar", formatNumber], ["total"]),
  graph("feedbacks/scores", ["bar", formatNumber], ["total"], { at: "score" }),
  graph("feedbacks/weighted", ["line", signed], ["avg"]),
  graph("feedbacks/ai-models", ["bar", signed], ["total", "avg_weighted_feedback"], { at: "ai_model" }),
];

/** Points of most graphs. */
type Timed = PointOf<"requests">;

/** What every graph answers with. */
export interface GraphAnswer {
  readonly summary: Readonly<Record<string, number>>;
  readonly data_points: readonly object[];
}

export interface Drawn {
  readonly points: readonly Readonly<Record<string, string | number>>[];
  readonly series: readonly Series[];
}

const dayMs = 86_400_000;

/** Words of the axis for a time: hours within two days, else days. */
function labelOf(time: string, span: number): string {
  const date = new Date(time);
  return span <= 2 * dayMs
    ? date.toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
    : date.toLocaleDateString(locale(), { month: "short", day: "numeric" });
}

/** The time of a point; empty where points are named by something else. */
const timeOf = (point: object | Timed): string => ("timestamp" in point ? point.timestamp : "");

/** The points of an answer, ready to be drawn and listed. */
export function toDrawn({ series, figures, at }: Graph, answer: GraphAnswer | undefined): Drawn {
  const points = answer?.data_points ?? [];
  const shown = series(points);
  const [first = "", last = ""] = [points[0], points.at(-1)].map((point) => point && timeOf(point));
  const span = Date.parse(last) - Date.parse(first);
  return {
    series: shown,
    points: points.map((point) => {
      const time = timeOf(point);
      const values = figures(point);
      const numbers = Object.fromEntries(shown.map(({ name }) => [name, values[name] ?? 0]));
      return { at: at === undefined ? labelOf(time, span) : at.of(point), time, ...numbers };
    }),
  };
}
