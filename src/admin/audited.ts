import { type CallerContext, clientAddressOf, type Services } from "../context.ts";
import type { AuditDraft } from "../control/audit-chain.ts";
import type { Statement } from "../db/client.ts";
import type { AdminEndpoint } from "../endpoint.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { type HeldBody, textOfBody } from "../logs/body.ts";

type Audited = NonNullable<AdminEndpoint["audit"]>;

/** Members whose values are secrets, in either spelling; compared without `_` and in lower case. */
const secretMembers = new Set(
  [
    ...["key", "api_key", "secret", "token", "password", "authorization", "client_auth", "credentials", "private_key"],
    ...["client_secret", "vault_token", "vault_secret_id", "aws_access_key_id", "aws_secret_access_key"],
    ...["aws_session_token", "azure_entra_client_secret", "vertex_service_account_json", "service_account_json"],
    ...["custom_headers", "x-api-key"],
  ].map(plainName),
);

function plainName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, "");
}

/** Whether a member's name, or a path to one, says that its value is a secret. */
export function isSecretName(name: string): boolean {
  const plain = plainName(name);
  return secretMembers.has(plain) || /(?:secret|password|passphrase|token|privatekey|apikey|accesskey)$/.test(plain);
}

/** Whether an object says `{path, value}` of a secret, as operations of identity providers do. */
function setsSecret(value: Record<string, unknown>): boolean {
  return Object.entries(value).some(
    ([name, path]) => plainName(name) === "path" && typeof path === "string" && /secret|password|token/i.test(path),
  );
}

/** What stands where a secret stood. */
const hidden = "*****";

/** A value without the secrets in it. */
export function hideSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hideSecrets);
  if (!isObject(value)) return value;
  const holdsSecret = setsSecret(value);
  const shown = Object.entries(value).map(([name, member]) => {
    const isSecret = isSecretName(name) || (holdsSecret && plainName(name) === "value");
    return [name, isSecret && member !== null ? hidden : hideSecrets(member)];
  });
  return Object.fromEntries(shown);
}

/** A body as the audit log keeps it; one that is no JSON is not kept. */
function bodyText(body: HeldBody | null, services: Services): string {
  const value = body === null ? undefined : parseJson(textOfBody(body));
  if (value === undefined) return "";
  return services.redactor.text(JSON.stringify(hideSecrets(value))).slice(0, 16_384);
}

/** The audit row of a request, before its place in the chain is known. */
export async function draftAudit(
  audited: Audited,
  context: CallerContext,
  services: Services,
  result: { status: number; recordId: string | undefined },
): Promise<AuditDraft> {
  const { principal, url } = context;
  const headers = await services.redactor.headers(context.headers.values(), []);
  return {
    time: services.clock.now(),
    requestId: context.id,
    method: context.method,
    uri: services.redactor.text(url.pathname),
    queryParams: services.redactor.text(JSON.stringify(hideSecrets(Object.fromEntries(url.searchParams)))),
    requestBody: bodyText(context.log.requestBody, services),
    requestHeaders: JSON.stringify(headers),
    userId: principal.userId ?? principal.keyId,
    userType: principal.userId === null ? "api_key" : "user",
    workspaceId: principal.workspaceId,
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
  /** Status of the answer. Default 200. */
  status?: number;
  statements: readonly Statement[];
  recordId?: string;
  changed?: readonly { resource: string; recordId: string }[];
}

/** Runs work that decides what to write, and writes it together with its audit row. */
export function commitAudited<Result extends Wanted>(
  audited: Audited,
  context: CallerContext,
  services: Services,
  work: () => Promise<Result>,
): Promise<Result> {
  const { organisationId } = context.principal;
  const run = async () => {
    const result = await work();
    const { recordId, changed = [], statements, status = 200 } = result;
    const own = recordId === undefined ? [] : [{ resource: audited.resource, recordId }];
    const changes = [...own, ...changed].map((change) => ({ organisationId, ...change }));
    const audit = await draftAudit(audited, context, services, { status, recordId });
    return { ...result, statements, changes, audit };
  };
  return services.control.committer.run(organisationId, run);
}

/** Leaves the audit row of a call that was refused. */
export async function auditRefusal(
  audited: Audited,
  context: CallerContext,
  services: Services,
  status: number,
): Promise<void> {
  const [recordId] = Object.values(context.params);
  const audit = await draftAudit(audited, context, services, { status, recordId });
  await services.control.committer.run(context.principal.organisationId, async () => ({
    statements: [],
    changes: [],
    audit,
  }));
}
