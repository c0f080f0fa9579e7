import { clientAddressOf, type RequestContext } from "../context.ts";
import type { AuditDraft } from "../control/audit-chain.ts";
import type { Statement } from "../db/client.ts";

/** A sign-in or sign-out, as the audit log names it. */
interface SessionEvent {
  readonly organisationId: string;
  readonly workspaceId: string | null;
  readonly action: "sign_in" | "sign_out";
  /** The user, or the key where none is behind it; empty where nobody is known. */
  readonly actor: string;
  readonly actorType: "user" | "api_key";
  /** Id of the session; null where there is no session. */
  readonly sessionId: string | null;
  readonly status: number;
  /** How the user signed in, or why that failed. */
  readonly details: Readonly<Record<string, string>>;
}

/** Who refusals are counted for where nobody is known. */
const unknownCaller = "console";

/** Most characters that are stored of the browser's name. */
const maxAgent = 200;

function draftOf(event: SessionEvent, context: RequestContext): AuditDraft {
  const { services, headers, method, url, id } = context;
  const agent = headers.get("user-agent");
  return {
    time: services.clock.now(),
    requestId: id,
    method,
    uri: url.pathname,
    queryParams: "{}",
    requestBody: services.redactor.text(JSON.stringify(event.details)),
    requestHeaders:
      agent === undefined ? "{}" : services.redactor.text(JSON.stringify({ "user-agent": agent.slice(0, maxAgent) })),
    userId: event.actor,
    userType: event.actorType,
    workspaceId: event.workspaceId,
    resourceType: "console_sessions",
    resourceId: event.sessionId,
    action: event.action,
    responseStatusCode: event.status,
    clientIp: clientAddressOf(context, services),
    country: null,
  };
}

/** Writes the audit row of an event, with what the event changes. */
export async function auditSession(
  event: SessionEvent,
  context: RequestContext,
  statements: readonly Statement[] = [],
): Promise<void> {
  const audit = draftOf(event, context);
  await context.services.control.committer.run(event.organisationId, async () => ({ statements, audit }));
}

/**
 * Writes the audit row of a sign-in that failed; beyond some in a minute, failures share a row with a count. One that names
 * no organisation belongs to the only one there is.
 */
export async function auditFailure(
  {
    organisationId,
    status,
    details,
  }: { organisationId?: string | undefined } & Pick<SessionEvent, "status" | "details">,
  context: RequestContext,
): Promise<void> {
  const { control, oauth } = context.services;
  const tenant = organisationId ?? (await oauth.onlyOrganisation());
  if (tenant === undefined) return;
  const event: SessionEvent = {
    organisationId: tenant,
    workspaceId: null,
    action: "sign_in",
    actor: "",
    actorType: "api_key",
    sessionId: null,
    status,
    details,
  };
  const caller = { organisationId: tenant, keyId: unknownCaller };
  const route = { method: context.method, path: context.url.pathname, status };
  if (control.refusals.takes(caller, route)) await auditSession(event, context);
  else control.refusals.count(caller, route, draftOf(event, context));
}
