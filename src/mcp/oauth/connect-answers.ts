import type { CallerContext } from "../../context.ts";
import { AuthenticationError, type GatewayError, RpcError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { withParameters } from "../../lib/redirects.ts";
import type { McpCall } from "../mcp-call.ts";
import { metaOf } from "../message.ts";
import { codes, meta } from "../protocol.ts";
import type { McpServer } from "../registry/mcp-server.ts";
import { oauthAddress } from "./addresses.ts";
import { challengeOf } from "./challenge.ts";
import { sealTicket } from "./flow.ts";
import { hasUserAccounts } from "./upstream-hop.ts";

/** Code of the error that asks to connect an account. */
const connectCode = 401;

/** The address at which the user of a call connects an account. */
async function connectAddress(context: CallerContext, server: McpServer): Promise<string> {
  const { organisationId, workspaceId, userId } = context.principal;
  const place = { organisationId, workspaceId: workspaceId ?? "", userId: userId ?? "", serverId: server.id };
  const ticket = await sealTicket({ kind: "connect", ...place, slug: server.slug }, context);
  return withParameters(oauthAddress(context, "connect"), { ticket });
}

/** The error for services: they have no account anywhere. */
export function userRequired(server: McpServer): RpcError {
  const message = `Cannot call the server "${server.slug}": it needs the account of a user, and this key belongs to none`;
  return new RpcError(200, message, {
    rpcCode: 403,
    code: "user_required",
    data: { type: "user_required", server: server.slug },
  });
}

/** Whether a client says that it can show an address to its user. */
function showsAddresses(capabilities: unknown): boolean {
  const elicitation = isObject(capabilities) ? capabilities.elicitation : undefined;
  return isObject(elicitation) && isObject(elicitation.url);
}

/** What a client shows to its user. */
function elicitationFor(server: McpServer, url: string) {
  return { mode: "url", url, message: `Connect your account to the MCP server ${server.name}` };
}

/** The error for a caller whose user has to connect an account first. */
export async function connectError({ context, server, message }: McpCall): Promise<GatewayError> {
  if (context.principal.grant?.clientId) {
    // the client authorizes again, and the user connects the account on the way
    return new AuthenticationError(`Cannot call the server "${server.slug}": authorize again to connect your account`, {
      code: "oauth_required",
      headers: { "www-authenticate": challengeOf(context, "invalid_token") },
    });
  }
  const url = await connectAddress(context, server);
  const data = { type: "oauth_required", authorization_url: url, authorizationUrl: url, server: server.slug };
  const text = `Cannot call the server "${server.slug}": connect your account at ${url}`;
  if (message.method === "initialize" && showsAddresses(message.params.capabilities)) {
    const elicitations = [{ ...elicitationFor(server, url), elicitationId: crypto.randomUUID() }];
    return new RpcError(200, text, {
      rpcCode: codes.urlElicitation,
      code: "oauth_required",
      data: { ...data, elicitations },
    });
  }
  return new RpcError(200, text, { rpcCode: connectCode, code: "oauth_required", data });
}

/** Requests whose results may ask for input. */
const asking = new Set(["tools/call", "prompts/get", "resources/read"]);

/**
 * The answer to a client that can show its user an address: the user connects the account, and the client repeats the call.
 *
 * @returns Undefined where the call can be made, or is refused by an error.
 */
export async function askToConnect(call: McpCall): Promise<Record<string, unknown> | undefined> {
  const { context, server, message, era } = call;
  if (!hasUserAccounts(server) || era !== "modern" || !asking.has(message.method)) return undefined;
  const { organisationId, workspaceId, userId, grant } = context.principal;
  if (workspaceId === null || userId === null || grant?.clientId) return undefined;
  if (!showsAddresses(metaOf(message.params)[meta.clientCapabilities])) return undefined;
  const place = { organisationId, workspaceId, userId, serverId: server.id };
  if (await context.services.oauth.upstream.connections.isConnected(server, place)) return undefined;
  const url = await connectAddress(context, server);
  const inputRequests = { connect: { method: "elicitation/create", params: elicitationFor(server, url) } };
  return { jsonrpc: "2.0", id: message.id ?? null, result: { resultType: "input_required", inputRequests } };
}
