import type { Column } from "../../lib/columns.ts";
import type { Slice } from "../../schemas/log-segments.ts";
import { type Condition, idAt, matchRows, numberAt } from "./conditions.ts";
import type { FieldName } from "./fields.ts";
import type { IndexScope, LogIndex, RowView } from "./log-index.ts";
import { type RowTest, testRows } from "./row-block.ts";

/** Ids between which rows are wanted: `lower` inclusive, `upper` exclusive. */
export interface IdRange {
  readonly lower: string;
  readonly upper: string;
}

/** What is wanted of the rows of a scope. */
export interface RowQuery extends IdRange {
  readonly conditions: readonly Condition[];
  /** Rows must pass all. */
  readonly tests?: readonly RowTest[];
}

/** A row that was found, and the number of its batch. */
export interface FoundRow {
  readonly id: string;
  readonly seq: number;
}

const isInRange = ({ firstId, lastId }: Pick<Slice, "firstId" | "lastId">, { lower, upper }: IdRange): boolean =>
  lastId >= lower && firstId < upper;

/** First row of a slice whose id is not below another. */
function rowFrom({ start, end }: Slice, ids: Column, least: string): number {
  let [from, to] = [start, end];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (idAt(ids, middle) < least) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The rows of a slice within a range of ids. */
async function narrow(slice: Slice, view: RowView, { lower, upper }: IdRange): Promise<{ start: number; end: number }> {
  if (slice.firstId >= lower && slice.lastId < upper) return slice;
  const { columnOf } = await view.open(["id"]);
  const ids = columnOf("id");
  return { start: rowFrom(slice, ids, lower), end: rowFrom(slice, ids, upper) };
}

/** Rows of one view that are wanted, slice by slice. */
export async function* matchView(
  view: RowView,
  { conditions, tests = [], ...range }: RowQuery,
  fields: readonly FieldName[] = [],
): AsyncGenerator<{ rows: Uint32Array; columnOf: (field: FieldName) => Column }> {
  if (!isInRange(view, range)) return;
  const all = [...view.conditions, ...conditions];
  const tested = tests.flatMap((test) => test.fields);
  const { slices, columnOf } = await view.open([...all.map(({ field }) => field), ...tested, ...fields]);
  for (const slice of slices) {
    if (!isInRange(slice, range)) continue;
    const met = matchRows(await narrow(slice, view, range), all, columnOf);
    const rows = testRows(met, columnOf, tests);
    if (rows.length > 0) yield { rows, columnOf };
  }
}

/** The newest of some rows, which are ordered by id; rows with the same id are one. */
function pickNewest(rows: Uint32Array, limit: number, { ids, seqs }: { ids: Column; seqs: Column }): FoundRow[] {
  const found: FoundRow[] = [];
  for (let index = rows.length - 1; index >= 0 && found.length < limit; index--) {
    const row = rows[index] ?? 0;
    const id = idAt(ids, row);
    if (found.at(-1)?.id !== id) found.push({ id, seq: seqs.kind === "numbers" ? numberAt(seqs, row) : 0 });
  }
  return found;
}

/** The newest rows of a view that are wanted, at most `limit` of each slice. */
async function findInView(view: RowView, query: RowQuery, limit: number): Promise<FoundRow[]> {
  const found: FoundRow[] = [];
  for await (const { rows } of matchView(view, query)) {
    const { columnOf } = await view.open(["id", "seq"]);
    found.push(...pickNewest(rows, limit, { ids: columnOf("id"), seqs: columnOf("seq") }));
  }
  return found;
}

/** Rows of two results, the newest first; rows with the same id are one. */
function merge(found: readonly FoundRow[], added: readonly FoundRow[], limit: number): FoundRow[] {
  return [...found, ...added]
    .sort((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0))
    .filter(({ id }, index, all) => all[index - 1]?.id !== id)
    .slice(0, limit);
}

/** For each view the newest id that it or a later one holds. */
function newestIds(views: readonly RowView[]): string[] {
  let newest = "";
  const ids = views.toReversed().map(({ lastId }) => {
    if (lastId > newest) newest = lastId;
    return newest;
  });
  return ids.toReversed();
}

/**
 * The newest rows of a scope that are wanted, newest first. Rows past their retention are left out.
 *
 * @param limit Most rows.
 */
export async function findRows(
  index: LogIndex,
  scope: IndexScope,
  { limit, ...wanted }: RowQuery & { limit: number },
): Promise<FoundRow[]> {
  const firstShown = await index.firstShown(scope);
  const query = firstShown > wanted.lower ? { ...wanted, lower: firstShown } : wanted;
  const views = await index.views(scope);
  const newest = newestIds(views);
  const pause = index.createPause();
  let found: FoundRow[] = [];
  for (const [position, view] of views.entries()) {
    // views overlap in time, but no later one holds an id above this one
    if (found.length === limit && (found.at(-1)?.id ?? "") > (newest[position] ?? "")) break;
    const added = await findInView(view, query, limit);
    if (added.length > 0) found = merge(found, added, limit);
    const wait = pause();
    if (wait) await wait;
  }
  return found;
}
