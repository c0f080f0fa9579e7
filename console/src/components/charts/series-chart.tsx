import { Skeleton } from "@mantine/core";
import { lazy, type ReactNode, Suspense } from "react";

export interface Series {
  /** Member of the points. */
  readonly name: string;
  readonly label: string;
}

export interface SeriesChartProps {
  /** What the chart shows, for screen readers. */
  readonly label: string;
  /** Points in order; `at` is the label of the axis. */
  readonly points: readonly Readonly<Record<string, string | number>>[];
  readonly series: readonly Series[];
  readonly kind: "line" | "bar" | "stack";
  readonly format: (value: number) => string;
}

const Drawn = lazy(async () => ({ default: (await import("./drawn-chart.tsx")).DrawnChart }));

/** A chart with axes; its code is loaded when the first one is shown. */
export function SeriesChart(props: SeriesChartProps): ReactNode {
  return (
    <Suspense fallback={<Skeleton height={260} />}>
      <Drawn {...props} />
    </Suspense>
  );
}
