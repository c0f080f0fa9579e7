import { and, eq, getTableName, gt, isNull, lte, or, type SQL, sql } from "drizzle-orm";
import type { CorrectedCounter, LimitIncrement } from "../../schemas/logs.ts";
import { type Database, type Statement, toStatement } from "../client.ts";
import { limitCounters } from "../tables/limits.ts";

/** Counters that are read at a time. */
const pageRows = 1_000;
/** Most counters of one list: a limit has no more buckets at a time, but for those that a change of the bound left. */
const maxListed = 20_000;

/** Name of a counter. */
interface CounterName {
  readonly organisationId: string;
  readonly limitId: string;
  readonly bucket: string;
  /** Unix milliseconds; 0 for limits that never reset. */
  readonly windowStart: number;
}

/** A counter as it is stored. */
type StoredCounter = typeof limitCounters.$inferSelect;

/** Kind of record of which a change says that re-priced rows changed counters. */
export const counterResource = getTableName(limitCounters);

/** What was used of limits. Log rows add to the counters: see `append` of the log store. */
export interface LimitCounterStore {
  /** What was used, in the order of the names; 0 where nothing is stored. */
  readUsed(names: readonly CounterName[]): Promise<Pick<StoredCounter, "used" | "corrected">[]>;
  /** Buckets of a limit in one window, and what was used of them. */
  list(limit: Omit<CounterName, "bucket">): Promise<{ bucket: string; used: number }[]>;
  /** Counters of all organisations whose window lasts at `now` (Unix milliseconds). */
  readLive(now: number): Promise<StoredCounter[]>;
  /** As `readLive`, those that re-priced rows changed. */
  readCorrected(now: number): Promise<CorrectedCounter[]>;
  /**
   * Takes from a counter of an organisation what a reset at `now` (Unix milliseconds) took: it and log rows may be
   * written in any order.
   */
  reset(organisationId: string, increment: LimitIncrement, now: number): Statement;
  /** Removes counters whose window ended before `time` (Unix milliseconds). */
  purge(time: number): Promise<void>;
}

/** A counter as it holds: a reset whose log rows were lost with their process took more than was stored. */
const withUse = <Row extends { used: number }>(row: Row): Row => ({ ...row, used: Math.max(0, row.used) });

/** Counters of one organisation by their places in a list of `[limit, bucket, begin of the window]`. */
const readCounters = `SELECT names.key AS place, used, corrected
  FROM json_each(?) AS names CROSS JOIN limit_counters
  WHERE organisation_id = ? AND limit_id = names.value ->> 0 AND bucket = names.value ->> 1
    AND window_start = names.value ->> 2`;

async function readUsed(database: Database, names: readonly CounterName[]) {
  const found = names.map(() => ({ used: 0, corrected: 0 }));
  for (const organisationId of new Set(names.map((name) => name.organisationId))) {
    const places = [...names.keys()].filter((index) => names[index]?.organisationId === organisationId);
    const list = places.map((index) => names[index]).map((name) => [name?.limitId, name?.bucket, name?.windowStart]);
    const { rows } = await database.read({ sql: readCounters, args: [JSON.stringify(list), organisationId] });
    for (const { place, used, corrected } of rows) {
      found[places[Number(place)] ?? -1] = withUse({ used: Number(used), corrected: Number(corrected) });
    }
  }
  return found;
}

/** Counters whose window lasts at a time, page by page. */
async function readLive({ orm }: Database, now: number, also?: SQL): Promise<StoredCounter[]> {
  const { organisationId, limitId, bucket, windowStart, windowEnd } = limitCounters;
  const found: StoredCounter[] = [];
  for (;;) {
    const rows = await orm
      .select()
      .from(limitCounters)
      .where(and(or(isNull(windowEnd), gt(windowEnd, now)), also))
      .orderBy(organisationId, limitId, bucket, windowStart)
      .limit(pageRows)
      .offset(found.length);
    found.push(...rows.map(withUse));
    if (rows.length < pageRows) return found;
  }
}

/** The statement of a reset. */
const takeReset = `INSERT INTO limit_counters (organisation_id, limit_id, bucket, window_start, window_end, used, reset_at)
  VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (organisation_id, limit_id, bucket, window_start)
    DO UPDATE SET used = used + excluded.used, reset_at = excluded.reset_at`;

/** Creates the store of counters. */
export function createLimitCounterStore(database: Database): LimitCounterStore {
  const { orm } = database;
  const { windowEnd } = limitCounters;
  return {
    readUsed: (names) => readUsed(database, names),
    async list({ organisationId, limitId, windowStart }) {
      const { bucket, used } = limitCounters;
      const rows = await orm
        .select({ bucket, used })
        .from(limitCounters)
        .where(
          and(
            eq(limitCounters.organisationId, organisationId),
            eq(limitCounters.limitId, limitId),
            eq(limitCounters.windowStart, windowStart),
          ),
        )
        .orderBy(bucket)
        .limit(maxListed);
      return rows.map(withUse);
    },
    readLive: (now) => readLive(database, now),
    readCorrected: (now) => readLive(database, now, sql`corrected <> 0`),
    reset: (organisationId, { limitId, bucket, windowStart, windowEnd, used }, now) => ({
      sql: takeReset,
      args: [organisationId, limitId, bucket, windowStart, windowEnd, used, now],
      // nobody holds rows of it in memory
      written: { resource: counterResource, workspaceId: null, recordIds: [] },
    }),
    async purge(time) {
      await database.write([toStatement(orm.delete(limitCounters).where(lte(windowEnd, time)))]);
    },
  };
}
