import { readDetails } from "../../db/stores/log-batches.ts";
import type { LogScope } from "../../db/stores/log-scope.ts";
import type { BatchHead, BatchText, LogTailStore } from "../../db/stores/log-tail.ts";
import { createPause } from "../../lib/pace.ts";
import type { LogDetails } from "../../schemas/logs.ts";
import { withoutDenied } from "../denied-fields.ts";
import { hintsOf, isWanted, type RowFilter } from "../index/row-test.ts";
import { toRow, withoutContents } from "../row.ts";
import type { OwnBatches } from "./own-batches.ts";

/** Whose rows are followed, and which of them. */
export interface TailFilter extends RowFilter, LogScope {
  /** Rows show what quotes contents. */
  readonly content: boolean;
  /** Fields that rows do not show. */
  readonly denied: readonly string[];
}

/** How far the log was read: batches before `seq`, and of the batch with that number the rows up to `index`. */
export interface TailPosition {
  readonly seq: number;
  readonly index: number;
}

/** The index of a position behind all rows of its batch. */
export const wholeBatch = 0xffff;

/** A row that is wanted. */
export interface TailRow extends TailPosition {
  /** Places of the filters that want it, in the list of filters. */
  readonly filters: readonly number[];
  /** JSON of the row, as lists show it. */
  readonly text: string;
}

/** A row that is wanted if the feedback of its trace allows. */
interface FoundRow extends TailPosition {
  readonly details: LogDetails;
  readonly wantedBy: readonly Hinted[];
}

/** Rows of the log in the order of writing. */
export interface TailPage {
  /** Behind the last batch that was read: always all rows of a batch. */
  readonly end: TailPosition;
  readonly hasMore: boolean;
  readonly rows: readonly TailRow[];
}

/** What is read of the log at once. */
export interface TailRequest {
  readonly after: TailPosition;
  readonly filters: readonly TailFilter[];
  /** The number of each filter, by which batches are known that it does not want. Absent: none is known. */
  readonly numbers?: readonly number[];
}

/** Reads the log. Hosts may do it on another thread. */
export interface TailReader {
  readTail(request: TailRequest): Promise<TailPage>;
}

/** Most batches of one page. */
const pageBatches = 256;
/** Most bytes of rows that are read for one page, unless one batch has more: a few milliseconds to read. */
const pageBytes = 256 * 1024;

/** A filter with its hints. Rows without one of them are not wanted. */
interface Hinted {
  readonly filter: TailFilter;
  readonly place: number;
  readonly hints: readonly string[];
}

function isOf({ organisationId, workspaceId }: LogScope, batch: LogScope): boolean {
  return organisationId === batch.organisationId && (workspaceId === null || workspaceId === batch.workspaceId);
}

/** Filters that may want a row of a batch; each hint is looked for once. */
function filtersFor(batch: BatchText, filters: readonly Hinted[]): Hinted[] {
  const found = new Map<string, boolean>();
  const stands = (hint: string): boolean => {
    const known = found.get(hint);
    if (known !== undefined) return known;
    const isThere = batch.text.includes(hint);
    found.set(hint, isThere);
    return isThere;
  };
  return filters.filter(({ filter, hints }) => isOf(filter, batch) && hints.every(stands));
}

/** What the readers of a filter see of a row. */
const viewOf = ({ content, denied }: TailFilter): string => JSON.stringify([content, ...denied]);

/** A row as lists show it to the readers of a filter. */
function showRow(details: LogDetails, { content, denied }: TailFilter): string {
  const row = toRow(details);
  return JSON.stringify(withoutDenied(content ? row : withoutContents(row), new Set(denied)));
}

/** The rows of a batch that are wanted, behind a position. */
function* rowsOf(batch: BatchText, filters: readonly Hinted[], after: TailPosition): Generator<FoundRow> {
  const mayWant = filtersFor(batch, filters);
  if (mayWant.length === 0) return;
  const { seq } = batch;
  const read = seq === after.seq ? after.index : -1;
  for (const [index, details] of readDetails(batch.text).entries()) {
    if (index <= read) continue;
    const wantedBy = mayWant.filter(({ filter }) => isWanted(details, filter, seq));
    if (wantedBy.length > 0) yield { seq, index, details, wantedBy };
  }
}

/** A row as the readers of each filter see it. */
function* showFound({ seq, index, details, wantedBy }: FoundRow): Generator<TailRow> {
  const wantedAs = new Map<string, Hinted[]>();
  for (const one of wantedBy) {
    const view = viewOf(one.filter);
    const others = wantedAs.get(view);
    if (others) others.push(one);
    else wantedAs.set(view, [one]);
  }
  for (const same of wantedAs.values()) {
    const [first] = same;
    if (first) yield { seq, index, filters: same.map(({ place }) => place), text: showRow(details, first.filter) };
  }
}

const traceKey = (workspaceId: string | null, traceId: string): string => JSON.stringify([workspaceId, traceId]);

/** Leaves out the filters of rows whose trace does not have the feedback that they want. */
async function withRatings(store: LogTailStore, rows: readonly FoundRow[]): Promise<readonly FoundRow[]> {
  const means = new Map<string, Map<string, number>>();
  for (const organisationId of organisationsThatRate(rows)) {
    const rated = rows.filter(
      ({ details, wantedBy }) => details.organisation_id === organisationId && isRated(wantedBy),
    );
    const traces = rated.flatMap(({ details: { workspace_id: workspaceId, trace_id: traceId } }) =>
      workspaceId === null ? [] : [{ workspaceId, traceId }],
    );
    const found = await store.readRatings({ organisationId, workspaceId: null }, traces);
    means.set(
      organisationId,
      new Map(found.map(({ workspaceId, traceId, mean }) => [traceKey(workspaceId, traceId), mean])),
    );
  }
  if (means.size === 0) return rows;
  return rows.map((row) => {
    const { organisation_id, workspace_id, trace_id } = row.details;
    const mean = means.get(organisation_id)?.get(traceKey(workspace_id, trace_id)) ?? Number.NaN;
    return { ...row, wantedBy: row.wantedBy.filter(({ filter }) => meetsRating(mean, filter)) };
  });
}

const isRated = (wantedBy: readonly Hinted[]): boolean => wantedBy.some(({ filter }) => filter.terms.rating);

function organisationsThatRate(rows: readonly FoundRow[]): Set<string> {
  return new Set(rows.filter(({ wantedBy }) => isRated(wantedBy)).map(({ details }) => details.organisation_id));
}

/** @param mean NaN without feedback. */
function meetsRating(mean: number, { terms: { rating } }: TailFilter): boolean {
  if (!rating) return true;
  const { least = -10, most = 10 } = rating;
  return mean >= least && mean <= most;
}

/** Where pages are read. */
interface TailSource {
  readonly store: LogTailStore;
  /** Batches of this process. */
  readonly own?: OwnBatches;
}

/** Batches of a page of which some filter may want rows, each with those filters. */
type Needed = ReadonlyMap<number, readonly Hinted[]>;

/** The batches of a page: as many as may be read at once. */
function takeBatches(
  heads: readonly BatchHead[],
  { filters, numbers }: TailRequest,
  own: OwnBatches | undefined,
): { taken: number; needed: Needed } {
  const hinted = filters.map((filter, place): Hinted => ({ filter, place, hints: hintsOf(filter) }));
  const mayWant = (head: BatchHead, { filter, place }: Hinted): boolean => {
    const number = numbers?.[place];
    return isOf(filter, head) && (number === undefined || !own || own.mayWant(head, number));
  };
  const needed = new Map<number, readonly Hinted[]>();
  let bytes = 0;
  for (const [index, head] of heads.entries()) {
    const wanting = hinted.filter((one) => mayWant(head, one));
    if (wanting.length === 0) continue;
    bytes += head.bytes;
    if (needed.size > 0 && bytes > pageBytes) return { taken: index, needed };
    needed.set(head.seq, wanting);
  }
  return { taken: heads.length, needed };
}

/** The wanted rows of some batches. */
async function readRows(
  store: LogTailStore,
  { after, filters }: TailRequest,
  needed: Needed,
): Promise<readonly TailRow[]> {
  if (needed.size === 0) return [];
  const found: FoundRow[] = [];
  const pause = createPause();
  for (const batch of await store.readBatches(filters, [...needed.keys()])) {
    found.push(...rowsOf(batch, needed.get(batch.seq) ?? [], after));
    const wait = pause();
    if (wait) await wait;
  }
  const rows: TailRow[] = [];
  for (const row of await withRatings(store, found)) {
    rows.push(...showFound(row));
    const wait = pause();
    if (wait) await wait;
  }
  return rows;
}

/** Reads the next rows of the log. */
export async function readTailPage({ store, own }: TailSource, request: TailRequest): Promise<TailPage> {
  const { after, filters } = request;
  // read first: batches up to it that are not among those read next are other tenants'
  const newest = await store.newest();
  const from = after.index < wholeBatch ? after.seq - 1 : after.seq;
  if (newest <= from || filters.length === 0) return { end: after, hasMore: false, rows: [] };
  const heads = await store.readHeads(filters, from, pageBatches);
  const { taken, needed } = takeBatches(heads, request, own);
  const hasMore = taken < heads.length || heads.length === pageBatches;
  const last = heads[taken - 1]?.seq ?? from;
  const lastSeq = hasMore ? last : Math.max(newest, last);
  const end = { seq: Math.max(after.seq, lastSeq), index: wholeBatch };
  return { end, hasMore, rows: await readRows(store, request, needed) };
}
