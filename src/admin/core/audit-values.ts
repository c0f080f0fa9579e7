import { type CallerContext, clientAddressOf, type Services } from "../../context.ts";
import type { AuditDraft, Audited } from "../../control/audit-chain.ts";
import type { Undo } from "../../control/commit.ts";
import type { Statement } from "../../db/client.ts";
import { callerKeyHeaders } from "../../lib/secret-names.ts";
import { hideSecrets } from "./hide-secrets.ts";

/** Most characters that are stored of a body, a query, an address or a header value. */
const stored = { body: 16_384, query: 4_096, uri: 2_048, header: 200 };
/** More than the longest credential of a known form: one that starts within the stored characters is masked whole. */
const longestSecret = 8_192;

/**
 * A string as it is stored: cut before it is masked, so that the cost depends on what is stored, not on what was sent.
 */
function storedText(text: string, length: number, { redactor }: Pick<Services, "redactor">): string {
  return redactor.text(text.slice(0, length + longestSecret)).slice(0, length);
}

/** The body of a call, or what stands for it, as the audit log stores it; bodies that are not JSON are not stored. */
function bodyText({ adminBody, numbers, services }: CallerContext, other: object | undefined): string {
  const value = other ?? adminBody;
  if (value === undefined) return "";
  const text = JSON.stringify(hideSecrets(value, services.contentRules.secretSettings));
  return storedText(numbers?.restore(text) ?? text, stored.body, services);
}

/** Headers that identify the caller, its address and its client; others are not stored. */
const storedHeaders: ReadonlySet<string> = new Set([
  "host",
  "user-agent",
  "origin",
  "referer",
  "content-type",
  "content-length",
  "content-encoding",
  "forwarded",
  "x-forwarded-for",
  "x-real-ip",
  "x-request-id",
  "traceparent",
  ...callerKeyHeaders,
  "x-gateway-api-key",
  "x-gateway-trace-id",
  "x-gateway-workspace",
]);

/** Headers as the audit log stores them: credentials as digests, addresses without their query. */
async function headersText({ headers, services }: CallerContext): Promise<string> {
  const prefixes = services.headerPrefixes.slice(1);
  const isStored = (name: string) => {
    const prefix = prefixes.find((one) => name.startsWith(one));
    return storedHeaders.has(prefix === undefined ? name : `x-gateway-${name.slice(prefix.length)}`);
  };
  const given = Object.entries(headers.values()).filter(([name]) => isStored(name));
  const named = await services.redactor.hide(Object.fromEntries(given), []);
  const shown = Object.entries(named).map(([name, value]) => [
    name,
    storedText(String(hideSecrets(value, services.contentRules.secretSettings)), stored.header, services),
  ]);
  return JSON.stringify(Object.fromEntries(shown));
}

/** The workspace a call was about: the caller's own, the one it named, or the named record's. */
async function workspaceOf(
  { store }: Audited,
  { principal, namedWorkspaceId, services: { control } }: CallerContext,
  { recordId, status }: { recordId: string | undefined; status: number },
): Promise<string | null> {
  if (principal.workspaceId !== null) return principal.workspaceId;
  if (namedWorkspaceId !== undefined) return namedWorkspaceId;
  if (recordId === undefined || store === null) return null;
  const tenant = { organisationId: principal.organisationId, workspaceId: null };
  if (store === "workspaces") {
    // one that is made now is not stored yet
    return status < 400 ? recordId : ((await control.stores.workspaces.get(tenant, recordId))?.id ?? null);
  }
  const row = await control.stores[store].get(tenant, recordId);
  return row && "workspaceId" in row ? row.workspaceId : null;
}

/** The audit row of a request, before its place in the chain is known. */
async function draftAudit(
  audited: Audited,
  context: CallerContext,
  result: { status: number; recordId: string | undefined; audited?: object | undefined },
): Promise<AuditDraft> {
  const { principal, services, url } = context;
  const query = hideSecrets(Object.fromEntries(url.searchParams), services.contentRules.secretSettings);
  return {
    time: services.clock.now(),
    requestId: context.id,
    method: context.method,
    uri: storedText(url.pathname, stored.uri, services),
    queryParams: storedText(JSON.stringify(query), stored.query, services),
    requestBody: bodyText(context, result.audited),
    requestHeaders: await headersText(context),
    userId: principal.userId ?? principal.keyId,
    userType: principal.userId === null ? "api_key" : "user",
    workspaceId: await workspaceOf(audited, context, result),
    resourceType: audited.resource,
    resourceId: result.recordId ?? null,
    action: audited.action,
    responseStatusCode: result.status,
    clientIp: clientAddressOf(context, services),
    country: null,
  };
}

/** What `commitAudited` writes. */
interface Wanted {
  /** Status of the response. Default 200. */
  status?: number;
  statements: readonly Statement[];
  recordId?: string;
  audited?: object;
  undo?: Undo | undefined;
}

/** Runs work that decides what to write, and writes it together with its audit row. */
export function commitAudited<Result extends Wanted>(
  audited: Audited,
  context: CallerContext,
  work: () => Promise<Result>,
): Promise<Result> {
  const { organisationId } = context.principal;
  const run = async () => {
    const result = await work();
    const { recordId, status = 200, audited: shown } = result;
    try {
      return { ...result, audit: await draftAudit(audited, context, { status, recordId, audited: shown }) };
    } catch (error) {
      await result.undo?.();
      throw error;
    }
  };
  return context.services.control.committer.run(organisationId, run);
}

/** An endpoint whose calls are audited. */
interface AuditedRoute {
  readonly method: string;
  readonly path: string;
  readonly audit: Audited;
}

/** Writes the audit row of a refused call; repeated refusals of one key and route share a row with counts. */
export async function auditRefusal(
  { method, path, audit: audited }: AuditedRoute,
  context: CallerContext,
  status: number,
): Promise<void> {
  const { principal } = context;
  const { refusals, committer } = context.services.control;
  const route = { method, path, status };
  const isStored = refusals.takes(principal, route);
  const [recordId] = Object.values(context.params);
  if (!isStored) return refusals.count(principal, route, countedDraft(audited, context, status));
  const audit = await draftAudit(audited, context, { status, recordId });
  await committer.run(principal.organisationId, async () => ({ statements: [], audit }));
}

/** State of refusals that are counted instead of stored. */
function countedDraft(audited: Audited, context: CallerContext, status: number): AuditDraft {
  const { principal, namedWorkspaceId, services } = context;
  return {
    time: services.clock.now(),
    requestId: "",
    method: "",
    uri: "",
    queryParams: "{}",
    requestBody: "",
    requestHeaders: "{}",
    userId: principal.userId ?? principal.keyId,
    userType: principal.userId === null ? "api_key" : "user",
    workspaceId: principal.workspaceId ?? namedWorkspaceId ?? null,
    resourceType: audited.resource,
    resourceId: null,
    action: audited.action,
    responseStatusCode: status,
    clientIp: clientAddressOf(context, services),
    country: null,
  };
}
