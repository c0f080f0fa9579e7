import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../../admin/core/endpoint.ts";
import {
  forbid,
  readPage,
  readText,
  refuseField,
  requireFound,
  requireReferenced,
  toIso,
} from "../../admin/core/request.ts";
import { maskSecret } from "../../auth/api-key.ts";
import type { McpServerRow } from "../../db/tables/mcp.ts";
import type { McpConnectionRow } from "../../db/tables/oauth.ts";
import { requireScopes } from "../../endpoint/role.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { McpSuccess } from "../../schemas/mcp.ts";
import { MaskedTokens, type McpConnection, McpConnectionList, UpdateTokens } from "../../schemas/oauth.ts";
import { NoContent } from "../../schemas/objects.ts";
import type { McpServer } from "../registry/mcp-server.ts";
import { readUpstreamSettings } from "../registry/oauth/upstream-settings.ts";
import { identityScope } from "./mcp-identity.ts";
import { findMcpServer, ofServer } from "./mcp-server-records.ts";

/** The user whose account a call is about: that of the key, or one that a key of a service names. */
function readUser({ context, query }: AdminCall<unknown>, named = readText(query, "user_id")): string | undefined {
  const own = context.principal.userId;
  if (own !== null && named !== undefined && named !== own)
    forbid("This key sees the account of its user only", "user_id");
  return own ?? named;
}

/** @throws {InvalidRequestError} If a key of a service names no user. */
function requireUser(call: AdminCall<unknown>, named?: string): string {
  return readUser(call, named) ?? refuseField("user_id", "must be given with a key of a service");
}

function placeOf(server: McpServerRow, userId: string) {
  return { ...ofServer(server), userId, serverId: server.id };
}

/** A server as calls see it. */
async function toServer({ context }: AdminCall<unknown>, row: McpServerRow): Promise<McpServer | undefined> {
  return context.services.mcpServers.find(ofServer(row), row.slug);
}

function toRecord(row: McpConnectionRow): McpConnection {
  const { userId, status, issuer, scope, expiresAt, createdAt, lastUpdatedAt } = row;
  return {
    user_id: userId,
    connected: status === "connected",
    status,
    issuer,
    scope,
    expires_at: toIso(expiresAt),
    created_at: toIso(createdAt),
    last_updated_at: toIso(lastUpdatedAt || createdAt),
  };
}

async function listConnections(call: AdminCall<undefined>): Promise<AnswerOf<typeof McpConnectionList>> {
  const server = await findMcpServer(call);
  const page = readPage(call.query, { size: 50, max: 100 });
  const userId = readUser(call);
  const { rows, total } = await call.stores.mcpConnections.list(ofServer(server), {
    page,
    where: { serverId: server.id, ...(userId !== undefined && { userId }) },
  });
  return { data: rows.map(toRecord), total, has_more: page.offset + rows.length < total };
}

async function removeConnection<Answer>(call: AdminCall<undefined>, answer: Answer): Promise<Outcome<Answer>> {
  const row = await findMcpServer(call);
  const { connections } = call.context.services.oauth.upstream;
  const { statements, revoke } = await connections.removal(await toServer(call, row), placeOf(row, requireUser(call)));
  return { answer, recordId: row.id, statements, applied: () => void revoke() };
}

async function readTokens(call: AdminCall<undefined>): Promise<AnswerOf<typeof MaskedTokens>> {
  const row = await findMcpServer(call);
  const { connections } = call.context.services.oauth.upstream;
  const tokens = requireFound(await connections.read(placeOf(row, requireUser(call))), "connection");
  const { accessToken, refreshToken, expiresAt } = tokens;
  return {
    access_token: maskSecret(accessToken),
    refresh_token: refreshToken === undefined ? null : maskSecret(refreshToken),
    expires_at: toIso(expiresAt),
  };
}

/** The authorization server that can refresh given tokens, as the client that settings name. */
async function refreshPlace(call: AdminCall<UpdateTokens>, server: McpServer) {
  const { discovery } = call.context.services.oauth.upstream;
  const settings = await readUpstreamSettings(server);
  const { clientId: id, authMethod } = settings;
  if (id === undefined) {
    if (call.body.refresh_token) refuseField("refresh_token", "needs oauth_metadata.client_id of the integration");
    const issuer = new URL(server.url).origin;
    return {
      issuer,
      tokenEndpoint: "",
      revocationEndpoint: undefined,
      resource: undefined,
      client: { id: "", secret: undefined, method: "none" },
    };
  }
  const found = await discovery.find(server, settings).catch(() => undefined);
  const known = found ?? refuseField("access_token", "cannot be stored: the authorization server does not answer");
  const { issuer, tokenEndpoint, revocationEndpoint } = known;
  const resource = settings.sendsResource ? (settings.resource ?? known.resource) : undefined;
  const method = authMethod ?? (settings.clientSecret === undefined ? "none" : "client_secret_basic");
  return { issuer, tokenEndpoint, revocationEndpoint, resource, client: { id, secret: undefined, method } };
}

async function storeTokens(call: AdminCall<UpdateTokens>) {
  const { body, now, context } = call;
  const row = await findMcpServer(call);
  const userId = requireUser(call, body.user_id ?? undefined);
  // calls of the user would go to an account that somebody else chose
  if (userId !== context.principal.userId) await requireScopes(context, [identityScope]);
  const view = await context.services.control.directory.workspace(ofServer(row));
  requireReferenced(view?.members.get(userId), "user_id");
  const server = requireFound(await toServer(call, row), "MCP server");
  const hasAccounts = server.authType === "oauth_auto" || server.authType === "external";
  if (!hasAccounts) refuseField("access_token", "cannot be stored: the server has no accounts of users");
  const place = await refreshPlace(call, server);
  const seconds = body.expires_in ?? undefined;
  const statements = await context.services.oauth.upstream.connections.storing(placeOf(row, userId), {
    url: server.url,
    ...place,
    accessToken: body.access_token,
    refreshToken: body.refresh_token ?? undefined,
    scope: undefined,
    expiresAt: seconds === undefined ? undefined : now + seconds * 1_000,
  });
  return { answer: {}, recordId: row.id, statements };
}

const access = (verb: string) => ({
  tag: "MCP servers",
  access: { keys: "any" as const, scopes: [`mcp_servers.${verb}`] },
});
const audit = (action: string) => ({ resource: "mcp_connections", action, store: null });
const user = { name: "user_id", description: "The user, for keys of services; default: the user of the key" };
const path = "/v1/mcp-servers/:slug";

/** Endpoints of the accounts of users at upstream servers. */
export const mcpConnectionEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...access("read"),
    method: "GET",
    path: `${path}/connections`,
    summary: "List the accounts that users connected; keys of users see their own",
    query: [user],
    response: McpConnectionList,
    handle: listConnections,
  }),
  defineWrite({
    ...access("update"),
    method: "DELETE",
    path: `${path}/connections`,
    summary: "Disconnect an account, and revoke its tokens",
    query: [user],
    audit: audit("delete"),
    response: McpSuccess,
    handle: (call) => removeConnection(call, { success: true }),
  }),
  defineRead({
    ...access("read"),
    method: "GET",
    path: `${path}/tokens`,
    summary: "Read the tokens of an account, masked",
    query: [user],
    response: MaskedTokens,
    handle: readTokens,
  }),
  defineWrite({
    ...access("update"),
    method: "PUT",
    path: `${path}/tokens`,
    summary: "Connect an account with tokens that were obtained elsewhere",
    audit: audit("update"),
    body: UpdateTokens,
    response: NoContent,
    handle: storeTokens,
  }),
  defineWrite({
    ...access("update"),
    method: "DELETE",
    path: `${path}/tokens`,
    summary: "Disconnect an account, and revoke its tokens",
    query: [user],
    audit: audit("delete"),
    response: NoContent,
    handle: (call) => removeConnection(call, {}),
  }),
];
