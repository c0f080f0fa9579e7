import type { RequestContext } from "../../context.ts";
import { requireOrigin } from "../../endpoint/public-origin.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import type { Introspection } from "../../schemas/oauth.ts";
import type { OauthClient } from "../registry/oauth/clients.ts";
import { authenticateClient } from "./client-authentication.ts";
import { readForm, requireParameter } from "./form.ts";

/** Ends a token of a client. Others' and unknown ones change nothing. */
async function revoke(token: string, client: OauthClient, { services: { oauth } }: RequestContext): Promise<void> {
  const found = await oauth.refreshTokens.find(token);
  if (found) {
    if (found.family.clientId === client.id) await oauth.refreshTokens.revoke(found.family);
    return;
  }
  const access = oauth.accessTokens.takes(token) ? await oauth.accessTokens.verify(token) : undefined;
  if (access?.clientId === client.id) await oauth.revocations.revoke(access.organisationId, [access.id]);
}

/** Revokes a token (RFC 7009). */
export async function serveRevocation(context: RequestContext): Promise<Reply> {
  requireOrigin(context);
  const form = await readForm(context);
  const client = await authenticateClient(context, form);
  await revoke(requireParameter(form, "token"), client, context);
  return { status: 200, headers: {}, body: null };
}

const inactive: Introspection = { active: false };

/** What a token is worth (RFC 7662). A client learns nothing of tokens of others. */
export async function serveIntrospection(context: RequestContext): Promise<Reply> {
  requireOrigin(context);
  const { oauth, clock } = context.services;
  const form = await readForm(context);
  const client = await authenticateClient(context, form);
  const token = requireParameter(form, "token");
  const access = oauth.accessTokens.takes(token) ? await oauth.accessTokens.verify(token) : undefined;
  if (access) {
    if (access.clientId !== client.id) return jsonReply(inactive);
    return jsonReply({
      active: true,
      token_type: "Bearer",
      iss: access.issuer,
      aud: access.audience,
      sub: access.userId ?? access.clientId,
      client_id: access.clientId,
      scope: access.scope,
      iat: access.issuedAt / 1_000,
      exp: access.expiresAt / 1_000,
      jti: access.id,
    } satisfies Introspection);
  }
  const found = await oauth.refreshTokens.find(token);
  const family = found?.family;
  const isValid =
    family?.clientId === client.id &&
    family.revokedAt === null &&
    family.sequence === found?.sequence &&
    family.expiresAt > clock.now();
  if (!family || !isValid) return jsonReply(inactive);
  const { userId: sub, clientId, scope, resource, expiresAt } = family;
  return jsonReply({
    active: true,
    sub,
    client_id: clientId,
    scope,
    aud: resource,
    exp: Math.floor(expiresAt / 1_000),
  } satisfies Introspection);
}
