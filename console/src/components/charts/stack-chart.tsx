import { useElementSize } from "@mantine/hooks";
import { type PointerEvent, type ReactNode, useState } from "react";
import classes from "./charts.module.css";
import { toTicks } from "./ticks.ts";

/** The values of one group, a number for each point. */
interface StackRow {
  readonly label: string;
  readonly values: readonly number[];
}

interface StackChartProps {
  /** What the chart shows, for screen readers: its figures stand in a table beside it. */
  readonly label: string;
  readonly rows: readonly StackRow[];
  /** The same in all of the period before, as a line. */
  readonly before?: readonly number[] | undefined;
  /** What is expected at further points. */
  readonly ahead: readonly number[];
  /** Bounds that are drawn across, by their labels. */
  readonly bounds: readonly (readonly [label: string, value: number])[];
  readonly format: (value: number) => string;
  /** Words for a point, those ahead included. */
  readonly timeOf: (index: number) => string;
  readonly onPick: (index: number) => void;
  /** A range of points was drawn over. */
  readonly onZoom: (first: number, last: number) => void;
}

const [height, left, top, bottom] = [260, 72, 12, 24];

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** Colour of a row; the last one of many is what all others have together. */
const colourOf = (index: number): string => `var(--series-${(index % 6) + 1})`;

/** Bars of groups on each other, over time. A click picks a point, a drag a range of them. */
export function StackChart(props: StackChartProps): ReactNode {
  const { label, rows, before, ahead, bounds, format, timeOf, onPick, onZoom } = props;
  const { ref, width } = useElementSize();
  const [drag, setDrag] = useState<readonly [number, number]>();
  const points = rows[0]?.values.length ?? 0;
  const totals = Array.from({ length: points }, (_, at) => sum(rows.map(({ values }) => values[at] ?? 0)));
  const most = Math.max(0, ...totals, ...ahead, ...(before ?? []), ...bounds.map(([, value]) => value));
  const ticks = toTicks({ least: 0, most, isCount: [...totals, ...ahead].every(Number.isInteger) });
  const step = Math.max(1, width - left) / Math.max(1, points + ahead.length);
  const y = (value: number) => height - bottom - ((height - bottom - top) * value) / (ticks.at(-1) ?? 1);
  const x = (index: number) => left + index * step;
  const indexAt = (event: PointerEvent<SVGSVGElement>) => {
    const place = event.clientX - event.currentTarget.getBoundingClientRect().left - left;
    return Math.max(0, Math.min(points - 1, Math.floor(place / step)));
  };
  const release = () => {
    if (drag === undefined) return;
    setDrag(undefined);
    const [first, last] = [Math.min(...drag), Math.max(...drag)];
    if (first === last) onPick(first);
    else onZoom(first, last);
  };
  return (
    <div ref={ref} className={classes.stack}>
      <svg
        role="img"
        aria-label={label}
        width="100%"
        height={height}
        onPointerDown={(event) => setDrag([indexAt(event), indexAt(event)])}
        onPointerMove={(event) => drag !== undefined && setDrag([drag[0], indexAt(event)])}
        onPointerUp={release}
        onPointerLeave={() => setDrag(undefined)}
      >
        {ticks.map((tick) => (
          <Across key={tick} y={y(tick)} label={format(tick)} />
        ))}
        {totals.map((total, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
          <g key={at}>
            <title>{`${timeOf(at)}: ${format(total)}`}</title>
            <rect x={x(at)} y={top} width={step} height={height - bottom - top} className={classes.hit} />
            <Pile at={at} rows={rows} x={x(at) + step * 0.1} width={step * 0.8} y={y} format={format} />
          </g>
        ))}
        {ahead.map((value, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
          <g key={at}>
            <title>{`${timeOf(points + at)}: ${format(value)}`}</title>
            <rect
              x={x(points + at) + step * 0.1}
              y={y(value)}
              width={step * 0.8}
              height={height - bottom - y(value)}
              className={classes.ahead}
            />
          </g>
        ))}
        {before !== undefined && (
          <polyline
            points={before.map((value, at) => `${x(at) + step / 2},${y(value)}`).join(" ")}
            className={classes.before}
          />
        )}
        {bounds.map(([name, value]) => (
          <Bound key={`${name} ${value}`} name={name} y={y(value)} />
        ))}
        <Times count={points + ahead.length} width={width - left} timeOf={timeOf} />
        {drag !== undefined && drag[0] !== drag[1] && (
          <rect
            x={x(Math.min(...drag))}
            y={top}
            width={(Math.abs(drag[1] - drag[0]) + 1) * step}
            height={height - bottom - top}
            className={classes.drag}
          />
        )}
      </svg>
    </div>
  );
}

interface TimesProps {
  readonly count: number;
  /** Of all points, in pixels. */
  readonly width: number;
  readonly timeOf: (index: number) => string;
}

/** The times of points below them, as many as there is room for. */
function Times({ count, width, timeOf }: TimesProps): ReactNode {
  const step = Math.max(1, width) / Math.max(1, count);
  const every = Math.max(1, Math.ceil(count / Math.max(1, Math.floor(width / 90))));
  return Array.from({ length: Math.ceil(count / every) }, (_, place) => place * every).map((at) => (
    <text key={at} x={left + (at + 0.5) * step} y={height - 6} textAnchor="middle" className={classes.tick}>
      {timeOf(at)}
    </text>
  ));
}

/** A line of the grid with its figure at the axis. */
function Across({ y, label }: { readonly y: number; readonly label: string }): ReactNode {
  return (
    <g>
      <line x1={left} x2="100%" y1={y} y2={y} className={classes.grid} />
      <text x={left - 8} y={y + 4} textAnchor="end" className={classes.tick}>
        {label}
      </text>
    </g>
  );
}

/** A line that should not be passed, with its name. */
function Bound({ y, name }: { readonly y: number; readonly name: string }): ReactNode {
  return (
    <g>
      <line x1={left} x2="100%" y1={y} y2={y} className={classes.bound} />
      <text x={left + 4} y={y - 4} className={classes.tick}>
        {name}
      </text>
    </g>
  );
}

interface PileProps {
  readonly at: number;
  readonly rows: readonly StackRow[];
  readonly x: number;
  readonly width: number;
  readonly y: (value: number) => number;
  readonly format: (value: number) => string;
}

/** The bar of one point. */
function Pile({ at, rows, x, width, y, format }: PileProps): ReactNode {
  let below = 0;
  return rows.map(({ label, values }, index) => {
    const value = values[at] ?? 0;
    const [from, to] = [y(below), y(below + value)];
    below += value;
    return (
      value > 0 && (
        <rect
          // biome-ignore lint/suspicious/noArrayIndexKey: groups have no state, and their names may repeat
          key={index}
          x={x}
          y={to}
          width={width}
          height={Math.max(0.5, from - to)}
          style={{ fill: index === rows.length - 1 && rows.length > 6 ? "var(--ink-soft)" : colourOf(index) }}
        >
          <title>{`${label}: ${format(value)}`}</title>
        </rect>
      )
    );
  });
}
