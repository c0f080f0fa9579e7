import type { SocketClose, SocketMessage } from "../../packages/websocket-frames/src/frames.ts";
import type { HeaderMap } from "./headers.ts";

/** Receives the events of a WebSocket. */
export interface SocketListener {
  message(message: SocketMessage): void;
  /** The send buffer is empty. */
  drain(): void;
  /** The connection is closed. Called once, as the last event. */
  close(close: SocketClose): void;
}

/** One end of an open WebSocket, on any host. */
export interface SocketEnd {
  /** Bytes in the send buffer. */
  readonly bufferedBytes: number;
  /** Starts receiving. Until then messages wait outside the process. */
  listen(listener: SocketListener): void;
  send(message: SocketMessage): void;
  /** Starts the closing handshake, with a code that may be sent. */
  close(close: SocketClose): void;
  /** Ends the connection without a closing handshake, as far as the host can. */
  terminate(): void;
  /** Stops receiving until `resume`, if the host supports backpressure. */
  pause(): void;
  /** Continues after `pause`. */
  resume(): void;
  /** Sends a ping; disconnects a peer that did not respond to the last one. Absent where the host does this itself. */
  probe?(): void;
}

/** How a host accepts a WebSocket handshake. */
export interface SocketAcceptance {
  /** Response headers, by lower-case name. */
  headers: Readonly<Record<string, string>>;
  /** The chosen subprotocol; undefined: no subprotocol. */
  protocol: string | undefined;
  /** Largest message, in bytes. */
  maxMessageBytes: number;
  /** Receives the socket: starts listening before it returns, as not every host supports backpressure. Called once. */
  open(end: SocketEnd): void;
}

/** Codes that a close frame must not carry (RFC 6455, section 7.4.1). */
const neverSent = new Set([1004, 1005, 1006, 1015]);
const maxReasonBytes = 123;
const encoder = new TextEncoder();

/** The same close in a form that may be sent: codes that must not be sent become a plain close. */
export function toSendableClose({ code, reason }: SocketClose): SocketClose {
  const isSendable = !neverSent.has(code) && ((code >= 1000 && code <= 1014) || (code >= 3000 && code <= 4999));
  return isSendable ? { code, reason: toReason(reason) } : { code: 1000, reason: "" };
}

/** A reason short enough for a close frame. */
function toReason(reason: string): string {
  let text = reason.slice(0, maxReasonBytes);
  while (encoder.encode(text).length > maxReasonBytes) text = text.slice(0, -1);
  return text.toWellFormed();
}

/** Whether a request is a WebSocket handshake (RFC 6455, section 4.2.1). */
export function isSocketHandshake(method: string, headers: Pick<HeaderMap, "get">): boolean {
  const names = (headers.get("connection") ?? "").toLowerCase().split(",");
  return (
    method === "GET" &&
    headers.get("upgrade")?.toLowerCase() === "websocket" &&
    names.some((name) => name.trim() === "upgrade")
  );
}

/** Whether a host can accept a handshake: checks its version and key. */
export function isAcceptableHandshake(headers: Pick<HeaderMap, "get">): boolean {
  const key = headers.get("sec-websocket-key") ?? "";
  return headers.get("sec-websocket-version") === "13" && /^[A-Za-z0-9+/]{22}==$/.test(key);
}

/** Prefix of the subprotocol in which browsers send a key (https://platform.openai.com/docs/guides/realtime-websocket). */
const keyProtocol = "openai-insecure-api-key.";

/** Whether a subprotocol carries a key. */
export function isKeyProtocol(protocol: string): boolean {
  return protocol.startsWith(keyProtocol);
}

/** The key among the subprotocols of a handshake; the first one is used. */
export function readProtocolKey(header: string | null | undefined): string | undefined {
  const key = readProtocols(header).find(isKeyProtocol)?.slice(keyProtocol.length);
  return key === "" ? undefined : key;
}

/** Subprotocols a header offers, in order. */
export function readProtocols(header: string | null | undefined): string[] {
  return (header ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
