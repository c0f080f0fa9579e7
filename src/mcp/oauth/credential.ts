import { RpcError } from "../../errors.ts";
import { isHeaderValue } from "../../lib/headers.ts";
import type { McpCall } from "../mcp-call.ts";
import { codes } from "../protocol.ts";
import { readChallenge } from "../registry/oauth/challenges.ts";
import type { ConnectionPlace, ConnectionToken } from "../registry/oauth/connections.ts";
import { connectError, userRequired } from "./connect-answers.ts";
import { hasUserAccounts } from "./upstream-hop.ts";

/** The account of the caller at the server of a call; undefined for services, which have none. */
function placeOf({ context: { principal }, server }: McpCall): ConnectionPlace | undefined {
  const { organisationId, workspaceId, userId } = principal;
  if (workspaceId === null || userId === null) return undefined;
  return { organisationId, workspaceId, userId, serverId: server.id };
}

/** Tokens that requests were sent with, and their versions: a refused one is not used again. */
const used = new WeakMap<object, { token: string; version: number }>();

function unavailable(cause?: unknown): RpcError {
  return new RpcError(502, "Cannot call the server: its authorization server does not answer", {
    rpcCode: codes.internal,
    code: "upstream_auth_unavailable",
    data: { type: "upstream_auth_unavailable" },
    ...(cause !== undefined && { cause }),
  });
}

/** A token as the header of a call. It is secret in every log. */
function toHeader(call: McpCall, token: string, version = 0): Record<string, string> {
  const value = `Bearer ${token}`;
  if (!isHeaderValue(value)) throw unavailable();
  call.context.log.secrets.push(token);
  used.set(call.context, { token, version });
  return { authorization: value };
}

async function fromConnection(call: McpCall, found: ConnectionToken): Promise<Record<string, string>> {
  if (found.kind === "token") return toHeader(call, found.token, found.version);
  throw found.kind === "unavailable" ? unavailable() : await connectError(call);
}

/**
 * The credential of the caller's account, or of the integration, for the upstream of a call.
 *
 * @throws {GatewayError} If the user has to connect an account first, or there is no token to be had.
 */
export async function callCredentials(call: McpCall): Promise<Record<string, string>> {
  const { server, context } = call;
  const { connections, machineTokens } = context.services.oauth.upstream;
  if (server.authType === "oauth_client_credentials") {
    const token = await machineTokens.get(server).catch((error) => {
      throw unavailable(error);
    });
    return toHeader(call, token);
  }
  if (!hasUserAccounts(server)) return {};
  const place = placeOf(call);
  if (!place) throw userRequired(server);
  return fromConnection(call, await connections.token(server, place));
}

/** Gets another credential after the upstream refused the one of a call; whether the call may be sent again. */
async function renewCredential(call: McpCall): Promise<boolean> {
  const { server, context } = call;
  const last = used.get(context);
  if (!last) return false;
  const { connections, machineTokens } = context.services.oauth.upstream;
  if (context.log.mcp) context.log.mcp.token_refreshed = true;
  if (server.authType === "oauth_client_credentials") {
    machineTokens.drop(server, last.token);
    return true;
  }
  const place = placeOf(call);
  if (!place || !hasUserAccounts(server)) return false;
  await fromConnection(call, await connections.renew(server, place, last.version));
  return true;
}

/** Refuses a call whose account the upstream does not accept: the user has to connect again. */
async function requireAccepted(call: McpCall, { status, headers }: Response): Promise<void> {
  const place = hasUserAccounts(call.server) ? placeOf(call) : undefined;
  if (!place || (status !== 401 && status !== 403)) return;
  const challenge = readChallenge(headers.get("www-authenticate"));
  if (status === 403 && challenge?.error !== "insufficient_scope") return;
  await call.context.services.oauth.upstream.connections.requireScope(place, challenge?.scope);
  throw await connectError(call);
}

/**
 * Sends a request; once more with another credential if the upstream refuses the first one.
 *
 * @throws {GatewayError} If the user has to connect an account again.
 */
export async function withFreshCredential(call: McpCall, send: () => Promise<Response>): Promise<Response> {
  const first = await send();
  if (first.status !== 401 && first.status !== 403) return first;
  const isRepeated = first.status === 401 && (await renewCredential(call));
  if (isRepeated) first.body?.cancel().catch(() => {});
  const response = isRepeated ? await send() : first;
  await requireAccepted(call, response);
  return response;
}
