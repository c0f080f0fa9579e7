import { and, eq, getTableName, gt, isNull, lte, or } from "drizzle-orm";
import type { LimitIncrement } from "../../schemas/logs.ts";
import { type Database, type Statement, toStatement } from "../client.ts";
import { limitCounters } from "../tables/limits.ts";
import { addToCounters } from "./logs.ts";

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

/** What was used of limits. Log rows add to the counters: see `append` of the log store. */
export interface LimitCounterStore {
  /** What was used, in the order of the names; 0 where nothing is stored. */
  readUsed(names: readonly CounterName[]): Promise<number[]>;
  /** Buckets of a limit in one window, and what was used of them. */
  list(limit: Omit<CounterName, "bucket">): Promise<{ bucket: string; used: number }[]>;
  /** Counters of all organisations whose window lasts at `now` (Unix milliseconds). */
  readLive(now: number): Promise<LimitIncrement[]>;
  /** Adds to counters of an organisation: increments and log rows may be written in any order. */
  add(organisationId: string, increments: readonly LimitIncrement[]): Statement;
  /** Removes counters whose window ended before `time` (Unix milliseconds). */
  purge(time: number): Promise<void>;
}

/** A counter as it holds: a reset whose log rows were lost with their process took more than was stored. */
const withUse = <Row extends { used: number }>(row: Row): Row => ({ ...row, used: Math.max(0, row.used) });

/** Counters of one organisation by their places in a list of `[limit, bucket, begin of the window]`. */
const readCounters = `SELECT names.key AS place, used
  FROM json_each(?) AS names CROSS JOIN limit_counters
  WHERE organisation_id = ? AND limit_id = names.value ->> 0 AND bucket = names.value ->> 1
    AND window_start = names.value ->> 2`;

async function readUsed(database: Database, names: readonly CounterName[]): Promise<number[]> {
  const used = names.map(() => 0);
  for (const organisationId of new Set(names.map((name) => name.organisationId))) {
    const places = [...names.keys()].filter((index) => names[index]?.organisationId === organisationId);
    const list = places.map((index) => names[index]).map((name) => [name?.limitId, name?.bucket, name?.windowStart]);
    const { rows } = await database.read({ sql: readCounters, args: [JSON.stringify(list), organisationId] });
    for (const row of rows) used[places[Number(row.place)] ?? -1] = withUse({ used: Number(row.used) }).used;
  }
  return used;
}

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
    async readLive(now) {
      const found: LimitIncrement[] = [];
      for (;;) {
        const rows = await orm
          .select()
          .from(limitCounters)
          .where(or(isNull(windowEnd), gt(windowEnd, now)))
          .orderBy(limitCounters.organisationId, limitCounters.limitId, limitCounters.bucket, limitCounters.windowStart)
          .limit(pageRows)
          .offset(found.length);
        found.push(...rows.map(withUse));
        if (rows.length < pageRows) return found;
      }
    },
    add: (organisationId, increments) => ({
      ...addToCounters(organisationId, JSON.stringify(increments)),
      // nobody holds rows of it in memory
      written: { resource: getTableName(limitCounters), workspaceId: null, recordIds: [] },
    }),
    async purge(time) {
      await database.write([toStatement(orm.delete(limitCounters).where(lte(windowEnd, time)))]);
    },
  };
}
