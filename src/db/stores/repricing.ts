import type { InStatement } from "@libsql/client";
import { firstIdOf } from "../../lib/ids.ts";
import type { LimitIncrement } from "../../schemas/logs.ts";
import type { Database } from "../client.ts";

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

/** Log rows and counters of limits that follow a change of prices. */
export interface RepricingStore {
  /** Batches written after `seq` that may have rows of requests that began in a period, in the order of writing. */
  read(seq: number, period: RequestPeriod): Promise<PricedBatch[]>;
  /** One batch as it is now; undefined if it is gone. */
  find(seq: number): Promise<PricedBatch | undefined>;
  /**
   * Replaces the rows of a batch and changes counters, in one transaction.
   *
   * @param batch As it was read.
   * @returns False, and nothing is changed, if the batch is no longer as it was read.
   */
  replace(batch: PricedBatch, details: string, changes: readonly LimitIncrement[]): Promise<boolean>;
}

/** Batches that are read at a time. */
const pageBatches = 32;

const columns = "seq, organisation_id, details, charged";

/** True while the batch is as it was read: every statement of a replacement has it. */
const isAsRead = "EXISTS (SELECT 1 FROM log_batches WHERE seq = ? AND organisation_id = ? AND details = ?)";

// a counter that was reset has lost what its rows added, and does not fall below 0
const changeCounters = `UPDATE limit_counters SET used = max(0, used + (change.value ->> 'used'))
  FROM json_each(?) AS change
  WHERE organisation_id = ? AND limit_id = change.value ->> 'limitId' AND bucket = change.value ->> 'bucket'
  AND window_start = change.value ->> 'windowStart' AND ${isAsRead}`;

// rows without a price made no counter
const addCounters = `INSERT INTO limit_counters (organisation_id, limit_id, bucket, window_start, window_end, used)
  SELECT ?, value ->> 'limitId', value ->> 'bucket', value ->> 'windowStart', value ->> 'windowEnd', value ->> 'used'
  FROM json_each(?) WHERE value ->> 'used' > 0 AND ${isAsRead}
  ON CONFLICT DO NOTHING`;

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
    async replace({ seq, organisationId, details: before }, details, changes) {
      const asRead = [seq, organisationId, before];
      const text = JSON.stringify(changes);
      const counters: InStatement[] = [
        { sql: changeCounters, args: [text, organisationId, ...asRead] },
        { sql: addCounters, args: [organisationId, text, ...asRead] },
      ];
      const rows = { sql: replaceRows, args: [details, ...asRead] };
      // the rows come last: the counters are changed only while they are as they were read
      const results = await database.write(changes.length === 0 ? [rows] : [...counters, rows]);
      return results.at(-1)?.rowsAffected === 1;
    },
  };
}
