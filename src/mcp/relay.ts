import { RpcError } from "../errors.ts";
import { isHeaderValue } from "../lib/headers.ts";
import type { Reply } from "../lib/reply.ts";
import { Attempt } from "../upstream/attempt.ts";
import { isEventStream, type JsonAnswer, toJudgedAnswer } from "./answer.ts";
import { relayStream, type StreamRules } from "./event-relay.ts";
import { type Exchange, openStream, postMessage, readExchange } from "./exchange.ts";
import { callerOf, type McpCall } from "./mcp-call.ts";
import { codes } from "./protocol.ts";
import { configDigestOf } from "./registry/mcp-state.ts";
import { callerKey, describeFailure, upstreamError } from "./upstream.ts";

/** Headers of every event stream. */
export const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
} as const;

/** Longest session id of an upstream, in characters. */
const maxSessionId = 1_024;

/** How a call reaches its upstream, and how what comes back reaches the caller. */
export interface Route extends StreamRules {
  /** Sends the message. */
  send(call: McpCall, attempt: Attempt): Promise<Response>;
  /** Takes the stream of an answer up again. */
  resume?(call: McpCall, attempt: Attempt, lastEventId: string): Promise<Response>;
  /** Whether an answer shows that the upstream does not speak the era of the call. */
  isMisfit?(call: McpCall, outcome: Exchange | RpcError): boolean;
  /** The status of a JSON answer, after its conversion. */
  statusOf?(answer: Readonly<Record<string, unknown>>, status: number): number;
  /** Called once, however the call ends. */
  onOver?(): void;
  /** Called if the caller left before the answer. */
  onLeave?(): void;
}

/** Headers of an upstream's answer that its caller gets. */
async function answerHeaders({ context, server, message }: McpCall, headers: Headers): Promise<Record<string, string>> {
  const shown: Record<string, string> = {};
  const retryAfter = headers.get("retry-after");
  if (retryAfter !== null && isHeaderValue(retryAfter)) shown["retry-after"] = retryAfter;
  const sessionId = headers.get("mcp-session-id");
  if (sessionId === null || message.method !== "initialize") return shown;
  if (sessionId.length > maxSessionId || !/^[\x21-\x7e]+$/.test(sessionId)) {
    throw upstreamError(502, "Cannot use the answer of the server: its session id is not visible ASCII");
  }
  const holder = { serverId: server.id, configDigest: await configDigestOf(server), caller: callerOf(context) };
  shown["mcp-session-id"] = await context.services.mcp.sessions.seal(sessionId, holder);
  return shown;
}

/** Takes a stream of a legacy upstream up again: its own clients would do so by GET, which this gateway does not offer. */
async function resumeStream(call: McpCall, attempt: Attempt, lastEventId: string): Promise<Response> {
  const response = await openStream(call, attempt, lastEventId);
  if (response.status === 200 && isEventStream(response)) return response;
  response.body?.cancel().catch(() => {});
  throw upstreamError(502, "Cannot finish the call: the server closed the stream before its answer");
}

/** A JSON answer for the caller. */
async function jsonAnswerReply(call: McpCall, answer: JsonAnswer, route: Route): Promise<Reply> {
  const { headers, json } = answer;
  const value = route.convert?.(answer.value) ?? answer.value;
  const status = route.statusOf?.(value, answer.status) ?? answer.status;
  const body = json.write(await toJudgedAnswer(call, value, json));
  call.context.log.responseBody = body;
  return { status, headers: { "content-type": "application/json", ...(await answerHeaders(call, headers)) }, body };
}

/** A stream for the caller. */
async function streamReply(
  call: McpCall,
  response: Response,
  parts: { attempt: Attempt; route: Route; onOver(): void },
): Promise<Reply> {
  const { attempt, route, onOver } = parts;
  const headers = { ...streamHeaders, ...(await answerHeaders(call, response.headers)) };
  call.context.log.stream = true;
  const resume = (lastEventId: string) => (route.resume ?? resumeStream)(call, attempt, lastEventId);
  const rules: StreamRules = route;
  const { body, finished } = relayStream({
    call,
    response,
    attempt,
    rules,
    onOver,
    ...((call.era === "legacy" || route.resume) && { resume }),
  });
  return { status: 200, headers, body, finished };
}

/** @throws {RpcError} 503 if as many streams listen as may. */
export function enterListening(call: McpCall): () => void {
  // streams at the members of a server that joins them count as the one of their client
  if (call.context.connection.actingFor) return () => {};
  const leave = call.context.services.mcp.listening.enter(callerKey(call));
  if (leave) return leave;
  throw new RpcError(503, "Cannot listen now: too many streams of this caller are open", {
    rpcCode: codes.notFound,
    code: "too_many_streams",
    headers: { "retry-after": "5" },
  });
}

/** Longest duration of a call, in milliseconds; undefined for listening, which has none. */
function timeoutOf({ message, server, context }: McpCall): number | undefined {
  if (message.method === "subscriptions/listen") return undefined;
  return server.settings.timeout_ms ?? context.services.mcp.settings.requestTimeoutMs;
}

/** Sends a call and answers it. The stream of an answer, if there is one, ends by itself. */
async function run(
  call: McpCall,
  route: Route,
  { attempt, onOver }: { attempt: Attempt; onOver(): void },
): Promise<Reply | undefined> {
  const response = await route.send(call, attempt).catch((error: unknown) => {
    throw describeFailure(error, attempt);
  });
  const outcome = await readExchange(call, response, attempt);
  if (route.isMisfit?.(call, outcome)) {
    if (outcome.kind === "stream") outcome.response.body?.cancel().catch(() => {});
    return undefined;
  }
  if (outcome.kind === "accepted") return outcome.reply;
  if (outcome.kind === "json") return jsonAnswerReply(call, outcome.answer, route);
  return streamReply(call, outcome.response, { attempt, route, onOver });
}

/** Sends calls as they are. */
export const directRoute: Route = { send: postMessage };

/**
 * Relays a message to its upstream, and the answer back.
 *
 * @returns Undefined where the upstream does not speak the call's era.
 */
export async function relay(call: McpCall, route: Route): Promise<Reply | undefined> {
  const { context, message } = call;
  const leave = message.method === "subscriptions/listen" ? enterListening(call) : () => {};
  const attempt = new Attempt(context.request, { timeoutMs: timeoutOf(call) }, context.services);
  const onOver = () => {
    leave();
    route.onOver?.();
  };
  let isOpen = false;
  try {
    const reply = await run(call, route, { attempt, onOver });
    isOpen = reply?.finished !== undefined;
    return reply;
  } catch (error) {
    if (attempt.endedBy === "client") route.onLeave?.();
    if (error instanceof RpcError && route.isMisfit?.(call, error)) return undefined;
    throw error;
  } finally {
    if (!isOpen) {
      attempt.release();
      onOver();
    }
  }
}
