import type { ReactNode } from "react";
import classes from "./charts.module.css";

interface SparkProps {
  readonly values: readonly number[];
  /** What the bars show, for screen readers. */
  readonly label: string;
  /** Words for one bar. */
  readonly describe: (index: number) => string;
}

const height = 40;

/** A small chart of bars without axes. The figures stand in a table elsewhere on the page. */
export function Spark({ values, label, describe }: SparkProps): ReactNode {
  const most = Math.max(...values, 0);
  return (
    <svg
      role="img"
      aria-label={label}
      className={classes.spark}
      viewBox={`0 0 ${Math.max(1, values.length)} ${height}`}
      preserveAspectRatio="none"
    >
      {values.map((value, index) => {
        const tall = most === 0 ? 0 : Math.max(value > 0 ? 1.5 : 0, (value / most) * (height - 2));
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
          <g key={index}>
            <title>{describe(index)}</title>
            <rect x={index} y={0} width={1} height={height} className={classes.hit} />
            <rect x={index + 0.12} y={height - tall} width={0.76} height={tall} className={classes.bar} />
          </g>
        );
      })}
      <line x1={0} x2={values.length} y1={height - 0.25} y2={height - 0.25} className={classes.base} />
    </svg>
  );
}
