import type { RequestContext } from "../../context.ts";
import type { OauthCodeRow, OauthFamilyRow } from "../../db/tables/oauth.ts";
import { requireOrigin } from "../../endpoint/public-origin.ts";
import { OauthError } from "../../errors.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import type { IssuedTokens } from "../../schemas/oauth.ts";
import { type AccessGrant, accessTokenSeconds } from "../registry/oauth/access-tokens.ts";
import type { OauthClient } from "../registry/oauth/clients.ts";
import { refreshTokenMs } from "../registry/oauth/refresh-tokens.ts";
import { sha256Base64Url } from "../registry/oauth/seal.ts";
import { issuerOf, readResource } from "./addresses.ts";
import { authenticateClient, refuseCounted } from "./client-authentication.ts";
import { type Parameters, readForm, requireParameter } from "./form.ts";
import { includesScopes, readScope, requireScope } from "./scope.ts";
import { findUserServer, findWorkspaceServer } from "./servers.ts";
import { findSignInKey } from "./sign-in-key.ts";

/** A call of the token endpoint by an authenticated client. */
interface TokenCall {
  readonly context: RequestContext;
  readonly client: OauthClient;
  readonly form: Parameters;
}

function refuseGrant(message: string, param?: string): never {
  throw new OauthError("invalid_grant", message, { ...(param !== undefined && { param }) });
}

/** Tokens as a client gets them. */
async function answer(
  { context }: Pick<TokenCall, "context">,
  grant: AccessGrant,
  { resource, refreshToken }: { resource: string; refreshToken: string | undefined },
): Promise<Reply> {
  const parties = { issuer: issuerOf(context), audience: resource };
  const reply = jsonReply({
    access_token: await context.services.oauth.accessTokens.issue(grant, parties),
    token_type: "Bearer",
    expires_in: accessTokenSeconds,
    scope: grant.scope,
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
  } satisfies IssuedTokens);
  reply.headers.pragma = "no-cache";
  return reply;
}

/** Whether a code is for this client, and the client is the one that asked for it. */
async function isOfClient(row: OauthCodeRow, { client, form, context }: TokenCall): Promise<boolean> {
  const verifier = form.get("code_verifier") ?? "";
  const resource = form.get("resource");
  return (
    row.clientId === client.id &&
    row.expiresAt > context.services.clock.now() &&
    form.get("redirect_uri") === row.redirectUri &&
    /^[A-Za-z0-9._~-]{43,128}$/.test(verifier) &&
    (await sha256Base64Url(verifier)) === row.codeChallenge &&
    resource === row.resource
  );
}

/** The first tokens of a code. */
function familyOf(
  row: OauthCodeRow,
  id: string,
  { client, now }: { client: OauthClient; now: number },
): OauthFamilyRow {
  const { organisationId, workspaceId, userId, clientId, serverId, resource, scope, keyId, keyVersion } = row;
  const granted = { organisationId, workspaceId, userId, clientId, serverId, resource, scope, keyId, keyVersion };
  const sequence = client.grantTypes.includes("refresh_token") ? 0 : -1;
  return { id, ...granted, sequence, rotatedAt: now, revokedAt: null, expiresAt: now + refreshTokenMs, createdAt: now };
}

/** Exchanges a code, once; a second use ends what the first one gave (RFC 9700, section 2.1.1). */
async function exchangeCode(call: TokenCall): Promise<Reply> {
  const { context, client, form } = call;
  const { oauth, clock } = context.services;
  const digest = await sha256Hex(requireParameter(form, "code"));
  const row = await oauth.store.findCode(digest);
  if (!row) return refuseCounted(context, () => refuseGrant("Cannot use the code: it is not known", "code"));
  const id = crypto.randomUUID();
  const isRight = await isOfClient(row, call);
  const family = isRight ? familyOf(row, id, { client, now: clock.now() }) : undefined;
  if (!(await oauth.store.useCode(digest, id, family))) {
    const used = await oauth.store.findCode(digest);
    if (used?.familyId) await oauth.refreshTokens.revoke({ id: used.familyId, organisationId: row.organisationId });
    refuseGrant("Cannot use the code: it was used before", "code");
  }
  if (!family) {
    refuseGrant(
      "Cannot use the code: client, redirect_uri, code_verifier or resource differ, or it is too old",
      "code",
    );
  }
  await requireStanding(call, family);
  await oauth.clients.touch(client);
  const refreshToken = family.sequence < 0 ? undefined : await oauth.refreshTokens.of(id, 0);
  return answer(call, { ...family, familyId: id }, { resource: row.resource, refreshToken });
}

/** Ends a family whose user, key, right or server is gone. @throws {OauthError} */
async function requireStanding({ context }: TokenCall, family: OauthFamilyRow): Promise<void> {
  const { oauth } = context.services;
  const { organisationId, workspaceId, userId, keyId } = family;
  const named = readResource(context, family.resource);
  const hasKey = keyId === null || (await findSignInKey(context, family)) !== undefined;
  const server = hasKey && named && (await findUserServer(context, { organisationId, workspaceId, userId }, named));
  if (server && server.server.id === family.serverId) return;
  await oauth.refreshTokens.revoke(family);
  refuseGrant("Cannot use this grant: the user may no longer use the server");
}

/** Replaces a refresh token. */
async function refresh(call: TokenCall): Promise<Reply> {
  const { context, client, form } = call;
  const { oauth } = context.services;
  const unknown = () => refuseGrant("Cannot use the refresh token: it is not valid", "refresh_token");
  const found = await oauth.refreshTokens.find(requireParameter(form, "refresh_token"));
  // nothing is changed for who does not have the client's credential
  if (!found || found.family.clientId !== client.id) return refuseCounted(context, unknown);
  const { family, sequence } = found;
  const resource = form.get("resource");
  if (resource !== undefined && resource !== family.resource) {
    throw new OauthError("invalid_target", "Cannot use the refresh token for another resource", { param: "resource" });
  }
  const wanted = form.get("scope");
  const scope = wanted === undefined ? family.scope.split(" ") : requireScope(wanted);
  if (!includesScopes(family.scope.split(" "), scope)) {
    throw new OauthError("invalid_scope", "Cannot grant more scopes than the user did", { param: "scope" });
  }
  await requireStanding(call, family);
  const used = await oauth.refreshTokens.use(family, sequence);
  if (!used) return unknown();
  await oauth.clients.touch(client);
  const grant = { ...family, scope: scope.join(" "), familyId: family.id };
  return answer(call, grant, { resource: family.resource, refreshToken: used.successor });
}

/** A token for a client that acts for itself, without a user. */
async function grantToClient(call: TokenCall): Promise<Reply> {
  const { context, client, form } = call;
  const { organisationId, workspaceId } = client;
  const isAllowed = client.grantTypes.includes("client_credentials") && client.authMethod !== "none";
  if (!isAllowed || organisationId === null || workspaceId === null) {
    throw new OauthError("unauthorized_client", "Cannot use client_credentials: the client was not made for it");
  }
  const resource = requireParameter(form, "resource");
  const named = readResource(context, resource);
  const server = named && (await findWorkspaceServer(context, { organisationId, workspaceId }, named));
  if (!server) throw new OauthError("invalid_target", "Cannot find this MCP server", { param: "resource" });
  const scope = requireScope(form.get("scope") ?? client.scope);
  if (!includesScopes(readScope(client.scope), scope)) {
    throw new OauthError("invalid_scope", "Cannot grant this scope: the client does not have it", { param: "scope" });
  }
  await context.services.oauth.clients.touch(client);
  const owner = { organisationId, workspaceId, userId: null, clientId: client.id };
  const grant = { ...owner, serverId: server.id, scope: scope.join(" ") };
  return answer(call, grant, { resource, refreshToken: undefined });
}

const grants: Readonly<Record<string, (call: TokenCall) => Promise<Reply>>> = {
  authorization_code: exchangeCode,
  refresh_token: refresh,
  client_credentials: grantToClient,
};

/** Serves the token endpoint (RFC 6749, section 3.2). */
export async function serveToken(context: RequestContext): Promise<Reply> {
  requireOrigin(context);
  const form = await readForm(context);
  const type = requireParameter(form, "grant_type");
  const grant = Object.hasOwn(grants, type) ? grants[type] : undefined;
  if (!grant) {
    throw new OauthError("unsupported_grant_type", `Cannot use the grant "${type.slice(0, 100)}"`, {
      param: "grant_type",
    });
  }
  return grant({ context, form, client: await authenticateClient(context, form) });
}
