import type { Database } from "../client.ts";

/** Contents of a batch that are in the database. */
export interface WaitingContent {
  readonly seq: number;
  readonly organisationId: string;
  /** Ids (ULID) of the first and last request. */
  readonly firstId: string;
  readonly lastId: string;
  readonly bytes: number;
  /** Whether they are in an object already. */
  readonly isMoved: boolean;
}

/** Where the contents of a batch are in an object. */
interface ContentPlace {
  readonly seq: number;
  readonly start: number;
  readonly bytes: number;
}

/** What moves contents of the log from the database to objects of an object store. Several processes may do so. */
export interface LogObjectStore {
  /** Contents of batches with a larger number, in order, at most `limit`. */
  listWaiting(afterSeq: number, limit: number): Promise<WaitingContent[]>;
  /** Contents of batches that are in no object, as they are stored. */
  readWaiting(seqs: readonly number[]): Promise<{ seq: number; content: Uint8Array }[]>;
  /**
   * Begins an object.
   *
   * @param now Unix milliseconds.
   * @returns Its id; undefined if another process writes one.
   */
  begin(object: { organisationId: string; name: string; lastId: string }, now: number): Promise<number | undefined>;
  /** Makes an object known in which contents are; those of batches that are gone are left out. False if it came too late. */
  publish(id: number, places: readonly ContentPlace[], now: number): Promise<boolean>;
  /** Gives up an object that may be in the store. */
  abandon(id: number, now: number): Promise<void>;
  /** Deletes contents that an object has. */
  dropMoved(seqs: readonly number[]): Promise<void>;
  /** An object that the store is to delete: no reader can need it any more. */
  nextRemoved(now: number): Promise<{ id: number; name: string } | undefined>;
  /** Deletes what is known of an object that the store has deleted. */
  forget(id: number): Promise<void>;
}

/** How long a process may take to store an object, before another one begins its own. */
const leaseMs = 3 * 60_000;
/** How long readers may take that know an object, and processes that write one. */
const graceMs = 2 * 60_000;
const staleMs = 10 * 60_000;

const waitingSql = `SELECT log_bodies.seq, organisation_id, first_id, last_id, octet_length(content) AS bytes,
    log_places.seq IS NOT NULL AS is_moved
  FROM log_bodies JOIN log_batches USING (seq) LEFT JOIN log_places USING (seq)
  WHERE log_bodies.seq > ? ORDER BY log_bodies.seq LIMIT ?`;

const contentsSql = `SELECT seq, content FROM log_bodies WHERE seq IN (SELECT value FROM json_each(?))
  AND NOT EXISTS (SELECT 1 FROM log_places WHERE log_places.seq = log_bodies.seq) ORDER BY seq`;

// a clock may be set back
const beginSql = `INSERT INTO log_objects (organisation_id, name, last_id, state, state_at)
  SELECT organisation_id, name, last_id, 'writing', now
  FROM (SELECT ? AS organisation_id, ? AS name, ? AS last_id, ? AS now)
  WHERE NOT EXISTS (SELECT 1 FROM log_objects WHERE state = 'writing' AND abs(now - state_at) < ${leaseMs})
  RETURNING id`;

const placeSql = `INSERT INTO log_places (seq, object_id, start, bytes)
  SELECT value ->> 'seq', log_objects.id, value ->> 'start', value ->> 'bytes'
  FROM log_objects, json_each(?) WHERE log_objects.id = ? AND state = 'writing'
    AND EXISTS (SELECT 1 FROM log_bodies WHERE log_bodies.seq = value ->> 'seq')`;

const publishSql = "UPDATE log_objects SET state = 'live', state_at = ? WHERE id = ? AND state = 'writing'";

const removedSql = `SELECT id, name FROM log_objects WHERE (state = 'removed' AND abs(? - state_at) > ${graceMs})
  OR (state = 'writing' AND abs(? - state_at) > ${staleMs}) LIMIT 1`;

const encoder = new TextEncoder();

/** The store over libSQL. */
export function createLogObjectStore(database: Database): LogObjectStore {
  return {
    async listWaiting(afterSeq, limit) {
      const { rows } = await database.read({ sql: waitingSql, args: [afterSeq, limit] });
      return rows.map((row) => ({
        seq: Number(row.seq),
        organisationId: String(row.organisation_id),
        firstId: String(row.first_id),
        lastId: String(row.last_id),
        bytes: Number(row.bytes),
        isMoved: row.is_moved === 1,
      }));
    },
    async readWaiting(seqs) {
      const { rows } = await database.read({ sql: contentsSql, args: [JSON.stringify(seqs)] });
      return rows.map(({ seq, content }) => ({
        seq: Number(seq),
        content: content instanceof ArrayBuffer ? new Uint8Array(content) : encoder.encode(String(content)),
      }));
    },
    async begin({ organisationId, name, lastId }, now) {
      const [begun] = await database.write([{ sql: beginSql, args: [organisationId, name, lastId, now] }]);
      const id = begun?.rows[0]?.id;
      return id === undefined ? undefined : Number(id);
    },
    async publish(id, places, now) {
      const [, published] = await database.write([
        { sql: placeSql, args: [JSON.stringify(places), id] },
        { sql: publishSql, args: [now, id] },
      ]);
      return published?.rowsAffected === 1;
    },
    async abandon(id, now) {
      const sql = "UPDATE log_objects SET state = 'removed', state_at = ? WHERE id = ? AND state = 'writing'";
      await database.write([{ sql, args: [now, id] }]);
    },
    async dropMoved(seqs) {
      const sql = `DELETE FROM log_bodies WHERE seq IN (SELECT value FROM json_each(?))
        AND EXISTS (SELECT 1 FROM log_places WHERE log_places.seq = log_bodies.seq)`;
      await database.write([{ sql, args: [JSON.stringify(seqs)] }]);
    },
    async nextRemoved(now) {
      const { rows } = await database.read({ sql: removedSql, args: [now, now] });
      const [found] = rows;
      return found && { id: Number(found.id), name: String(found.name) };
    },
    async forget(id) {
      const sql = "DELETE FROM log_objects WHERE id = ? AND state IN ('removed', 'writing')";
      await database.write([{ sql, args: [id] }]);
    },
  };
}
