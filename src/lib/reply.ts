import type { SocketAcceptance } from "./websocket.ts";

/** Outcome of a request that is a WebSocket handshake. */
interface SocketUpgrade extends Omit<SocketAcceptance, "headers"> {
  /** Called if the host could not accept the handshake. */
  failed(error: unknown): void;
}

/** How a response ended that was still being sent when it was returned. */
export interface Ending {
  status: number;
  error?: unknown;
}

/** A response before it leaves the gateway: plain properties, so that changes are cheap. Header names are in lower case. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array | ReadableStream<Uint8Array> | null;
  /** A JSON text that was parsed already, and its value: the body's where the body is that text. */
  parsed?: { readonly text: string; readonly value: object };
  /** Set when a WebSocket handshake is accepted: the host sends the headers and hands over the socket. */
  upgrade?: SocketUpgrade;
  /** Set for a streaming response: resolves at its end, once all about it is recorded, and never rejects. */
  finished?: Promise<Ending>;
}

/** A JSON response. */
export function jsonReply(value: unknown, status = 200): Reply {
  return jsonTextReply(JSON.stringify(value), status);
}

/** A response whose body is a JSON text. */
export function jsonTextReply(text: string, status = 200): Reply {
  return { status, headers: { "content-type": "application/json" }, body: text };
}

/** Converts to the platform's `Response`. */
export function toResponse({ status, headers, body }: Reply): Response {
  // the DOM types exclude shared memory, which the gateway does not use
  return new Response(body as BodyInit | null, { status, headers });
}
