import { and, asc, eq, gt, type SQL, sql } from "drizzle-orm";
import { type Database, type Statement, toStatement } from "../client.ts";
import { type AuditLogRow, auditLogs, changes } from "../tables/audit.ts";
import { createTenantStore, type TenantStore } from "../tenant-store.ts";

/** The newest row of an organisation's audit log. */
export interface AuditHead {
  seq: number;
  mac: string;
}

/** A record that changed. */
export interface Change {
  organisationId: string;
  /** Kind of record, such as `api_keys`. */
  resource: string;
  recordId: string;
}

/** The audit log and the list of changes that other nodes follow. */
export interface AuditStore {
  /** Pages of one organisation's log. */
  readonly rows: TenantStore<AuditLogRow, AuditLogRow>;
  /** The newest row; number 0 before the first. */
  head(organisationId: string): Promise<AuditHead>;
  /** Rows in order of writing, from a number on. For verification. */
  walk(organisationId: string, afterSeq: number, limit: number): Promise<AuditLogRow[]>;
  append(row: AuditLogRow): Statement;
  /** Tells other nodes of a change. */
  announce(change: Change, time: number): Statement;
  /** The number of the newest change. */
  newestChange(): Promise<number>;
  /** Changes after a number, oldest first. */
  changesAfter(seq: number, limit: number): Promise<(Change & { seq: number })[]>;
  /** Forgets changes made before a time. */
  forgetChanges(before: number): Statement;
}

/** Whether a failed write means that another node wrote to the audit log first. */
export function isAuditRace(error: unknown): boolean {
  return /audit_logs\.seq/.test(String(error));
}

/** The audit store over libSQL. */
export function createAuditStore(database: Database): AuditStore {
  const { orm } = database;
  const ofOrganisation = (organisationId: string): SQL => eq(auditLogs.organisationId, organisationId);
  return {
    rows: createTenantStore(database, auditLogs),
    async head(organisationId) {
      const [row] = await orm
        .select({ seq: auditLogs.seq, mac: auditLogs.mac })
        .from(auditLogs)
        .where(ofOrganisation(organisationId))
        .orderBy(sql`${auditLogs.seq} DESC`)
        .limit(1);
      return row ?? { seq: 0, mac: "" };
    },
    walk: (organisationId, afterSeq, limit) =>
      orm
        .select()
        .from(auditLogs)
        .where(and(ofOrganisation(organisationId), gt(auditLogs.seq, afterSeq)))
        .orderBy(asc(auditLogs.seq))
        .limit(limit),
    append: (row) => toStatement(orm.insert(auditLogs).values(row)),
    announce: (change, time) => toStatement(orm.insert(changes).values({ ...change, time })),
    async newestChange() {
      // the counter of the table, not its rows: those may all be forgotten
      const { rows } = await database.read("SELECT seq FROM sqlite_sequence WHERE name = 'changes'");
      return Number(rows[0]?.seq ?? 0);
    },
    changesAfter: (seq, limit) =>
      orm
        .select({
          seq: changes.seq,
          organisationId: changes.organisationId,
          resource: changes.resource,
          recordId: changes.recordId,
        })
        .from(changes)
        .where(gt(changes.seq, seq))
        .orderBy(asc(changes.seq))
        .limit(limit),
    forgetChanges: (before) => toStatement(orm.delete(changes).where(sql`${changes.time} < ${before}`)),
  };
}
