import type { RecordStoreName } from "../db/stores/control.ts";
import type { AuditLogRow } from "../db/tables/audit.ts";
import type { Mac } from "../lib/hash.ts";

/** What the audit log says of calls of a route. */
export interface Audited {
  /** Type of the record. */
  readonly resource: string;
  readonly action: string;
  /** Where the workspace of a record is read; null: records of this type are the organisation's. */
  readonly store: RecordStoreName | null;
}

/** An audit row before it is appended to the chain. */
export type AuditDraft = Omit<AuditLogRow, "organisationId" | "seq" | "mac">;

/** Fields that a row's digest covers; the order must never change. */
const covered = [
  ...(["organisationId", "seq", "time", "requestId", "method", "uri", "queryParams", "requestBody"] as const),
  ...(["requestHeaders", "userId", "userType", "workspaceId", "resourceType", "resourceId", "action"] as const),
  ...(["responseStatusCode", "clientIp", "country"] as const),
];

function canonical(row: Omit<AuditLogRow, "mac">): string {
  return JSON.stringify(covered.map((name) => row[name]));
}

/** The row after `previous` in its organisation's chain. */
export async function chain(
  draft: AuditDraft,
  place: { organisationId: string; previous: { seq: number; mac: string } },
  mac: Mac,
): Promise<AuditLogRow> {
  const row = { ...draft, organisationId: place.organisationId, seq: place.previous.seq + 1 };
  return { ...row, mac: await mac(`${place.previous.mac}\n${canonical(row)}`) };
}

/** Why a row cannot follow `previous`; undefined when it does. */
export async function findBreak(
  row: AuditLogRow,
  previous: { seq: number; mac: string },
  mac: Mac,
): Promise<string | undefined> {
  if (row.seq !== previous.seq + 1) return `row ${previous.seq + 1} is missing`;
  const { mac: stored, ...covered } = row;
  if ((await mac(`${previous.mac}\n${canonical(covered)}`)) !== stored) return `row ${row.seq} was changed`;
  return undefined;
}
