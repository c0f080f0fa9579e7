import type { InStatement } from "@libsql/client";
import { getTableName } from "drizzle-orm";
import { firstIdOf } from "../../lib/ids.ts";
import type { LimitCounter } from "../../schemas/logs.ts";
import type { Database } from "../client.ts";
import { limitCounters } from "../tables/limits.ts";

/** Log rows that are stored together, as they are priced again. */
export interface PricedBatch {
  readonly seq: number;
  readonly organisationId: string;
  /** JSON array of `LogDetails`. */
  readonly details: string;
  /** JSON array with the `LimitCounter`s of each row, or null; null where none of the rows has any. */
  readonly charged: string | null;
}

/** A period of Unix milliseconds: `from` inclusive, `to` exclusive. */
export interface RequestPeriod {
  readonly from: number;
  readonly to: number;
}

/** What a re-priced row adds to a counter. */
export interface CounterCorrection extends LimitCounter {
  readonly used: number;
  /** Unix milliseconds at which its request ended. A counter that was reset later does not change. */
  readonly endedAt: number;
}

/** Log rows and counters of limits that follow a change of prices. */
export interface RepricingStore {
  /** Batches written after `seq` that may have rows of requests that began in a period, in the order of writing. */
  read(seq: number, period: RequestPeriod): Promise<PricedBatch[]>;
  /** One batch as it is now; undefined if it is gone. */
  find(seq: number): Promise<PricedBatch | undefined>;
  /**
   * Replaces the rows of a batch and changes counters, in one transaction. Processes that run are notified.
   *
   * @param batch As it was read.
   * @param now Unix milliseconds.
   * @returns False, and nothing is changed, if the batch is no longer as it was read.
   */
  replace(
    batch: PricedBatch,
    replacement: { details: string; changes: readonly CounterCorrection[]; now: number },
  ): Promise<boolean>;
}

/** Batches that are read at a time. */
const pageBatches = 32;

const columns = "seq, organisation_id, details, charged";

/** True while the batch is as it was read: every statement of a replacement has it. */
const isAsRead = "EXISTS (SELECT 1 FROM log_batches WHERE seq = ? AND organisation_id = ? AND details = ?)";

/** Columns of a correction in an element of `json_each`. */
const correction = `value ->> 'limitId' AS limit_id, value ->> 'bucket' AS bucket,
  value ->> 'windowStart' AS window_start, value ->> 'windowEnd' AS window_end, value ->> 'used' AS used,
  value ->> 'endedAt' AS ended_at`;

// a counter that was reset has lost what earlier rows added; none falls below 0
const changed = "max(min(0, counter.used), counter.used + change.used)";
const changeCounters = `UPDATE limit_counters AS counter
  SET used = ${changed}, corrected = counter.corrected + ${changed} - counter.used
  FROM (
    SELECT one.limit_id, one.bucket, one.window_start, sum(one.used) AS used
    FROM (SELECT ${correction} FROM json_each(?)) one JOIN limit_counters known ON known.organisation_id = ?
      AND known.limit_id = one.limit_id AND known.bucket = one.bucket AND known.window_start = one.window_start
    WHERE known.reset_at IS NULL OR one.ended_at >= known.reset_at
    GROUP BY one.limit_id, one.bucket, one.window_start
  ) change
  WHERE counter.organisation_id = ? AND counter.limit_id = change.limit_id AND counter.bucket = change.bucket
    AND counter.window_start = change.window_start AND ${isAsRead}`;

// rows without a price made no counter
const addCounters = `INSERT INTO limit_counters
    (organisation_id, limit_id, bucket, window_start, window_end, used, corrected)
  SELECT ?, limit_id, bucket, window_start, max(window_end), sum(used), sum(used)
  FROM (SELECT ${correction} FROM json_each(?)) WHERE ${isAsRead}
  GROUP BY limit_id, bucket, window_start HAVING sum(used) > 0
  ON CONFLICT DO NOTHING`;

/** Processes that run read corrected counters again. */
const announce = `INSERT INTO changes (organisation_id, workspace_id, resource, record_id, time)
  SELECT ?, '*', '${getTableName(limitCounters)}', '', ? WHERE ${isAsRead}`;

const replaceRows = "UPDATE log_batches SET details = ? WHERE seq = ? AND organisation_id = ? AND details = ?";

function toBatch(row: Record<string, unknown>): PricedBatch {
  const { seq, organisation_id: organisationId, details, charged } = row;
  return {
    seq: Number(seq),
    organisationId: String(organisationId),
    details: String(details),
    charged: typeof charged === "string" ? charged : null,
  };
}

/** The store over libSQL. */
export function createRepricingStore(database: Database): RepricingStore {
  return {
    async read(seq, { from, to }) {
      const sql = `SELECT ${columns} FROM log_batches WHERE seq > ? AND first_id < ? AND last_id >= ?
        ORDER BY seq LIMIT ?`;
      const { rows } = await database.read({ sql, args: [seq, firstIdOf(to), firstIdOf(from), pageBatches] });
      return rows.map(toBatch);
    },
    async find(seq) {
      const { rows } = await database.read({ sql: `SELECT ${columns} FROM log_batches WHERE seq = ?`, args: [seq] });
      return rows[0] && toBatch(rows[0]);
    },
    async replace({ seq, organisationId, details: before }, { details, changes, now }) {
      const asRead = [seq, organisationId, before];
      const text = JSON.stringify(changes);
      const counters: InStatement[] = [
        { sql: changeCounters, args: [text, organisationId, organisationId, ...asRead] },
        { sql: addCounters, args: [organisationId, text, ...asRead] },
        { sql: announce, args: [organisationId, now, ...asRead] },
      ];
      const rows = { sql: replaceRows, args: [details, ...asRead] };
      // the rows come last: the counters are changed only while they are as they were read
      const results = await database.write(changes.length === 0 ? [rows] : [...counters, rows]);
      return results.at(-1)?.rowsAffected === 1;
    },
  };
}
