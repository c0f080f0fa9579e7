import type { Row } from "@libsql/client";
import { asc, eq, getTableColumns, gte, type SQL, sql } from "drizzle-orm";
import { type Database, type Statement, toStatement } from "../client.ts";
import { type AuditLogRow, auditLogs, changes } from "../tables/audit.ts";
import { createTenantStore, type TenantStore } from "../tenant-store.ts";

/** The newest row of an organisation's audit log. */
export interface AuditHead {
  seq: number;
  mac: string;
}

/** Records that changed. */
export interface Change {
  organisationId: string;
  /** Whose they are. Null: the organisation's own. Undefined: any workspace's, or the organisation's. */
  workspaceId: string | null | undefined;
  /** Kind of record, such as `api_keys`; `anyResource` where it is not known. */
  resource: string;
  /** Empty: any record of the kind. */
  recordId: string;
}

/** A change as the list of changes has it. */
export interface NumberedChange extends Change {
  seq: number;
  /** Unix milliseconds. */
  time: number;
}

/** Stands for every kind of record. */
export const anyResource = "*";
/** Stands for every workspace and the organisation itself. */
const anyWorkspace = "*";

/** A change as its row holds it. */
function toChangeRow({ organisationId, workspaceId, resource, recordId }: Change, time: number) {
  return {
    organisationId,
    workspaceId: workspaceId === undefined ? anyWorkspace : (workspaceId ?? ""),
    resource,
    recordId,
    time,
  };
}

/** A change as it was announced. Older versions did not say whose record it is, nor all they changed: it may be anything. */
function readChange({ workspaceId, ...row }: typeof changes.$inferSelect): NumberedChange {
  if (workspaceId === null) return { ...row, workspaceId: undefined, resource: anyResource, recordId: "" };
  if (workspaceId === anyWorkspace) return { ...row, workspaceId: undefined };
  return { ...row, workspaceId: workspaceId === "" ? null : workspaceId };
}

/** The audit log and the list of changes that other nodes follow. */
export interface AuditStore {
  /** Pages of one organisation's log. */
  readonly rows: TenantStore<AuditLogRow, AuditLogRow>;
  /** The newest row; number 0 before the first. */
  head(organisationId: string): Promise<AuditHead>;
  /** For verification: rows after a number, in order of writing; undefined for malformed rows. */
  walk(organisationId: string, afterSeq: number, limit: number): Promise<(AuditLogRow | undefined)[]>;
  /** For verification: every organisation in the rows; undefined for values that are not text. */
  organisations(): Promise<(string | undefined)[]>;
  append(row: AuditLogRow): Statement;
  /** Announces a change to other nodes. */
  announce(change: Change, time: number): Statement;
  /** The number of the newest change. */
  newestChange(): Promise<number>;
  /** Changes from a number on, oldest first. */
  changesFrom(seq: number, limit: number): Promise<NumberedChange[]>;
  /** Deletes changes made before a time, but for the newest, by which nodes know the database again. */
  forgetChanges(before: number): Statement;
}

/** Whether a failed write means that another node wrote to the audit log first. */
export function isAuditRace(error: unknown): boolean {
  return /audit_logs\.seq/.test(String(error));
}

const columns = Object.entries(getTableColumns(auditLogs));

/** Each column as its type and bytes: the driver ends the process for text that is not UTF-8. */
const rawColumns = columns
  .map(([name, column]) => `typeof(${column.name}) AS "${name} type", CAST(${column.name} AS BLOB) AS "${name}"`)
  .join(", ");
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeText(value: unknown): string | undefined {
  try {
    return value instanceof ArrayBuffer ? decoder.decode(value) : undefined;
  } catch {
    return undefined;
  }
}

/** A column's value; undefined when it has another type than the column. */
function readRawValue(type: unknown, value: unknown, column: { dataType: string; notNull: boolean }) {
  if (type === "null") return column.notNull ? undefined : null;
  const text = decodeText(value);
  if (column.dataType === "string") return type === "text" ? text : undefined;
  const number = Number(text);
  return type === "integer" && Number.isSafeInteger(number) ? number : undefined;
}

function readRawRow(row: Row): AuditLogRow | undefined {
  const entries = columns.map(
    ([name, column]) => [name, readRawValue(row[`${name} type`], row[name], column)] as const,
  );
  if (entries.some(([, value]) => value === undefined)) return undefined;
  // every column of the table, each with the right type
  return Object.fromEntries(entries) as AuditLogRow;
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
    async walk(organisationId, afterSeq, limit) {
      const sql = `SELECT ${rawColumns} FROM audit_logs WHERE organisation_id = ? AND seq > ? ORDER BY audit_logs.seq LIMIT ?`;
      const { rows } = await database.read({ sql, args: [organisationId, afterSeq, limit] });
      return rows.map(readRawRow);
    },
    async organisations() {
      const { rows } = await database.read(
        "SELECT DISTINCT typeof(organisation_id) AS type, CAST(organisation_id AS BLOB) AS value FROM audit_logs",
      );
      return rows.map(({ type, value }) => (type === "text" ? decodeText(value) : undefined));
    },
    append: (row) => toStatement(orm.insert(auditLogs).values(row)),
    announce: (change, time) => toStatement(orm.insert(changes).values(toChangeRow(change, time))),
    async newestChange() {
      // read from the table's counter, since all of its rows may have been deleted
      const { rows } = await database.read("SELECT seq FROM sqlite_sequence WHERE name = 'changes'");
      return Number(rows[0]?.seq ?? 0);
    },
    async changesFrom(seq, limit) {
      const rows = await orm
        .select({
          seq: changes.seq,
          organisationId: changes.organisationId,
          workspaceId: changes.workspaceId,
          resource: changes.resource,
          recordId: changes.recordId,
          time: changes.time,
        })
        .from(changes)
        .where(gte(changes.seq, seq))
        .orderBy(asc(changes.seq))
        .limit(limit);
      return rows.map(readChange);
    },
    forgetChanges: (before) =>
      toStatement(
        orm.delete(changes).where(sql`${changes.time} < ${before} AND ${changes.seq} < (SELECT max(seq) FROM changes)`),
      ),
  };
}
