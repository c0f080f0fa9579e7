import { useHotkeys } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, memo, type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { text } from "@/text/frame.ts";
import classes from "./data-table.module.css";

export interface Column<T> {
  readonly key: string;
  readonly label: string;
  /** The label below 720 px. Default: `label`. */
  readonly narrowLabel?: string;
  readonly render: (row: T) => ReactNode;
  /** CSS grid track, for example `8rem` or `minmax(6rem, 1fr)`. Default: `minmax(6rem, 1fr)`. */
  readonly track?: string;
  /** The track below 720 px. Default: `track`, with a lower bound of 4.5rem. */
  readonly narrowTrack?: string;
  /** Figures stand flush right. */
  readonly figure?: boolean;
  /** Left out below 720 px. */
  readonly wide?: boolean;
  /** Only below 720 px, in place of a wide one. */
  readonly narrow?: boolean;
}

/** Rows by their place: an array, or what reads them when they come into view. */
export interface RowSource<T> {
  readonly length: number;
  /** Undefined: not read yet. */
  at(index: number): T | undefined;
}

interface DataTableProps<T> {
  /** What the table lists, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: RowSource<T>;
  readonly idOf: (row: T) => string;
  readonly onOpen?: ((row: T) => void) | undefined;
  /** Called with the first and the last place in view. */
  readonly onView?: ((first: number, last: number) => void) | undefined;
  /** Called when the last rows come into view and there are more. */
  readonly onEnd?: (() => void) | undefined;
  readonly hasMore?: boolean;
  /** Something else takes the keys, such as a drawer. */
  readonly isCovered?: boolean;
  /** Height of the scrolled area; default: what the window leaves. */
  readonly height?: string;
  /** Height of what stands above the table. Default: a title with one line of filters. */
  readonly above?: string;
}

const rowHeight = 36;

const defaultTrack = "minmax(6rem, 1fr)";

/**
 * A table of any length: only rows in view are in the document. `j`/`k` and the arrows move, `Enter` opens,
 * `Home` and `End` jump.
 */
export function DataTable<T>(props: DataTableProps<T>): ReactNode {
  const { label, columns, rows, idOf, onOpen, onView, onEnd, hasMore = false, height, above = "13rem" } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const { active, setActive, onKeyDown } = useRowKeys(props, scroller, (index) => virtual.scrollToIndex(index));
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => onView?.(first, last), [first, last, onView]);
  useEffect(() => {
    if (hasMore && last >= rows.length - 10) onEnd?.();
  }, [hasMore, last, rows.length, onEnd]);
  const tracks = { "--tracks": toTracks(columns), "--tracks-narrow": toNarrowTracks(columns), "--above": above };
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows are placed by their offset, which a table element does not do
    <div
      ref={scroller}
      role="table"
      aria-label={label}
      aria-rowcount={hasMore ? -1 : rows.length + 1}
      className={classes.scroller}
      style={{ ...tracks, height }}
      onKeyDown={onKeyDown}
    >
      <Head columns={columns} />
      {/* biome-ignore lint/a11y/useSemanticElements: as above */}
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {items.map(({ index, start }) => {
          const row = rows.at(index);
          if (row === undefined) return <UnreadRow key={`unread-${index}`} start={start} />;
          const place = { index, start, active: index === active };
          return <MemoRow key={idOf(row)} columns={columns} row={row} {...place} onFocus={setActive} onOpen={onOpen} />;
        })}
      </div>
      {hasMore && <div className={classes.more}>{text.common.loading}</div>}
    </div>
  );
}

/** Which row takes the keys, and what the keys do. */
function useRowKeys<T>(
  { rows, onOpen, isCovered = false }: DataTableProps<T>,
  scroller: RefObject<HTMLDivElement | null>,
  scrollTo: (index: number) => void,
) {
  const [active, setActive] = useState(0);
  /** A row takes the focus with the next frame: keys until then move on from it. */
  const isMoving = useRef(false);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    setActive(next);
    scrollTo(next);
    isMoving.current = true;
    requestAnimationFrame(() => {
      isMoving.current = false;
      scroller.current?.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus();
    });
  };
  const next = () => move(active + (isMoving.current || scroller.current?.contains(document.activeElement) ? 1 : 0));
  useHotkeys(
    isCovered
      ? []
      : [
          ["j", next],
          ["k", () => move(active - 1)],
        ],
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      Home: 0,
      End: rows.length - 1,
      PageDown: active + 15,
      PageUp: active - 15,
    };
    const row = rows.at(active);
    const onRow = event.target instanceof HTMLElement && event.target.dataset.index !== undefined;
    if (event.key === "Enter" && onRow && row !== undefined) onOpen?.(row);
    const to = steps[event.key];
    if (to === undefined || !onRow) return;
    event.preventDefault();
    move(to);
  };
  return { active, setActive, onKeyDown };
}

interface BodyRowProps<T> {
  readonly columns: readonly Column<T>[];
  readonly row: T;
  readonly index: number;
  readonly start: number;
  readonly active: boolean;
  readonly onFocus: (index: number) => void;
  readonly onOpen: ((row: T) => void) | undefined;
}

function BodyRow<T>({ columns, row, index, start, active, onFocus, onOpen }: BodyRowProps<T>): ReactNode {
  return (
    // biome-ignore lint/a11y/useSemanticElements: as in DataTable
    // biome-ignore lint/a11y/useKeyWithClickEvents: the table takes the keys of its rows
    <div
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      data-opens={onOpen !== undefined || undefined}
      className={classes.row}
      style={{ transform: `translateY(${start}px)` }}
      tabIndex={active ? 0 : -1}
      onFocus={() => onFocus(index)}
      onClick={() => onOpen?.(row)}
    >
      <Cells columns={columns} row={row} />
    </div>
  );
}

// `memo` keeps no type parameters: rows that stay in view while others scroll past are not drawn again.
const MemoRow = memo(BodyRow) as typeof BodyRow;

function UnreadRow({ start }: { readonly start: number }): ReactNode {
  return (
    <div className={classes.row} style={{ transform: `translateY(${start}px)` }} aria-hidden="true">
      <span className={classes.unread} />
    </div>
  );
}

function toTracks<T>(columns: readonly Column<T>[]): string {
  return columns
    .filter(({ narrow }) => narrow !== true)
    .map(({ track }) => track ?? defaultTrack)
    .join(" ");
}

/** Tracks for small screens: columns that can give way do so, before one is cut off. */
function toNarrowTracks<T>(columns: readonly Column<T>[]): string {
  return columns
    .filter(({ wide }) => wide !== true)
    .map(({ track = defaultTrack, narrowTrack }) => narrowTrack ?? track.replace(/^minmax\([\d.]+rem/, "minmax(4.5rem"))
    .join(" ");
}

function Head<T>({ columns }: { readonly columns: readonly Column<T>[] }): ReactNode {
  return (
    // biome-ignore lint/a11y/useSemanticElements: as in DataTable
    // biome-ignore lint/a11y/useFocusableInteractive: the head takes no keys
    <div role="row" className={classes.head}>
      {columns.map(({ key, label, narrowLabel, figure, wide, narrow }) => (
        // biome-ignore lint/a11y/useSemanticElements: as in DataTable
        // biome-ignore lint/a11y/useFocusableInteractive: as above
        <div key={key} role="columnheader" data-figure={figure} data-wide={wide} data-narrow={narrow}>
          {narrowLabel === undefined ? (
            label
          ) : (
            <>
              <span data-wide="true">{label}</span>
              <span data-narrow="true">{narrowLabel}</span>
            </>
          )}
        </div>
      ))}
    </div>
  );
}

function Cells<T>({ columns, row }: { readonly columns: readonly Column<T>[]; readonly row: T }): ReactNode {
  return columns.map(({ key, render, figure, wide, narrow }) => (
    // biome-ignore lint/a11y/useSemanticElements: as in DataTable
    <div key={key} role="cell" data-figure={figure} data-wide={wide} data-narrow={narrow} className={classes.cell}>
      {render(row)}
    </div>
  ));
}
