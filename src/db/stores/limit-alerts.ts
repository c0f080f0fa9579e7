import { and, asc, eq, inArray, lte, notInArray, type SQL } from "drizzle-orm";
import { type Database, type Statement, toStatement } from "../client.ts";
import { type LimitAlertRow, limitAlerts } from "../tables/limits.ts";

/** What makes an alert the same as another. */
export type LimitAlertKey = Pick<
  LimitAlertRow,
  "organisationId" | "limitId" | "bucket" | "windowStart" | "kind" | "bound"
>;

/** Which alerts are taken, and for how long. */
interface ClaimOptions {
  /** Unix milliseconds. */
  now: number;
  /** Unix milliseconds until which no other process takes them. */
  until: number;
  /** Most alerts that are taken. */
  limit: number;
}

/** What became of an attempt to deliver an alert. */
export type DeliveryOutcome = Pick<
  LimitAlertRow,
  "id" | "webhookSentAt" | "mailSentAt" | "attempts" | "nextAttemptAt"
> & {
  /** Until when the alert was taken: who has it since then says what became of it. */
  takenUntil: number;
};

/** Alerts of budgets, and what is left to deliver of them. */
export interface LimitAlertStore {
  has(key: LimitAlertKey): Promise<boolean>;
  /** Fails with a conflict if the alert exists. */
  insert(row: LimitAlertRow): Statement;
  /** Alerts of some limits of an organisation. */
  list(organisationId: string, limitIds: readonly string[]): Promise<LimitAlertKey[]>;
  /** The organisation that waits longest for a delivery, except some; undefined if none does. */
  nextDue(now: number, except: readonly string[]): Promise<string | undefined>;
  /** Takes alerts of an organisation that are due, oldest first, and counts the attempt: nobody else takes them for a while. */
  claim(organisationId: string, options: ClaimOptions): Promise<LimitAlertRow[]>;
  /** Notes what became of attempts, but for alerts that were removed meanwhile, or that another process has taken. */
  settle(outcomes: readonly DeliveryOutcome[]): Promise<void>;
  /** Removes alerts whose window ended before `time` (Unix milliseconds). */
  purge(time: number): Promise<void>;
}

const claimDue = `UPDATE limit_alerts SET next_attempt_at = ?, attempts = attempts + 1 WHERE id IN (
    SELECT id FROM limit_alerts WHERE organisation_id = ? AND next_attempt_at <= ? ORDER BY at, id LIMIT ?
  ) RETURNING id`;

/** Most values that one statement binds. */
const maxBound = 1_000;

const keyColumns = {
  organisationId: limitAlerts.organisationId,
  limitId: limitAlerts.limitId,
  bucket: limitAlerts.bucket,
  windowStart: limitAlerts.windowStart,
  kind: limitAlerts.kind,
  bound: limitAlerts.bound,
};

function isKey({ organisationId, limitId, bucket, windowStart, kind, bound }: LimitAlertKey): SQL | undefined {
  return and(
    eq(keyColumns.organisationId, organisationId),
    eq(keyColumns.limitId, limitId),
    eq(keyColumns.bucket, bucket),
    eq(keyColumns.windowStart, windowStart),
    eq(keyColumns.kind, kind),
    eq(keyColumns.bound, bound),
  );
}

/** Creates the store of alerts. */
export function createLimitAlertStore(database: Database): LimitAlertStore {
  const { orm } = database;
  return {
    async has(key) {
      const rows = await orm.select({ id: limitAlerts.id }).from(limitAlerts).where(isKey(key)).limit(1);
      return rows.length > 0;
    },
    insert: (row) => ({
      ...toStatement(orm.insert(limitAlerts).values(row)),
      // nobody holds rows of it in memory
      written: { resource: "limit_alerts", workspaceId: row.workspaceId, recordIds: [] },
    }),
    async list(organisationId, limitIds) {
      const found: LimitAlertKey[] = [];
      for (let from = 0; from < limitIds.length; from += maxBound) {
        const ofLimits = inArray(limitAlerts.limitId, limitIds.slice(from, from + maxBound));
        const query = orm.select(keyColumns).from(limitAlerts);
        found.push(...(await query.where(and(eq(limitAlerts.organisationId, organisationId), ofLimits))));
      }
      return found;
    },
    async nextDue(now, except) {
      const { organisationId, nextAttemptAt } = limitAlerts;
      const query = orm.select({ organisationId }).from(limitAlerts);
      const isDue = and(lte(nextAttemptAt, now), notInArray(organisationId, [...except]));
      const [row] = await query.where(isDue).orderBy(asc(nextAttemptAt)).limit(1);
      return row?.organisationId;
    },
    async claim(organisationId, { now, until, limit }) {
      const [result] = await database.write([{ sql: claimDue, args: [until, organisationId, now, limit] }]);
      const ids = (result?.rows ?? []).map(({ id }) => String(id));
      const ofClaim = and(
        eq(limitAlerts.organisationId, organisationId),
        inArray(limitAlerts.id, ids),
        eq(limitAlerts.nextAttemptAt, until),
      );
      return orm.select().from(limitAlerts).where(ofClaim).orderBy(asc(limitAlerts.at), asc(limitAlerts.id));
    },
    async settle(outcomes) {
      if (outcomes.length === 0) return;
      const updates = outcomes.map(({ id, takenUntil, ...changes }) => {
        const isTaken = and(eq(limitAlerts.id, id), eq(limitAlerts.nextAttemptAt, takenUntil));
        return toStatement(orm.update(limitAlerts).set(changes).where(isTaken));
      });
      await database.write(updates);
    },
    async purge(time) {
      await database.write([toStatement(orm.delete(limitAlerts).where(lte(limitAlerts.windowEnd, time)))]);
    },
  };
}
