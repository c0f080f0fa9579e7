import * as v from "valibot";
import { requireAccess } from "../../auth/access.ts";
import type { CallerContext, RequestContext } from "../../context.ts";
import { readJsonBody } from "../../endpoint/body.ts";
import { requireRole } from "../../endpoint/role.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { InvalidRequestError, PermissionError, toGatewayError } from "../../errors.ts";
import { firstPlainIssue } from "../../lib/issues.ts";
import { isObject } from "../../lib/json.ts";
import { hasEncodedSlash } from "../../lib/path.ts";
import type { Reply } from "../../lib/reply.ts";
import { auditRefusal } from "./audit-values.ts";
import { deepestIssue, refuseBody } from "./body-issues.ts";
import { toOwnForm } from "./client-body.ts";
import { refuseDeclared } from "./declared-records.ts";
import { requireKnownQuery } from "./request.ts";

/** Largest body of a control plane route. */
export const maxAdminBodyBytes = 1024 * 1024;

/** Refuses any organisation but the caller's, wherever it is named, whether it exists or not. */
function requireOwnOrganisation(context: CallerContext, body: unknown): void {
  const named = [context.url.searchParams.get("organisation_id"), isObject(body) ? body.organisation_id : undefined];
  for (const id of named) {
    if (typeof id === "string" && id !== context.principal.organisationId) {
      throw new PermissionError("Forbidden! This key belongs to another organisation", {
        code: "AB03",
        param: "organisation_id",
      });
    }
  }
}

/** The body of a control plane request, not validated yet. */
export async function readAdminBody(
  context: RequestContext,
  { bodyOptional = false, maxBodyBytes = maxAdminBodyBytes }: Pick<AdminEndpoint, "bodyOptional" | "maxBodyBytes"> = {},
): Promise<unknown> {
  const length = context.headers.get("content-length");
  const isEmpty =
    length === "0" ||
    (length === undefined && context.headers.get("transfer-encoding") === undefined && context.request.body === null);
  if (bodyOptional && isEmpty) return {};
  // some hosts give every request but GET a stream, also where nothing was sent
  const options = bodyOptional ? { empty: "{}" } : {};
  const { value } = await readJsonBody(context, maxBodyBytes, context.services, options);
  context.adminBody = value;
  return value;
}

/**
 * A body as its schema parses it.
 *
 * @throws {InvalidRequestError} AB01, naming the field that is wrong or unknown.
 */
export function checkBody<Schema extends v.GenericSchema>(schema: Schema, value: unknown): v.InferOutput<Schema> {
  const checked = v.safeParse(schema, value, firstPlainIssue);
  if (checked.success) return checked.output;
  const { path, message } = deepestIssue(checked.issues[0]);
  return refuseBody(path, message);
}

async function readBody(endpoint: AdminEndpoint, context: CallerContext): Promise<unknown> {
  if (!endpoint.body) return undefined;
  const value = await readAdminBody(context, endpoint);
  requireOwnOrganisation(context, value);
  const { path, body: schema } = endpoint;
  return checkBody(schema, toOwnForm({ path, params: context.params, schema }, value));
}

/** @throws {InvalidRequestError} If a path segment contains a slash. */
export function requirePlainPath({ url }: CallerContext): void {
  if (hasEncodedSlash(url.pathname)) {
    throw new InvalidRequestError("Cannot use this path: it contains an encoded slash", { code: "AB01" });
  }
}

/** Parameters of any list: its owner and its page, where these have an effect. */
const commonQuery = ["organisation_id", "workspace_id", "current_page", "page_size"].map((name) => ({ name }));

async function serveChecked(endpoint: AdminEndpoint, context: CallerContext): Promise<Reply> {
  requirePlainPath(context);
  requireAccess(context.principal, endpoint.access);
  await requireRole(context, endpoint.access.scopes);
  requireOwnOrganisation(context, undefined);
  refuseDeclared(endpoint, context);
  if (endpoint.method === "GET" && endpoint.query) {
    requireKnownQuery(context.url.searchParams, [...endpoint.query, ...commonQuery]);
  }
  const body = await readBody(endpoint, context);
  return endpoint.handleAdmin(body, context);
}

/** Serves one control plane endpoint; refusals are audited like changes. */
export function serveAdmin(endpoint: AdminEndpoint, context: CallerContext): Promise<Reply> {
  return auditRefusals(endpoint, context, () => serveChecked(endpoint, context));
}

/** Runs the work of an endpoint; a refusal leaves an audit row if the endpoint is audited. */
export async function auditRefusals(
  { method, path, audit }: Pick<AdminEndpoint, "method" | "path" | "audit">,
  context: CallerContext,
  work: () => Promise<Reply>,
): Promise<Reply> {
  try {
    return await work();
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (audit && error.status !== 503) await auditRefusal({ method, path, audit }, context, error.status);
    throw error;
  }
}
