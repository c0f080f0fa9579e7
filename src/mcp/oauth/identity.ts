import * as v from "valibot";
import { PermissionError } from "../../errors.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import { isHeaderName } from "../../lib/headers.ts";
import type { McpCall } from "../mcp-call.ts";
import { replaceTemplates, templateNames } from "../registry/header-templates.ts";
import { issuerOf } from "./addresses.ts";
import { externalIdentityOf } from "./external-caller.ts";

/** How callers are named to an upstream server: `configurations.user_identity_forwarding`. */
const IdentityForwarding = v.object({
  method: v.picklist(["claims_header", "jwt_header", "bearer"]),
  include_claims: v.optional(v.array(v.string())),
  header_name: v.optional(v.string()),
  jwt_expiry_seconds: v.optional(v.number(), 300),
});

/** Claims that are sent unless the integration lists others. */
const usualClaims = ["sub", "email", "username", "user_id", "workspace_id", "organisation_id", "scope", "client_id"];

const usualNames = { claims_header: "x-user-claims", jwt_header: "x-user-jwt" } as const;

/** Signed statements, until half a minute before they end. */
const held = new WeakMap<object, BoundedMap<string, { token: Promise<string>; until: number }>>();

/** What the gateway knows of the caller. What an identity provider says comes first, but never changes the tenant. */
async function claimsOf(call: McpCall): Promise<Record<string, unknown>> {
  const { context } = call;
  const { principal, services } = context;
  const { organisationId, workspaceId, userId, keyId, grant } = principal;
  const view =
    workspaceId === null ? undefined : await services.control.directory.workspace({ organisationId, workspaceId });
  const email = userId === null ? undefined : view?.members.get(userId)?.email;
  return {
    sub: userId ?? keyId,
    ...(email !== undefined && { email, username: email }),
    ...(grant && { scope: [...grant.scopes].join(" ") }),
    ...externalIdentityOf(context)?.claims,
    // absent for callers that are no user: JSON leaves undefined out
    user_id: userId ?? undefined,
    ...(grant?.clientId && { client_id: grant.clientId }),
    workspace_id: workspaceId,
    organisation_id: organisationId,
  };
}

/** JSON as a header can hold it: everything beyond ASCII is escaped. */
function toAsciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A signed statement about the caller for one upstream. */
function signedFor(call: McpCall, claims: Record<string, unknown>, seconds: number): Promise<string> {
  const { context, server } = call;
  const { services } = context;
  const known = held.get(services) ?? new BoundedMap(10_000);
  held.set(services, known);
  const about = { ...claims, iss: issuerOf(context), aud: server.url };
  const key = JSON.stringify(about);
  const now = services.clock.now();
  const found = known.get(key);
  if (found && found.until > now) return found.token;
  const issuedAt = Math.floor(now / 1_000);
  const payload = { ...about, iat: issuedAt, exp: issuedAt + seconds, jti: crypto.randomUUID() };
  const token = services.oauth.keys.sign("identity", payload, "JWT");
  known.set(key, { token, until: now + (seconds - 30) * 1_000 });
  token.catch(() => known.delete(key));
  return token;
}

/** The verified token of the caller, if it is meant for the upstream. @throws {PermissionError} For any other. */
function bearerFor({ context, server }: McpCall): string {
  const identity = externalIdentityOf(context);
  const audience = identity?.claims.aud;
  const named = Array.isArray(audience) ? audience : [audience];
  if (identity && named.includes(server.url)) return `Bearer ${identity.token}`;
  throw new PermissionError(
    "Cannot call this server: it needs a token of its identity provider that names it as audience",
    {
      code: "identity_required",
    },
  );
}

/** Whether the identity may be in a header of this name. */
function mayHold(name: string, { context }: McpCall): boolean {
  const isUsual = Object.values(usualNames).some((usual) => usual === name);
  const isFree =
    name !== "authorization" && !name.startsWith("mcp-") && context.services.headerRules.mayGoUpstream(name);
  return isHeaderName(name) && (isUsual || isFree);
}

/**
 * Headers that name the caller to the upstream of a call, as the integration asks for.
 *
 * @throws {PermissionError} If the caller's own token is wanted, and is not for the upstream.
 */
export async function identityHeaders(call: McpCall): Promise<Record<string, string>> {
  const given = call.server.configurations.user_identity_forwarding;
  if (given === undefined) return {};
  const { success, output } = v.safeParse(IdentityForwarding, given);
  if (!success) return {};
  if (output.method === "bearer") return { authorization: bearerFor(call) };
  const name = output.header_name?.toLowerCase() ?? usualNames[output.method];
  if (!mayHold(name, call)) return {};
  const all = await claimsOf(call);
  const included = output.include_claims ?? usualClaims;
  const claims = Object.fromEntries(included.filter((one) => Object.hasOwn(all, one)).map((one) => [one, all[one]]));
  if (output.method === "claims_header") return { [name]: toAsciiJson(claims) };
  return { [name]: await signedFor(call, claims, output.jwt_expiry_seconds) };
}

/**
 * A header value of an integration with what its templates stand for. Nothing of a value is read as a template again.
 *
 * @returns Undefined if it has a template without a value: the header is left out.
 */
export async function fillTemplate(value: string, call: McpCall): Promise<string | undefined> {
  if (!value.includes("{{")) return value;
  const claims = await claimsOf(call);
  let isWhole = true;
  const filled = replaceTemplates(value, (name) => {
    const found = templateNames.has(name) && Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (typeof found === "string") return found;
    isWhole = false;
    return "";
  });
  return isWhole ? filled : undefined;
}
