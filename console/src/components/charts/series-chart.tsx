import { Skeleton } from "@mantine/core";
import { lazy, type ReactNode, Suspense } from "react";
import type { SeriesChartProps } from "./series.ts";

const Drawn = lazy(async () => ({ default: (await import("./drawn-chart.tsx")).DrawnChart }));

/** A chart with axes; its code is loaded when the first one is shown. */
export function SeriesChart(props: SeriesChartProps): ReactNode {
  return (
    <Suspense fallback={<Skeleton height={260} />}>
      <Drawn {...props} />
    </Suspense>
  );
}
