import type { BatchRange, BatchSize, IndexState, LoggedBatch, Slice } from "../../schemas/log-segments.ts";
import type { Database } from "../client.ts";
import { ofAllTenants, readBatches, readIndexState, readSizes, toSlice } from "./log-batches.ts";

/** A segment that is to be made. */
export interface Draft extends BatchRange {
  /** `IndexState.change` before its batches were read. */
  readonly change: number;
  /** The segment whose place it takes; null for batches that have none. */
  readonly replaces: number | null;
}

/**
 * What makes segments of the log's index, of the rows of all tenants. A segment is written piece by piece, and becomes
 * visible in one statement.
 */
export interface LogSealingStore {
  readState(): Promise<IndexState>;
  /** Batches with a larger number, in order, at most `limit`. */
  readSizes(afterSeq: number, limit: number): Promise<BatchSize[]>;
  /** Batches with their rows, in order. */
  readBatches(range: BatchRange): Promise<LoggedBatch[]>;
  /** Keys of the metadata for which organisations declared that they ask, by organisation. */
  readDeclaredKeys(): Promise<Map<string, Set<string>>>;
  /** A segment with a batch whose rows were changed since they were read. */
  findStale(): Promise<(BatchRange & { id: number }) | undefined>;
  /**
   * Looks at the live segments with larger ids, a few of them, in order.
   *
   * @param firstId Rows with a smaller id are too old.
   * @returns The first segment with such rows, and else where the next look begins: undefined after the last segment.
   */
  findOld(firstId: string, afterId: number): Promise<OldSegment>;
  /**
   * Begins a segment.
   *
   * @param now Unix milliseconds.
   * @returns Its id; undefined if another process makes one of the same batches, or made one.
   */
  begin(draft: Draft, now: number): Promise<number | undefined>;
  addColumn(id: number, field: string, data: Uint8Array): Promise<void>;
  addSlices(id: number, slices: readonly Slice[]): Promise<void>;
  /** Makes a segment visible, and removes the one it replaces. False, and nothing changes, if another was faster. */
  publish(id: number, rows: number, now: number): Promise<boolean>;
  /** Columns and slices of a live segment: undefined if it is no longer live. */
  readSegment(id: number): Promise<StoredSegment | undefined>;
  /** Deletes a segment that no reader can need, or whose process ended; returns whether it did. */
  cleanUp(now: number): Promise<boolean>;
}

/** A segment with rows that are too old. */
interface OldSegment {
  readonly found: (BatchRange & { id: number; change: number }) | undefined;
  readonly next: number | undefined;
}

/** A segment with all of its rows. */
interface StoredSegment {
  readonly slices: readonly Slice[];
  /** Encoded columns by field. */
  readonly columns: ReadonlyMap<string, Uint8Array>;
}

/** Segments whose slices are looked through at a time: each may have thousands. */
const pageSegments = 16;
/** How long a process may take for a segment before another one makes it too. */
const leaseMs = 30_000;
/** How long readers that know a removed segment can read it: longer than any request. */
const graceMs = 10 * 60_000;
const overlap = "other.first_seq <= draft.last_seq AND other.last_seq >= draft.first_seq";

/** The draft is in the way of no live segment, besides the one it replaces, which is still live. */
const isFree = `NOT EXISTS (SELECT 1 FROM log_segments AS other
    WHERE other.state = 'live' AND ${overlap} AND other.id IS NOT draft.replaces)
  AND (draft.replaces IS NULL
    OR EXISTS (SELECT 1 FROM log_segments AS other WHERE other.state = 'live' AND other.id = draft.replaces))`;

const beginSql = `INSERT INTO log_segments (first_seq, last_seq, rows, change, replaces, state, state_at)
  SELECT first_seq, last_seq, 0, change, replaces, 'building', now
  FROM (SELECT ? AS first_seq, ? AS last_seq, ? AS change, ? AS replaces, ? AS now) AS draft
  WHERE ${isFree} AND NOT EXISTS (SELECT 1 FROM log_segments AS other
    WHERE other.state = 'building' AND abs(draft.now - other.state_at) < ${leaseMs} AND ${overlap})
  RETURNING id`;

const declaredSql = `SELECT organisations.id AS id, value AS key
  FROM organisations, json_each(organisations.settings, '$.log_metadata_keys') WHERE json_each.type = 'text'`;

// what was cleaned up meanwhile gets no columns
const columnSql = `INSERT INTO log_columns (segment_id, field, data)
  SELECT id, ?, ? FROM log_segments WHERE id = ? AND state = 'building'`;

const slicesSql = `INSERT INTO log_slices
    (segment_id, first_row, end_row, organisation_id, workspace_id, first_id, last_id)
  SELECT log_segments.id, value ->> 'start', value ->> 'end', value ->> 'organisationId', value ->> 'workspaceId',
    value ->> 'firstId', value ->> 'lastId'
  FROM log_segments, json_each(?) WHERE log_segments.id = ? AND state = 'building'`;

const publishSql = `UPDATE log_segments AS draft SET state = 'live', rows = ?, state_at = ?
  WHERE id = ? AND state = 'building' AND ${isFree}`;

const removeReplacedSql = `UPDATE log_segments SET state = 'removed', state_at = ?
  WHERE state = 'live' AND id = (SELECT replaces FROM log_segments WHERE id = ? AND state = 'live')`;

/** A segment with a batch whose rows were changed since they were read. */
export const isStaleSql = `SELECT log_segments.id, first_seq, last_seq FROM log_changes
  JOIN log_segments ON state = 'live' AND seq BETWEEN first_seq AND last_seq AND log_changes.id > change LIMIT 1`;

const oldSql = `SELECT id, first_seq, last_seq, change,
    EXISTS (SELECT 1 FROM log_slices WHERE segment_id = page.id AND first_id < ?) AS is_old
  FROM (SELECT * FROM log_segments NOT INDEXED WHERE state = 'live' AND id > ? ORDER BY id LIMIT ${pageSegments}) AS page
  ORDER BY id`;

/** Changes of batches that are gone, or that a segment has. */
const forgetChangesSql = `DELETE FROM log_changes
  WHERE seq < coalesce((SELECT min(seq) FROM log_batches), seq + 1) OR EXISTS (SELECT 1 FROM log_segments
    WHERE state = 'live' AND log_changes.seq BETWEEN first_seq AND last_seq AND change >= log_changes.id)`;

// a clock may be set back
const unneeded = `SELECT id FROM log_segments WHERE state IN ('building', 'removed') AND abs(? - state_at) > ${graceMs}
  ORDER BY id LIMIT 1`;

/** The store over libSQL. */
export function createLogSealingStore(database: Database): LogSealingStore {
  return {
    readState: () => readIndexState(database),
    readSizes: (afterSeq, limit) => readSizes(database, ofAllTenants, { afterSeq, limit }),
    readBatches: (range) => readBatches(database, ofAllTenants, range),
    async readDeclaredKeys() {
      const { rows } = await database.read(declaredSql);
      const declared = new Map<string, Set<string>>();
      for (const { id, key } of rows) {
        const keys = declared.get(String(id)) ?? new Set();
        declared.set(String(id), keys.add(String(key)));
      }
      return declared;
    },
    async findStale() {
      const { rows } = await database.read(isStaleSql);
      const [found] = rows;
      return found && { id: Number(found.id), firstSeq: Number(found.first_seq), lastSeq: Number(found.last_seq) };
    },
    async findOld(firstId, afterId) {
      const { rows } = await database.read({ sql: oldSql, args: [firstId, afterId] });
      const old = rows.find(({ is_old }) => Number(is_old) === 1);
      const next = rows.length < pageSegments ? undefined : Number(rows.at(-1)?.id);
      if (!old) return { found: undefined, next };
      const { id, first_seq, last_seq, change } = old;
      const range = { firstSeq: Number(first_seq), lastSeq: Number(last_seq) };
      return { found: { id: Number(id), ...range, change: Number(change) }, next };
    },
    async begin({ firstSeq, lastSeq, change, replaces }, now) {
      const [result] = await database.write([{ sql: beginSql, args: [firstSeq, lastSeq, change, replaces, now] }]);
      const id = result?.rows[0]?.id;
      return id === undefined ? undefined : Number(id);
    },
    async addColumn(id, field, data) {
      await database.write([{ sql: columnSql, args: [field, data, id] }]);
    },
    async addSlices(id, slices) {
      await database.write([{ sql: slicesSql, args: [JSON.stringify(slices), id] }]);
    },
    async publish(id, rows, now) {
      const [published] = await database.write([
        { sql: publishSql, args: [rows, now, id] },
        { sql: removeReplacedSql, args: [now, id] },
      ]);
      return published?.rowsAffected === 1;
    },
    async readSegment(id) {
      const [head, slices, columns] = await Promise.all([
        database.read({ sql: "SELECT id FROM log_segments WHERE id = ? AND state = 'live'", args: [id] }),
        database.read({ sql: "SELECT * FROM log_slices WHERE segment_id = ? ORDER BY first_row", args: [id] }),
        database.read({ sql: "SELECT field, data FROM log_columns WHERE segment_id = ?", args: [id] }),
      ]);
      if (head.rows.length === 0) return undefined;
      const stored = columns.rows.flatMap(({ field, data }): [string, Uint8Array][] =>
        data instanceof ArrayBuffer ? [[String(field), new Uint8Array(data)]] : [],
      );
      return { slices: slices.rows.map(toSlice), columns: new Map(stored) };
    },
    async cleanUp(now) {
      const args = [now];
      const results = await database.write([
        forgetChangesSql,
        { sql: `DELETE FROM log_columns WHERE segment_id IN (${unneeded})`, args },
        { sql: `DELETE FROM log_slices WHERE segment_id IN (${unneeded})`, args },
        { sql: `DELETE FROM log_segments WHERE id IN (${unneeded})`, args },
      ]);
      return (results.at(-1)?.rowsAffected ?? 0) > 0;
    },
  };
}
