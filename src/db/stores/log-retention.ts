import { firstIdOf } from "../../lib/ids.ts";
import type { Database, Statement } from "../client.ts";
import { referredMs } from "./log-repeats.ts";
import { isStaleSql } from "./log-sealing.ts";

/** Rows that are past their time: of one organisation, or of all. */
export interface Expired {
  /** Null: of every organisation. */
  readonly organisationId: string | null;
  /** Unix milliseconds: rows of requests that began before are removed. */
  readonly time: number;
}

/**
 * What removes old log rows. Each call is one short transaction, so that others can write in between. A batch is removed
 * only when the index has its rows: statistics outlive them.
 */
export interface LogRetentionStore {
  /** Hides rows from lists and look-ups before they are removed. Rows that were hidden once remain so. */
  hide(expired: readonly Expired[]): Promise<void>;
  /**
   * Removes the contents of some batches, the oldest first; returns of how many. They stay so much longer than `time` as
   * those of later batches may refer to them.
   */
  removeContents(time: number): Promise<number>;
  /** Lets go of the oldest object with contents if all of its requests began before `time`; returns whether it did. */
  removeObject(time: number, now: number): Promise<boolean>;
  /** Whether there are old batches that the index lacks, or has in an earlier form. */
  needsSealing(expired: readonly Expired[]): Promise<boolean>;
  /** Removes some batches that the index has, with their contents; returns how many. */
  removeBatches(expired: Expired, now: number): Promise<number>;
  /** Removes results of hooks; returns how many. */
  removeHooks(time: number): Promise<number>;
  /** Takes the oldest segment out of the index if all of its requests began before `time`; returns whether it did. */
  removeStatistics(time: number, now: number): Promise<boolean>;
  /** Makes the file a little smaller if much of it is unused; returns whether it did. */
  shrink(): Promise<boolean>;
}

/** Most batches that one transaction removes, and most bytes of their rows and contents unless one has more. */
const removedBatches = 64;
const removedBytes = 2 ** 20;
const removedHooks = 1_000;
/** Unused pages from which the file is made smaller, until half as many are left: new rows take those. 64 MiB at most. */
const mostUnused = 16_384;
const mostUnusedPart = 1 / 8;
/** Most pages that one transaction gives back: it moves those from the end of the file to free places. */
const movedPages = 128;
/** To find a free place, the database looks through its list of them: a transaction takes a few milliseconds. */
const lookedThrough = movedPages * mostUnused;
/** A smaller file is left as it is: 8 MiB. */
const leastPages = 2_048;

const lastSealed = "(SELECT coalesce(max(last_seq), 0) FROM log_segments WHERE state = 'live')";

/** The first of some batches in their order, until their bytes are enough. They are rows of `oldest`, by `place`. */
const pickFirst = `SELECT seq FROM (SELECT *, sum(bytes) OVER (ORDER BY place, seq) AS total,
    max(last_id) OVER (ORDER BY place, seq) AS newest_id, row_number() OVER (ORDER BY place, seq) AS number FROM oldest)
  WHERE newest_id < ? AND (total <= ${removedBytes} OR number = 1)`;

const bytesOf = "octet_length(details) + coalesce(octet_length(content), 0) AS bytes";

// numbers roughly follow time
const oldestContents = `WITH oldest AS MATERIALIZED (SELECT log_bodies.seq, log_bodies.seq AS place,
    octet_length(content) AS bytes, coalesce(last_id, '') AS last_id
  FROM log_bodies LEFT JOIN log_batches USING (seq) ORDER BY log_bodies.seq LIMIT ${removedBatches}) ${pickFirst}`;

const oldestBatches = `WITH oldest AS MATERIALIZED (SELECT log_batches.seq, log_batches.seq AS place, last_id, ${bytesOf}
  FROM log_batches LEFT JOIN log_bodies USING (seq) WHERE log_batches.seq <= ${lastSealed}
  ORDER BY log_batches.seq LIMIT ${removedBatches}) ${pickFirst}`;

const oldestOfOrganisation = `WITH oldest AS MATERIALIZED (SELECT log_batches.seq, last_id AS place, last_id, ${bytesOf}
  FROM log_batches LEFT JOIN log_bodies USING (seq)
  WHERE organisation_id = ? AND last_id < ? AND log_batches.seq <= ${lastSealed}
  ORDER BY last_id, log_batches.seq LIMIT ${removedBatches}) ${pickFirst}`;

const objectsOfSql = `SELECT DISTINCT object_id AS id FROM log_places WHERE seq IN (SELECT value FROM json_each(?))`;

/** Objects in which no batch has its contents any more. The object store deletes them later: somebody may read them. */
const removeEmptySql = `UPDATE log_objects SET state = 'removed', state_at = ? WHERE state = 'live'
  AND id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM log_places WHERE object_id = log_objects.id)`;

const hideSql = `INSERT INTO log_hidden (organisation_id, first_id) VALUES (?, ?)
  ON CONFLICT (organisation_id) DO UPDATE SET first_id = excluded.first_id WHERE excluded.first_id > first_id`;

const unsealedSql = `SELECT 1 FROM log_batches WHERE seq = (SELECT min(seq) FROM log_batches WHERE seq > ${lastSealed})
  AND last_id < ?`;
const unsealedOfOrganisation = `SELECT 1 FROM log_batches
  WHERE organisation_id = ? AND last_id < ? AND seq > ${lastSealed} LIMIT 1`;

/** The oldest segment, if its requests all began before an id, and its batches are gone. */
const oldSegment = `SELECT id FROM (SELECT id, last_seq FROM log_segments WHERE state = 'live' ORDER BY last_seq LIMIT 1)
  WHERE last_seq < coalesce((SELECT min(seq) FROM log_batches), last_seq + 1)
    AND NOT EXISTS (SELECT 1 FROM log_slices WHERE segment_id = id AND last_id >= ?)`;

/** Requests before this id are in no batch to which one refers that is not past its time. */
const unreferredId = (time: number): string => firstIdOf(time - referredMs);

/** The oldest id of an organisation's rows that lists and look-ups show. */
export async function readFirstShown(database: Database, organisationId: string): Promise<string> {
  const sql = "SELECT max(first_id) AS first_id FROM log_hidden WHERE organisation_id = ? OR organisation_id = ''";
  const { rows } = await database.read({ sql, args: [organisationId] });
  const id = rows[0]?.first_id;
  return typeof id === "string" ? id : "";
}

/** Rows to remove, and the statements that read them. */
function batchesOf({ organisationId, time }: Expired): Pick<Statement, "sql" | "args"> {
  const before = unreferredId(time);
  return organisationId === null
    ? { sql: oldestBatches, args: [before] }
    : { sql: oldestOfOrganisation, args: [organisationId, before, before] };
}

/** The store over libSQL. */
class SqlLogRetentionStore implements LogRetentionStore {
  readonly #database: Database;
  /** Whether this file can be made smaller; undefined as long as it is not known. */
  #canShrink: boolean | undefined;
  #isShrinking = false;

  constructor(database: Database) {
    this.#database = database;
  }

  async hide(expired: readonly Expired[]): Promise<void> {
    await this.#database.write(
      expired.map(({ organisationId, time }) => ({ sql: hideSql, args: [organisationId ?? "", firstIdOf(time)] })),
    );
  }

  async removeContents(time: number): Promise<number> {
    const args = [unreferredId(time)];
    const [removed] = await this.#database.write([
      { sql: `DELETE FROM log_bodies WHERE seq IN (${oldestContents})`, args },
    ]);
    return removed?.rowsAffected ?? 0;
  }

  async needsSealing(expired: readonly Expired[]): Promise<boolean> {
    const queries = expired.map(({ organisationId, time }) =>
      organisationId === null
        ? { sql: unsealedSql, args: [firstIdOf(time)] }
        : { sql: unsealedOfOrganisation, args: [organisationId, firstIdOf(time)] },
    );
    for (const query of [{ sql: isStaleSql, args: [] }, ...queries]) {
      if ((await this.#database.read(query)).rows.length > 0) return true;
    }
    return false;
  }

  async removeObject(time: number, now: number): Promise<boolean> {
    const sql = "SELECT id FROM log_objects WHERE state = 'live' AND last_id < ? ORDER BY last_id LIMIT 1";
    const { rows } = await this.#database.read({ sql, args: [unreferredId(time)] });
    const [found] = rows;
    if (!found) return false;
    const id = Number(found.id);
    await this.#database.write([
      { sql: "DELETE FROM log_places WHERE object_id = ?", args: [id] },
      { sql: removeEmptySql, args: [now, JSON.stringify([id])] },
    ]);
    return true;
  }

  async removeBatches(expired: Expired, now: number): Promise<number> {
    // a change that the index lacks would be lost with its row
    const guard = `AND NOT EXISTS (${isStaleSql})`;
    const { rows } = await this.#database.read(batchesOf(expired));
    if (rows.length === 0) return 0;
    const args = [JSON.stringify(rows.map(({ seq }) => Number(seq)))];
    const { rows: objects } = await this.#database.read({ sql: objectsOfSql, args });
    const ids = JSON.stringify(objects.map(({ id }) => Number(id)));
    const [, removed] = await this.#database.write([
      { sql: `DELETE FROM log_bodies WHERE seq IN (SELECT value FROM json_each(?)) ${guard}`, args },
      { sql: `DELETE FROM log_batches WHERE seq IN (SELECT value FROM json_each(?)) ${guard}`, args },
      { sql: `DELETE FROM log_places WHERE seq IN (SELECT value FROM json_each(?)) ${guard}`, args },
      ...(objects.length > 0 ? [{ sql: removeEmptySql, args: [now, ids] }] : []),
    ]);
    return removed?.rowsAffected ?? 0;
  }

  async removeHooks(time: number): Promise<number> {
    const sql = "DELETE FROM log_hooks WHERE seq IN (SELECT seq FROM log_hooks ORDER BY seq LIMIT ?) AND log_id < ?";
    const [removed] = await this.#database.write([{ sql, args: [removedHooks, firstIdOf(time)] }]);
    return removed?.rowsAffected ?? 0;
  }

  async removeStatistics(time: number, now: number): Promise<boolean> {
    const { rows } = await this.#database.read({ sql: oldSegment, args: [firstIdOf(time)] });
    const [found] = rows;
    if (!found) return false;
    const sql = "UPDATE log_segments SET state = 'removed', state_at = ? WHERE id = ? AND state = 'live'";
    const [removed] = await this.#database.write([{ sql, args: [now, Number(found.id)] }]);
    return removed?.rowsAffected === 1;
  }

  async shrink(): Promise<boolean> {
    if (this.#database.remote) return false;
    this.#canShrink ??= (await this.#readPragma("auto_vacuum")) === 2;
    if (!this.#canShrink) return false;
    const pages = await this.#readPragma("page_count");
    const unused = await this.#readPragma("freelist_count");
    const most = Math.min(mostUnused, pages * mostUnusedPart);
    this.#isShrinking = pages > leastPages && unused > (this.#isShrinking ? most / 2 : most);
    if (!this.#isShrinking) return false;
    await this.#database.shrink(Math.max(1, Math.min(movedPages, Math.floor(lookedThrough / unused))));
    return true;
  }

  async #readPragma(name: "auto_vacuum" | "page_count" | "freelist_count"): Promise<number> {
    const { rows } = await this.#database.read(`PRAGMA ${name}`);
    return Number(rows[0]?.[name] ?? 0);
  }
}

/** Creates the store. */
export function createLogRetentionStore(database: Database): LogRetentionStore {
  return new SqlLogRetentionStore(database);
}
