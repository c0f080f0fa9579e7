import "@mantine/charts/styles.css";
import { BarChart, LineChart } from "@mantine/charts";
import type { ReactNode } from "react";
import type { SeriesChartProps } from "./series.ts";
import { type AxisRange, toTicks } from "./ticks.ts";

/** Dashes tell lines apart where colours do not. */
const dashes = ["0", "6 3", "2 3", "8 3 2 3", "4 4", "1 4"];

/** The least and the most that bars or lines reach. */
function rangeOf(
  points: SeriesChartProps["points"],
  series: SeriesChartProps["series"],
  kind: SeriesChartProps["kind"],
): AxisRange {
  const rows = points.map((point) => series.map(({ name }) => Number(point[name] ?? 0)));
  const ends = kind === "stack" ? rows.map((row) => row.reduce((sum, value) => sum + value, 0)) : rows.flat();
  // half a request is none
  return { least: Math.min(0, ...ends), most: Math.max(0, ...ends), isCount: rows.flat().every(Number.isInteger) };
}

/** Loaded by `SeriesChart`. */
export function DrawnChart({ label, points, series, kind, format }: SeriesChartProps): ReactNode {
  const ticks = [...toTicks(rangeOf(points, series, kind))];
  const shared = {
    h: 260,
    data: points.map((point) => ({ ...point })),
    dataKey: "at",
    valueFormatter: format,
    withLegend: series.length > 1,
    tickLine: "none" as const,
    gridAxis: "x" as const,
    yAxisProps: { width: 64, ticks, domain: [ticks[0] ?? 0, ticks.at(-1) ?? 1] },
    xAxisProps: { minTickGap: 24 },
  };
  // the label of the highest line needs room above it to stand beside it
  const margin = { top: 12 };
  const colour = (index: number) => `var(--series-${(index % 6) + 1})`;
  return (
    <div role="img" aria-label={label}>
      {kind === "line" ? (
        <LineChart
          {...shared}
          curveType="linear"
          withDots={points.length < 2}
          strokeWidth={1.75}
          lineChartProps={{ margin }}
          lineProps={{ isAnimationActive: false }}
          series={series.map(({ name, label: words }, index) => ({
            name,
            label: words,
            color: colour(index),
            strokeDasharray: dashes[index % dashes.length] ?? "0",
          }))}
        />
      ) : (
        <BarChart
          {...shared}
          type={kind === "stack" ? "stacked" : "default"}
          barChartProps={{ margin }}
          barProps={{ isAnimationActive: false }}
          maxBarWidth={40}
          series={series.map(({ name, label: words }, index) => ({ name, label: words, color: colour(index) }))}
        />
      )}
    </div>
  );
}
