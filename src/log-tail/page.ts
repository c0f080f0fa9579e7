import { readDetails } from "../db/stores/log-batches.ts";
import type { LogScope } from "../db/stores/log-scope.ts";
import type { BatchText, LogTailStore } from "../db/stores/log-tail.ts";
import { createPause } from "../lib/pace.ts";
import { hintsOf, isWanted, type RowFilter } from "../log-index/row-test.ts";
import { withoutDenied } from "../logs/denied-fields.ts";
import { toRow, withoutContents } from "../logs/row.ts";
import type { LogDetails } from "../schemas/logs.ts";

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
}

/** Reads the log. Hosts may do it on another thread. */
export interface TailReader {
  readTail(request: TailRequest): Promise<TailPage>;
}

/** Most batches of one page. */
const pageBatches = 256;
/** Most bytes of rows of one page, unless one batch has more: a few milliseconds to read. */
const pageBytes = 256 * 1024;

/** A filter with its hints. Rows without one of them are not wanted. */
interface Hinted {
  readonly filter: TailFilter;
  readonly place: number;
  readonly hints: readonly string[];
}

function isOf({ organisationId, workspaceId }: LogScope, batch: BatchText): boolean {
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
  const placesOf = new Map<string, number[]>();
  for (const { filter, place } of wantedBy) {
    const text = showRow(details, filter);
    const places = placesOf.get(text) ?? [];
    placesOf.set(text, places);
    places.push(place);
  }
  for (const [text, filters] of placesOf) yield { seq, index, filters, text };
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

/** Reads the next rows of the log. */
export async function readTailPage(store: LogTailStore, { after, filters }: TailRequest): Promise<TailPage> {
  // read first: batches up to it that are not among those read next are other tenants'
  const newest = await store.newest();
  const from = after.index < wholeBatch ? after.seq - 1 : after.seq;
  if (newest <= from || filters.length === 0) return { end: after, hasMore: false, rows: [] };
  const sizes = await store.readSizes(filters, from, pageBatches);
  let bytes = 0;
  const taken = sizes.filter((size, index) => {
    bytes += size.bytes;
    return index === 0 || bytes <= pageBytes;
  });
  const [first, last] = [taken.at(0), taken.at(-1)];
  const hasMore = taken.length < sizes.length || sizes.length === pageBatches;
  const lastSeq = hasMore ? (last?.seq ?? from) : Math.max(newest, last?.seq ?? 0);
  const end = { seq: Math.max(after.seq, lastSeq), index: wholeBatch };
  if (!first || !last) return { end, hasMore, rows: [] };
  const hinted = filters.map((filter, place): Hinted => ({ filter, place, hints: hintsOf(filter) }));
  const found: FoundRow[] = [];
  const pause = createPause();
  for (const batch of await store.readTexts(filters, { firstSeq: first.seq, lastSeq: last.seq })) {
    found.push(...rowsOf(batch, hinted, after));
    const wait = pause();
    if (wait) await wait;
  }
  const rows: TailRow[] = [];
  for (const row of await withRatings(store, found)) {
    rows.push(...showFound(row));
    const wait = pause();
    if (wait) await wait;
  }
  return { end, hasMore, rows };
}
