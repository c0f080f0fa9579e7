import * as v from "valibot";
import type { AuditHead } from "../db/stores/audit.ts";
import type { AuditLogRow } from "../db/tables/audit.ts";
import type { Filter } from "../db/tenant-store.ts";
import type { AdminEndpoint } from "../endpoint.ts";
import { plainIssues } from "../lib/issues.ts";
import { type AuditRecord, AuditRecordList, AuditVerification, actorTypes } from "../schemas/audit-logs.ts";
import { Time } from "../schemas/control.ts";
import { type AdminCall, type AnswerOf, defineRead } from "./core/endpoint.ts";
import { forbid, readChoice, readPage, readText, refuseField, toIso } from "./core/request.ts";

/** A bound of the period; both are required. */
function requireTime(query: URLSearchParams, name: string): number {
  const text = readText(query, name);
  if (text === undefined) return refuseField(name, "must be given");
  const checked = v.safeParse(Time, text, plainIssues);
  return checked.success ? checked.output : refuseField(name, checked.issues[0].message);
}

function readStatus(query: URLSearchParams): number | undefined {
  const text = readText(query, "response_status_code");
  if (text === undefined) return undefined;
  return /^[1-5][0-9]{2}$/.test(text) ? Number(text) : refuseField("response_status_code", "must be from 100 to 599");
}

/** The workspace of a filter by its id or slug, deleted ones included. */
async function readWorkspace({ query, stores, tenant }: AdminCall<undefined>): Promise<string | undefined> {
  const named = readText(query, "workspace_id");
  if (named === undefined) return undefined;
  const row = await stores.workspaces.get(tenant, named);
  return row?.id ?? forbid("This key has no access to this workspace", "workspace_id");
}

function toRecord(row: AuditLogRow): AuditRecord {
  return {
    timestamp: toIso(row.time),
    request_id: row.requestId,
    method: row.method,
    uri: row.uri,
    query_params: row.queryParams,
    request_body: row.requestBody,
    request_headers: row.requestHeaders,
    user_id: row.userId,
    user_type: row.userType,
    organisation_id: row.organisationId,
    workspace_id: row.workspaceId,
    resource_type: row.resourceType,
    resource_id: row.resourceId,
    action: row.action,
    response_status_code: row.responseStatusCode,
    client_ip: row.clientIp,
    country: row.country,
  };
}

async function readFilter(call: AdminCall<undefined>): Promise<Filter<AuditLogRow>> {
  const { query } = call;
  const given = {
    method: readChoice(query, "method", ["POST", "PUT", "DELETE"]),
    userType: readChoice(query, "user_type", actorTypes),
    requestId: readText(query, "request_id"),
    userId: readText(query, "user_id"),
    clientIp: readText(query, "client_ip"),
    country: readText(query, "country"),
    // both are stored in lower case
    resourceType: readText(query, "resource_type")?.toLowerCase(),
    action: readText(query, "action")?.toLowerCase(),
    responseStatusCode: readStatus(query),
    workspaceId: await readWorkspace(call),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

async function listAuditLogs(call: AdminCall<undefined>): Promise<AnswerOf<typeof AuditRecordList>> {
  const { query, stores, tenant } = call;
  const from = requireTime(query, "start_time");
  const end = requireTime(query, "end_time");
  if (end < from) refuseField("end_time", "must not be before start_time");
  const { rows, total } = await stores.audit.rows.list(tenant, {
    where: await readFilter(call),
    contains: { uri: readText(query, "uri") },
    between: { column: "time", from, to: end + 1 },
    page: readPage(query, { size: 50, max: 100 }),
  });
  return { records: rows.map(toRecord), total, object: "analytics-graph" };
}

/** A row of the chain as `<number>:<MAC>`, the form of the process log. */
function readHead(query: URLSearchParams): AuditHead {
  const text = readText(query, "after");
  if (text === undefined) return { seq: 0, mac: "" };
  const [, seq, mac] = /^([0-9]{1,15}):([A-Za-z0-9_-]{0,43})$/.exec(text) ?? [];
  return seq === undefined || mac === undefined
    ? refuseField("after", "must be the member `last` of the part before")
    : { seq: Number(seq), mac };
}

async function verifyAuditLog({
  query,
  tenant,
  context,
}: AdminCall<undefined>): Promise<AnswerOf<typeof AuditVerification>> {
  const { control } = context.services;
  const { problem, checked, last, hasMore } = await control.verifyAudit(tenant.organisationId, readHead(query));
  return {
    object: "audit_verification",
    intact: problem === undefined,
    problem: problem ?? null,
    checked,
    last: `${last.seq}:${last.mac}`,
    has_more: hasMore,
  };
}

const audited = { resource_type: "Kind of record", action: "What happened to it" };
const filters = {
  start_time: "ISO 8601, inclusive",
  end_time: "ISO 8601, inclusive",
  method: "POST, PUT or DELETE",
  uri: "Part of the path",
  request_id: "One request",
  user_id: "The acting user or key",
  user_type: "user, api_key, or system for alerts of budgets",
  workspace_id: "One workspace",
  ...audited,
  client_ip: "Address of the caller",
  country: "Country of the caller",
  response_status_code: "Status of the response",
  current_page: "From 0",
  page_size: "At most 100, default 50",
};

/** Endpoints of the audit log. */
export const auditLogEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    method: "GET",
    path: "/v1/audit-logs",
    tag: "Audit logs",
    summary: "List audit log entries, newest first",
    access: { keys: "admin", scopes: ["audit_logs.list"] },
    query: Object.entries(filters).map(([name, description]) => ({
      name,
      description,
      isRequired: name.endsWith("_time"),
    })),
    response: AuditRecordList,
    handle: listAuditLogs,
  }),
  defineRead({
    method: "GET",
    path: "/v1/audit-logs/verification",
    tag: "Audit logs",
    summary: "Verify the chain of the audit log, at most 500 rows a call",
    access: { keys: "admin", scopes: ["audit_logs.list"] },
    query: [{ name: "after", description: "`last` of the part before; default: from the first row" }],
    response: AuditVerification,
    handle: verifyAuditLog,
  }),
];
