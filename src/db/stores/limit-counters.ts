import { getTableName, gt, isNull, lte, or } from "drizzle-orm";
import type { LimitIncrement } from "../../schemas/logs.ts";
import { type Database, type Statement, toStatement } from "../client.ts";
import { limitCounters } from "../tables/limits.ts";
import { addToCounters } from "./logs.ts";

/** Counters that are read at a time. */
const pageRows = 1_000;

/** What was used of limits. Log rows add to the counters: see `append` of the log store. */
export interface LimitCounterStore {
  /** Counters of all organisations whose window lasts at `now` (Unix milliseconds). */
  readLive(now: number): Promise<LimitIncrement[]>;
  /** Adds to counters of an organisation: increments and log rows may be written in any order. */
  add(organisationId: string, increments: readonly LimitIncrement[]): Statement;
  /** Removes counters whose window ended before `time` (Unix milliseconds). */
  purge(time: number): Promise<void>;
}

/** Creates the store of counters. */
export function createLimitCounterStore(database: Database): LimitCounterStore {
  const { orm } = database;
  const { windowEnd } = limitCounters;
  return {
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
        // a reset whose log rows were lost with the process took more than was stored
        found.push(...rows.map((row) => ({ ...row, used: Math.max(0, row.used) })));
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
