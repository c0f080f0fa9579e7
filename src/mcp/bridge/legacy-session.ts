import { RpcError } from "../../errors.ts";
import { toBase64Url } from "../../lib/base64.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import { productName } from "../../providers/core/call.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import { version as gatewayVersion } from "../../version.ts";
import { postMessage } from "../exchange.ts";
import { callerOf, type McpCall } from "../mcp-call.ts";
import type { Message, RpcId } from "../message.ts";
import { codes, eraOf, newestLegacy } from "../protocol.ts";
import { configDigestOf } from "../registry/mcp-state.ts";
import type { PooledSession } from "../registry/session-pool.ts";
import { toUpstreamId } from "../request-ids.ts";
import { upstreamError } from "../upstream.ts";
import { callerHeaders, upstreamHeaders } from "../upstream-headers.ts";
import { readWholeAnswer, resultIn } from "./read-answer.ts";

/** What the gateway says of itself to servers. */
export const gatewayInfo = { name: productName, version: gatewayVersion };

/** Longest wait for the answer to the end of a session. */
const endTimeoutMs = 5_000;

/** The server refused to begin a session as one that does not speak these revisions would. */
export class NoLegacyServerError extends RpcError {}

/** A message of the gateway. */
export function ownMessage(method: string, params: Record<string, unknown>, id?: RpcId): Message {
  const value = {
    jsonrpc: "2.0",
    ...(id !== undefined && { id }),
    method,
    ...(Object.keys(params).length > 0 && { params }),
  };
  return { kind: id === undefined ? "notification" : "request", id, method, params, value };
}

/** An id that no other request of a shared session has. */
export function freshId(): string {
  return crypto.randomUUID();
}

/** A call of a session in the older revisions, in place of the caller's. */
export function toLegacyCall(call: McpCall, message: Message, session: Pick<PooledSession, "id" | "version">): McpCall {
  const { sent: _, argumentHeaders: __, ...rest } = call;
  return { ...rest, message, era: "legacy", version: session.version, sessionId: session.id };
}

/** Sends a notification; its answer does not matter. */
export async function notify(call: McpCall, attempt: Attempt): Promise<void> {
  const response = await postMessage(call, attempt);
  response.body?.cancel().catch(() => {});
}

/** The result of `initialize`. @throws {NoLegacyServerError} If the server does not know that method or revision. */
function requireStarted(answer: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const result = resultIn(answer);
  if (result) return result;
  const code = isObject(answer.error) ? answer.error.code : undefined;
  const problem = "Cannot begin a session: the server refuses it";
  const isForeign = code === codes.unsupportedVersion || code === codes.methodNotFound || code === codes.headerMismatch;
  if (!isForeign) throw upstreamError(502, problem);
  throw new NoLegacyServerError(502, problem, { rpcCode: codes.internal, code: "upstream_error" });
}

/** What ends the session of a call at its server. It holds nothing of the request that began it. */
async function createEnd(call: McpCall): Promise<() => Promise<void>> {
  const { "content-type": _, ...headers } = await upstreamHeaders(call);
  const { outbound, timers } = call.context.services;
  const { url } = call.server;
  return async (): Promise<void> => {
    const controller = new AbortController();
    const stop = timers.start(endTimeoutMs, () => controller.abort());
    try {
      const init = {
        method: "DELETE",
        headers: { ...headers },
        signal: controller.signal,
        origin: "influenced",
      } as const;
      const response = await outbound(url, init);
      response.body?.cancel().catch(() => {});
    } catch {
      // it ends there by itself
    } finally {
      stop();
    }
  };
}

const nothingToEnd = async (): Promise<void> => {};

/** The id of a session, as its server names it. @throws {RpcError} 502 for one that no header can carry. */
function readSessionId({ headers }: Response): string | undefined {
  const id = headers.get("mcp-session-id");
  if (id === null) return undefined;
  if (/^[\x21-\x7e]{1,1024}$/.test(id)) return id;
  throw upstreamError(502, "Cannot begin a session: its id is not short visible ASCII");
}

/**
 * Begins a session without capabilities, so that the server asks nothing back.
 *
 * @throws {GatewayError} 502 or 504 if the server begins none.
 */
export async function beginSession(call: McpCall, attempt: Attempt): Promise<PooledSession> {
  const params = { protocolVersion: newestLegacy, capabilities: {}, clientInfo: gatewayInfo };
  const before = { id: undefined, version: newestLegacy };
  const hello = toLegacyCall(call, ownMessage("initialize", params, freshId()), before);
  const { upstreamId: _, ...started } = hello;
  const response = await postMessage(started, attempt);
  const about = requireStarted(await readWholeAnswer(started, response, attempt));
  const version = stringOf(about.protocolVersion) ?? newestLegacy;
  if (eraOf(version) !== "legacy" && version !== "2024-11-05") {
    throw upstreamError(502, "Cannot begin a session: the server chose a protocol version that the gateway lacks");
  }
  const id = readSessionId(response);
  const session = { id, version };
  const greeting = toLegacyCall(call, ownMessage("notifications/initialized", {}), session);
  const end = id === undefined ? nothingToEnd : await createEnd(greeting);
  try {
    await notify(greeting, attempt);
  } catch (error) {
    void end();
    throw error;
  }
  return { ...session, about, end };
}

/** What a session depends on: its server, the credential, the caller, and the headers that the caller adds. */
export async function sessionKey(call: McpCall): Promise<string> {
  const { server, context } = call;
  const headers = JSON.stringify(Object.entries(callerHeaders(call)).sort());
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(headers));
  const parts = [server.organisationId, server.id, await configDigestOf(server), toBase64Url(new Uint8Array(digest))];
  return JSON.stringify([...parts, ...callerOf(context)]);
}

/** Id of a request as the upstream of a session sees it. */
export function idInSession({ id }: Message): string {
  return toUpstreamId(id ?? "");
}
