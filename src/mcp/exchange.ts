import { RpcError } from "../errors.ts";
import type { Reply } from "../lib/reply.ts";
import type { Attempt } from "../upstream/attempt.ts";
import { isEventStream, type JsonAnswer, readJsonAnswer, requireUsable } from "./answer.ts";
import type { McpCall } from "./mcp-call.ts";
import { withFreshCredential } from "./oauth/credential.ts";
import { codes } from "./protocol.ts";
import { withUpstreamIds } from "./request-ids.ts";
import { describeFailure, sendUpstream } from "./upstream.ts";
import { upstreamHeaders } from "./upstream-headers.ts";

/** What an upstream answered: nothing is left to read but an event stream. */
export type Exchange =
  | { readonly kind: "accepted"; readonly reply: Reply }
  | { readonly kind: "json"; readonly answer: JsonAnswer }
  | { readonly kind: "stream"; readonly response: Response };

/** An upstream answered with something that is no message of the protocol. */
export class UnusableAnswerError extends RpcError {
  readonly upstreamStatus: number;

  constructor(upstreamStatus: number) {
    super(502, `Cannot use the answer of the server: it is neither JSON nor an event stream (${upstreamStatus})`, {
      rpcCode: codes.internal,
      code: "upstream_error",
      data: { type: "upstream_error" },
    });
    this.upstreamStatus = upstreamStatus;
  }
}

/** An error that says that the session is over. */
function sessionOver(): RpcError {
  return new RpcError(404, "Cannot find the session: it is over; initialize again", {
    rpcCode: codes.sessionNotFound,
    code: "session_not_found",
  });
}

/** The message as it is sent. */
function writeMessage({ message, context }: McpCall): string {
  const text = JSON.stringify(withUpstreamIds(message));
  return context.numbers ? context.numbers.restore(text) : text;
}

/** Sends the message of a call to its upstream. */
export async function postMessage(call: McpCall, attempt: Attempt): Promise<Response> {
  const body = writeMessage(call);
  return withFreshCredential(call, async () =>
    sendUpstream(call, { method: "POST", headers: await upstreamHeaders(call), body }, attempt),
  );
}

/** Opens an event stream of an upstream by GET. */
export async function openStream(call: McpCall, attempt: Attempt, lastEventId?: string): Promise<Response> {
  const { "content-type": _, ...headers } = await upstreamHeaders(call);
  const resumed = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
  const request = { method: "GET", headers: { ...headers, accept: "text/event-stream", ...resumed } } as const;
  return sendUpstream(call, request, attempt);
}

/** The answer to what expects none, or undefined where the upstream refused it. */
function acceptedReply(response: Response): Reply | undefined {
  if (response.status < 200 || response.status > 299) return undefined;
  response.body?.cancel().catch(() => {});
  return { status: 202, headers: {}, body: null };
}

/** The answer to a notification or a response. */
function readAcceptance(call: McpCall, response: Response): Exchange {
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

const isJson = ({ headers }: Response) => /^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? "");

/**
 * Reads the answer of an upstream, as far as it can be read at once.
 *
 * @throws {GatewayError} 502 or 504 for what cannot be used, 404 if the session is over.
 */
export async function readExchange(call: McpCall, response: Response, attempt: Attempt): Promise<Exchange> {
  try {
    requireUsable(response);
    if (call.message.kind !== "request") return readAcceptance(call, response);
    if (isEventStream(response) && response.status === 200) return { kind: "stream", response };
    if (isJson(response)) return { kind: "json", answer: await readJsonAnswer(call, response, attempt) };
    response.body?.cancel().catch(() => {});
    if (response.status === 404 && call.sessionId !== undefined) throw sessionOver();
    throw new UnusableAnswerError(response.status);
  } catch (error) {
    response.body?.cancel().catch(() => {});
    throw describeFailure(error, attempt);
  }
}
