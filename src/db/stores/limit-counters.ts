import { gt, isNull, lte, or } from "drizzle-orm";
import type { LimitIncrement } from "../../schemas/logs.ts";
import { type Database, toStatement } from "../client.ts";
import { limitCounters } from "../tables/limits.ts";

/** Counters that are read at a time. */
const pageRows = 1_000;

/** What was used of limits. Log rows add to the counters: see `append` of the log store. */
export interface LimitCounterStore {
  /** Counters of all organisations whose window lasts at `now` (Unix milliseconds). */
  readLive(now: number): Promise<LimitIncrement[]>;
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
        found.push(...rows);
        if (rows.length < pageRows) return found;
      }
    },
    async purge(time) {
      await database.write([toStatement(orm.delete(limitCounters).where(lte(windowEnd, time)))]);
    },
  };
}
