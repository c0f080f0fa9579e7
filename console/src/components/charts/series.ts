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
