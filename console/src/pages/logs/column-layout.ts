import { isJsonObject } from "@/lib/json.ts";
import type { LogColumn } from "./columns.tsx";
import { readColumns, type ViewColumn, writeColumns } from "./views/question.ts";

/** Which columns the list shows, in which order and how wide. Stored in this browser. */
export interface ColumnLayout {
  /** Keys of columns in order; others stand behind. */
  readonly order: readonly string[];
  /** Whether a column is shown, where that is not its default. */
  readonly shown: Readonly<Record<string, boolean>>;
  /** Widths in rem. */
  readonly widths: Readonly<Record<string, number>>;
}

const storageKey = "console.logs.columns";
export const plainLayout: ColumnLayout = { order: [], shown: {}, widths: {} };
/** Bounds of a width, in rem. */
export const widthBounds = { min: 3, max: 40 };

const pick = <Value>(value: unknown, isValue: (one: unknown) => one is Value): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(isJsonObject(value) ? value : {}).flatMap(([key, one]) => (isValue(one) ? [[key, one]] : [])),
  );

const isShown = (one: unknown): one is boolean => typeof one === "boolean";
const isWidth = (one: unknown): one is number =>
  typeof one === "number" && one >= widthBounds.min && one <= widthBounds.max;

/** The layout of this browser. What was changed there by other means is read as far as it makes sense. */
export function readLayout(): ColumnLayout {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? "{}");
    if (!isJsonObject(stored)) return plainLayout;
    const order = Array.isArray(stored.order) ? stored.order.filter((key) => typeof key === "string") : [];
    return { order, shown: pick(stored.shown, isShown), widths: pick(stored.widths, isWidth) };
  } catch {
    return plainLayout;
  }
}

export function storeLayout(layout: ColumnLayout): void {
  localStorage.setItem(storageKey, JSON.stringify(layout));
}

/** The layout that an address names: its columns, and no others. */
export function layoutOf(columns: readonly LogColumn[], named: string): ColumnLayout {
  const given = readColumns(named);
  const names = new Set(given.map(({ name }) => name));
  const widths = given.flatMap(({ name, width }) => (isWidth(width) ? [[name, width] as const] : []));
  return {
    order: [...names],
    shown: Object.fromEntries(columns.map(({ key }) => [key, names.has(key)])),
    widths: Object.fromEntries(widths),
  };
}

/** The columns that a layout shows, as an address names them. */
export function nameLayout(columns: readonly LogColumn[], layout: ColumnLayout): string {
  const shown = inOrder(columns, layout).filter((column) => isColumnShown(column, layout));
  return writeColumns(
    shown.map(({ key }): ViewColumn => {
      const width = layout.widths[key];
      return width === undefined ? { name: key } : { name: key, width };
    }),
  );
}

/** All columns in the order of a layout. */
export function inOrder(columns: readonly LogColumn[], { order }: ColumnLayout): readonly LogColumn[] {
  const place = new Map(order.map((key, index) => [key, index]));
  const placeOf = ({ key }: LogColumn) => place.get(key) ?? order.length;
  return columns.toSorted((one, other) => placeOf(one) - placeOf(other));
}

export const isColumnShown = ({ key, extra = false }: LogColumn, { shown }: ColumnLayout): boolean =>
  shown[key] ?? !extra;

/** The columns that the list shows. At least one is. */
export function arrange(columns: readonly LogColumn[], layout: ColumnLayout): readonly LogColumn[] {
  const shown = inOrder(columns, layout).filter((column) => isColumnShown(column, layout));
  const chosen = shown.length === 0 ? columns.slice(0, 1) : shown;
  return chosen.map((column) => {
    const width = layout.widths[column.key];
    if (width === undefined) return column;
    const narrowTrack = column.narrowTrack ?? column.track;
    return { ...column, track: `${width}rem`, ...(narrowTrack !== undefined && { narrowTrack }) };
  });
}
