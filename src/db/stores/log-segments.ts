import type { Row } from "@libsql/client";
import { isObject, parseJson } from "../../lib/json.ts";
import { giveWay } from "../../lib/pace.ts";
import type {
  BatchRange,
  BatchSize,
  IndexState,
  LoggedBatch,
  ScopedSegment,
  Slice,
} from "../../schemas/log-segments.ts";
import type { LogDetails } from "../../schemas/logs.ts";
import type { Database } from "../client.ts";
import { readBatches, readDetails, readIndexState, readSizes, toSlice } from "./log-batches.ts";
import { readFirstShown } from "./log-retention.ts";
import { type LogScope, scopeCondition } from "./log-scope.ts";

/** What lists and statistics read: the index over the log, and the batches behind it. */
export interface LogSegmentStore {
  readState(): Promise<IndexState>;
  /**
   * A page of the live segments with rows of a scope, in order of their ids.
   *
   * @param afterId Id of the last segment of the previous page; 0 at first.
   */
  readSegments(scope: LogScope, afterId: number): Promise<SegmentPage>;
  /**
   * An encoded column of a segment; undefined if no row has a value.
   *
   * @throws If the segment is gone: it remains readable for ten minutes after its removal.
   */
  readColumn(segmentId: number, field: string): Promise<Uint8Array | undefined>;
  /** Batches of a scope with a larger number, in order, at most `limit`. */
  readSizes(scope: LogScope, afterSeq: number, limit: number): Promise<BatchSize[]>;
  /** Batches of a scope with their rows, in order. */
  readBatches(scope: LogScope, range: BatchRange): Promise<LoggedBatch[]>;
  /** The oldest id that lists of an organisation show: rows before it are removed, or will be. */
  readFirstShown(organisationId: string): Promise<string>;
  /** Rows of a scope by their ids. Rows that are gone are left out. */
  readRows(scope: LogScope, places: readonly RowPlace[]): Promise<Map<string, LogDetails>>;
}

/** Some segments of a scope. */
interface SegmentPage {
  readonly segments: ScopedSegment[];
  /** Where the next page begins; undefined at the end. */
  readonly next: number | undefined;
}

/** Where a row is stored. */
interface RowPlace {
  /** Number of its batch. */
  readonly seq: number;
  readonly id: string;
}

/** Segments from rows of slices, which are ordered by segment. */
function toSegments(rows: readonly Row[]): ScopedSegment[] {
  const segments: (ScopedSegment & { slices: Slice[] })[] = [];
  // most rows name the same few tenants: each name is in memory once
  const names = new Map<string, string>();
  const known = (name: string): string => {
    const first = names.get(name) ?? name;
    names.set(name, first);
    return first;
  };
  const sliceOf = (row: Row): Slice => {
    const { organisationId, workspaceId, ...rest } = toSlice(row);
    return {
      organisationId: known(organisationId),
      workspaceId: workspaceId === null ? null : known(workspaceId),
      ...rest,
    };
  };
  for (const row of rows) {
    const last = segments.at(-1);
    if (last?.id === Number(row.id)) last.slices.push(sliceOf(row));
    else {
      segments.push({
        id: Number(row.id),
        firstSeq: Number(row.first_seq),
        lastSeq: Number(row.last_seq),
        rows: Number(row.rows),
        slices: [sliceOf(row)],
      });
    }
  }
  return segments;
}

/** Start of each row in the text of a batch: `toDetails` of the log writes the id first. */
const rowStart = '{"id":"';
const idLength = 26;

/** Wanted rows of a stored batch. Parsing only those takes a tenth of the time. */
function pickRows(text: string, wanted: ReadonlySet<string>): LogDetails[] {
  const pickedByParsing = () => readDetails(text).filter((row) => wanted.has(row?.id));
  const picked: LogDetails[] = [];
  for (let at = text.indexOf(rowStart); at >= 0; ) {
    const id = text.slice(at + rowStart.length, at + rowStart.length + idLength);
    const next = text.indexOf(`,${rowStart}`, at + rowStart.length);
    if (wanted.has(id)) {
      const row = parseJson(text.slice(at, next < 0 ? text.lastIndexOf("]") : next));
      // what looks like the start of a row can stand in a row
      if (!(isObject(row) && typeof row.organisation_id === "string")) return pickedByParsing();
      picked.push(row as unknown as LogDetails); // only `toBatch` of the log writes this column
    }
    at = next < 0 ? -1 : next + 1;
  }
  return picked.length === 0 ? pickedByParsing() : picked;
}

/** Slices of a page of segments, at least, and less than those of one segment more: a few milliseconds to read. */
const pageSlices = 2_048;

// an organisation may have thousands of workspaces, and so of slices, in a segment
const pageEndSql = (condition: string): string => `SELECT max(segment_id) AS last, count(*) AS slices
  FROM (SELECT segment_id FROM log_slices WHERE ${condition} AND segment_id > ? ORDER BY segment_id LIMIT ${pageSlices})`;

/** Batches of a local file whose rows are read without a pause. */
const batchesAtOnce = 12;

const segmentsSql = (condition: string): string => `SELECT id, first_seq, last_seq, rows, log_slices.*
  FROM log_slices JOIN log_segments ON id = segment_id
  WHERE ${condition} AND segment_id > ? AND segment_id <= ? AND state = 'live' ORDER BY segment_id, first_row`;

const columnSql = `SELECT (SELECT data FROM log_columns WHERE segment_id = log_segments.id AND field = ?) AS data
  FROM log_segments WHERE id = ?`;

/** The store over libSQL. */
export function createLogSegmentStore(database: Database): LogSegmentStore {
  return {
    readState: () => readIndexState(database),
    async readSegments(scope, afterId) {
      const { sql, args } = scopeCondition(scope);
      const { rows: ends } = await database.read({ sql: pageEndSql(sql), args: [...args, afterId] });
      const [last, slices] = [Number(ends[0]?.last ?? 0), Number(ends[0]?.slices ?? 0)];
      if (slices === 0) return { segments: [], next: undefined };
      const { rows } = await database.read({ sql: segmentsSql(sql), args: [...args, afterId, last] });
      return { segments: toSegments(rows), next: slices < pageSlices ? undefined : last };
    },
    async readColumn(segmentId, field) {
      const { rows } = await database.read({ sql: columnSql, args: [field, segmentId] });
      if (rows.length === 0) throw new Error("Cannot read the index of the log: a segment is gone");
      const data = rows[0]?.data;
      return data instanceof ArrayBuffer ? new Uint8Array(data) : undefined;
    },
    readSizes: (scope, afterSeq, limit) => readSizes(database, scopeCondition(scope), { afterSeq, limit }),
    readBatches: (scope, range) => readBatches(database, scopeCondition(scope), range),
    readFirstShown: (organisationId) => readFirstShown(database, organisationId),
    async readRows(scope, places) {
      const found = new Map<string, LogDetails>();
      const wanted = new Set(places.map(({ id }) => id));
      const condition = scopeCondition(scope);
      const seqs = [...new Set(places.map(({ seq }) => seq))];
      const sql = `SELECT details FROM log_batches NOT INDEXED WHERE ${condition.sql}
        AND seq IN (SELECT value FROM json_each(?))`;
      // a local file would hold the event loop for milliseconds; a server takes a while for each answer
      const most = database.remote ? seqs.length : batchesAtOnce;
      for (let at = 0; at < seqs.length; at += most) {
        if (at > 0) await giveWay();
        const some = JSON.stringify(seqs.slice(at, at + most));
        const { rows } = await database.read({ sql, args: [...condition.args, some] });
        for (const { details: text } of rows) {
          for (const details of pickRows(String(text), wanted)) found.set(details.id, details);
        }
      }
      return found;
    },
  };
}
