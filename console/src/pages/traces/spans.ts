// The rows of a trace as a tree. Ids of spans come from callers: they may repeat, be missing, or lead in a circle.

/** What places a row in its trace. */
export interface SpanRow {
  readonly id: string;
  readonly span: string;
  /** Empty: none. */
  readonly parent: string;
  /** Unix milliseconds. */
  readonly start: number;
  readonly duration: number;
}

/** A row with its place. */
export interface Placed<T> {
  readonly row: T;
  /** 1 for rows without a parent in the trace. */
  readonly level: number;
}

/** Rows in the order of a tree: each behind its parent, and children by the time they began. Each row occurs once. */
export function toTree<T extends SpanRow>(rows: readonly T[]): readonly Placed<T>[] {
  const sorted = rows.toSorted((one, other) => one.start - other.start || (one.id < other.id ? -1 : 1));
  const bySpan = new Map<string, T>();
  for (const row of sorted) if (!bySpan.has(row.span)) bySpan.set(row.span, row);
  const parentOf = (row: T) => {
    const parent = row.parent === "" ? undefined : bySpan.get(row.parent);
    return parent === row ? undefined : parent;
  };
  const children = Map.groupBy(sorted, parentOf);
  const placed: Placed<T>[] = [];
  const seen = new Set<T>();
  const place = (roots: readonly T[]) => {
    const waiting = roots.map((row) => ({ row, level: 1 })).toReversed();
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { row, level } = next;
      if (seen.has(row)) continue;
      seen.add(row);
      placed.push(next);
      waiting.push(...(children.get(row) ?? []).map((child) => ({ row: child, level: level + 1 })).toReversed());
    }
  };
  place(children.get(undefined) ?? []);
  // what only leads to itself begins with its first row
  for (const row of sorted) if (!seen.has(row)) place([row]);
  return placed;
}

/** When a trace began and how long it took, in milliseconds. */
export function extentOf(rows: readonly SpanRow[]): { readonly start: number; readonly length: number } {
  if (rows.length === 0) return { start: 0, length: 0 };
  // a spread of thousands of rows would be too many arguments
  const start = rows.reduce((first, row) => Math.min(first, row.start), Number.POSITIVE_INFINITY);
  const end = rows.reduce((last, row) => Math.max(last, row.start + row.duration), 0);
  return { start, length: end - start };
}
