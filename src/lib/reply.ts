import type { SocketAcceptance } from "./websocket.ts";

/** What becomes of a request that is a WebSocket handshake. */
interface SocketUpgrade extends Omit<SocketAcceptance, "headers"> {
  /** The host could not accept the handshake. */
  failed(error: unknown): void;
}

/** How a response ended that was still under way when it was given. */
export interface Ending {
  status: number;
  error?: unknown;
  /** Notes what its end made known; called once, where it was the response of its request. Never rejects. */
  note?(): void | Promise<void>;
}

/** An answer until it leaves: plain members, so that adding to it costs nothing. Header names are in lower case. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array | ReadableStream<Uint8Array> | null;
  /** Set when a WebSocket handshake is accepted: the host answers with the headers and hands the socket over. */
  upgrade?: SocketUpgrade;
  /** Set while the response goes on: resolves, and never rejects, once it is over. */
  finished?: Promise<Ending>;
}

/** A JSON answer. */
export function jsonReply(value: unknown, status = 200): Reply {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

/** The answer as hosts carry it. */
export function toResponse({ status, headers, body }: Reply): Response {
  // the DOM types want bytes that are not shared with other threads, which nothing here makes
  return new Response(body as BodyInit | null, { status, headers });
}
