import { configDigestOf } from "../control/mcp/mcp-state.ts";
import { RpcError } from "../errors.ts";
import { isHeaderValue } from "../lib/headers.ts";
import type { Reply } from "../lib/reply.ts";
import { isEventStream, type JsonAnswer, readJsonAnswer, requireUsable, toJudgedAnswer } from "./answer.ts";
import { Deadline } from "./deadline.ts";
import { relayStream } from "./event-relay.ts";
import { callerOf, type McpCall } from "./mcp-call.ts";
import { withFreshCredential } from "./oauth/credential.ts";
import { codes } from "./protocol.ts";
import { withUpstreamIds } from "./request-ids.ts";
import { callerKey, describeFailure, sendUpstream, upstreamError } from "./upstream.ts";
import { upstreamHeaders } from "./upstream-headers.ts";

/** Headers of every event stream. */
const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
} as const;

/** Longest session id of an upstream, in characters. */
const maxSessionId = 1_024;

/** The message as it is sent. */
function writeMessage({ message, context }: McpCall): string {
  const text = JSON.stringify(withUpstreamIds(message));
  return context.numbers ? context.numbers.restore(text) : text;
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

/** The answer to what expects none, or undefined where the upstream refused it. */
function acceptedReply(response: Response): Reply | undefined {
  if (response.status < 200 || response.status > 299) return undefined;
  response.body?.cancel().catch(() => {});
  return { status: 202, headers: {}, body: null };
}

/** An error that says that the session is over. */
function sessionOver(): RpcError {
  return new RpcError(404, "Cannot find the session: it is over; initialize again", {
    rpcCode: codes.sessionNotFound,
    code: "session_not_found",
  });
}

/** What an upstream answered: nothing is left to read but an event stream. */
type Exchange =
  | { readonly kind: "accepted"; readonly reply: Reply }
  | { readonly kind: "json"; readonly answer: JsonAnswer }
  | { readonly kind: "stream"; readonly response: Response };

/** Reads the answer of an upstream, as far as it can be read at once. */
async function readExchange(call: McpCall, response: Response, deadline: Deadline): Promise<Exchange> {
  requireUsable(response);
  const { message } = call;
  if (message.kind !== "request") {
    const reply = acceptedReply(response);
    if (reply) return { kind: "accepted", reply };
    response.body?.cancel().catch(() => {});
    if (response.status === 404 && call.sessionId !== undefined) throw sessionOver();
    const status = response.status >= 400 && response.status <= 499 ? response.status : 502;
    throw new RpcError(status, `Cannot deliver the message: the server refused it (${response.status})`, {
      rpcCode: codes.internal,
      code: "upstream_error",
    });
  }
  if (isEventStream(response) && response.status === 200) return { kind: "stream", response };
  if (/^application\/json\s*(?:;|$)/i.test(response.headers.get("content-type") ?? "")) {
    return { kind: "json", answer: await readJsonAnswer(call, response, deadline) };
  }
  response.body?.cancel().catch(() => {});
  if (response.status === 404 && call.sessionId !== undefined) throw sessionOver();
  throw upstreamError(
    502,
    `Cannot use the answer of the server: it is neither JSON nor an event stream (${response.status})`,
  );
}

/** Sends the message of a call to its upstream. */
async function exchange(call: McpCall, deadline: Deadline): Promise<Exchange> {
  const body = writeMessage(call);
  const send = async () => sendUpstream(call, { method: "POST", headers: await upstreamHeaders(call), body }, deadline);
  const response = await withFreshCredential(call, send);
  try {
    return await readExchange(call, response, deadline);
  } catch (error) {
    response.body?.cancel().catch(() => {});
    throw describeFailure(error, deadline);
  }
}

/** Takes a stream of a legacy upstream up again: its own clients would do so by GET, which this gateway does not offer. */
async function resumeStream(call: McpCall, deadline: Deadline, lastEventId: string): Promise<Response> {
  const { "content-type": _, ...headers } = await upstreamHeaders(call);
  const request = {
    method: "GET",
    headers: { ...headers, accept: "text/event-stream", "last-event-id": lastEventId },
  } as const;
  const response = await sendUpstream(call, request, deadline);
  if (response.status === 200 && isEventStream(response)) return response;
  response.body?.cancel().catch(() => {});
  throw upstreamError(502, "Cannot finish the call: the server closed the stream before its answer");
}

/** A JSON answer for the caller. */
async function jsonAnswerReply(call: McpCall, { status, headers, value, json }: JsonAnswer): Promise<Reply> {
  const body = json.write(await toJudgedAnswer(call, value, json));
  call.context.log.responseBody = body;
  return { status, headers: { "content-type": "application/json", ...(await answerHeaders(call, headers)) }, body };
}

/** A stream for the caller. */
async function streamReply(
  call: McpCall,
  response: Response,
  parts: { deadline: Deadline; onOver(): void },
): Promise<Reply> {
  const { deadline } = parts;
  const headers = { ...streamHeaders, ...(await answerHeaders(call, response.headers)) };
  call.context.log.stream = true;
  const resume = (lastEventId: string) => resumeStream(call, deadline, lastEventId);
  const { body, finished } = relayStream({
    call,
    response,
    ...parts,
    ...(call.era === "legacy" && { resume }),
  });
  return { status: 200, headers, body, finished };
}

/** @throws {RpcError} 503 if as many streams listen as may. */
function enterListening(call: McpCall): () => void {
  const leave = call.context.services.mcp.listening.enter(callerKey(call));
  if (leave) return leave;
  throw new RpcError(503, "Cannot listen now: too many streams of this caller are open", {
    rpcCode: codes.notFound,
    code: "too_many_streams",
    headers: { "retry-after": "5" },
  });
}

/** Whether an answer shows that the upstream does not speak the era of the call. */
type Misfit = (call: McpCall, outcome: Exchange | RpcError) => boolean;

/**
 * Relays a message to its upstream, and the answer back.
 *
 * @param isMisfit Whether an answer means that the upstream does not speak the call's era.
 * @returns Undefined where it does not.
 */
export async function relay(call: McpCall, isMisfit: Misfit): Promise<Reply | undefined> {
  const { context, message } = call;
  const isListening = message.method === "subscriptions/listen";
  const leave = isListening ? enterListening(call) : () => {};
  const { requestTimeoutMs } = context.services.mcp.settings;
  const timeoutMs = isListening ? undefined : (call.server.settings.timeout_ms ?? requestTimeoutMs);
  const deadline = new Deadline(context.request, timeoutMs, context.services.timers);
  let isOpen = false;
  try {
    const outcome = await exchange(call, deadline);
    if (isMisfit(call, outcome)) {
      if (outcome.kind === "stream") outcome.response.body?.cancel().catch(() => {});
      return undefined;
    }
    if (outcome.kind === "accepted") return outcome.reply;
    if (outcome.kind === "json") return await jsonAnswerReply(call, outcome.answer);
    const reply = await streamReply(call, outcome.response, { deadline, onOver: leave });
    isOpen = true;
    return reply;
  } catch (error) {
    if (error instanceof RpcError && isMisfit(call, error)) return undefined;
    throw error;
  } finally {
    if (!isOpen) {
      deadline.release();
      leave();
    }
  }
}
