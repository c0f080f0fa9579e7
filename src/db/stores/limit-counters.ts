import { and, eq, gt, isNull, lte, or } from "drizzle-orm";
import type { LimitIncrement } from "../../schemas/logs.ts";
import { type Database, type Statement, toStatement } from "../client.ts";
import { limitCounters } from "../tables/limits.ts";
import type { Tenant } from "../tenant-store.ts";

/** Counters that are read at a time. */
const pageRows = 1_000;

/** What was used of limits. Log rows add to the counters: see `append` of the log store. */
interface LimitCounterStore {
  /** Counters of all organisations whose window lasts at `now` (Unix milliseconds). */
  readLive(now: number): Promise<LimitIncrement[]>;
  /** Counts a limit anew: one bucket, or all. */
  reset(tenant: Tenant, limitId: string, bucket?: string): Statement;
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
    reset({ organisationId }, limitId, bucket) {
      const ofBucket = bucket === undefined ? undefined : eq(limitCounters.bucket, bucket);
      const ofLimit = and(eq(limitCounters.organisationId, organisationId), eq(limitCounters.limitId, limitId));
      return toStatement(orm.delete(limitCounters).where(and(ofLimit, ofBucket)));
    },
    async purge(time) {
      await database.write([toStatement(orm.delete(limitCounters).where(lte(windowEnd, time)))]);
    },
  };
}
