import type { HeaderMap } from "./headers.ts";

/** A message of a WebSocket: a text, or bytes. */
export type SocketMessage = string | Uint8Array;

/** How a WebSocket closed (RFC 6455, section 7.4). */
export interface SocketClose {
  /** 1005: the peer gave none. 1006: the connection broke off. */
  code: number;
  reason: string;
}

/** Hears what comes over a WebSocket. */
export interface SocketListener {
  message(message: SocketMessage): void;
  /** What waited to be sent is out. */
  drain(): void;
  /** It is closed. Called once, and nothing after it. */
  close(close: SocketClose): void;
}

/** One open WebSocket, whoever runs it. */
export interface SocketEnd {
  /** Bytes that wait to be sent. */
  readonly bufferedBytes: number;
  /** Begins to read. Until then what comes waits outside. */
  listen(listener: SocketListener): void;
  send(message: SocketMessage): void;
  /** Says goodbye, with a code that may be sent. */
  close(close: SocketClose): void;
  /** Ends the connection without a goodbye, as far as the host can. */
  terminate(): void;
  /** Stops reading until `resume`, where the host can hold the peer back. */
  pause(): void;
  /** Reads on after `pause`. */
  resume(): void;
  /** Asks for a sign of life; a peer that gave none since the last time is cut off. Hosts that do it themselves have none. */
  probe?(): void;
}

/** What a host answers a WebSocket handshake with. */
export interface SocketAcceptance {
  /** Headers of the answer, by their names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** The subprotocol that was chosen; undefined: none. */
  protocol: string | undefined;
  /** Largest message, in bytes. */
  maxMessageBytes: number;
  /** Takes the socket over: listens to it before it returns, as not every host can hold a peer back. Called once. */
  open(end: SocketEnd): void;
}

/** Codes no close frame may carry (RFC 6455, section 7.4.1). */
const neverSent = new Set([1004, 1005, 1006, 1015]);
const maxReasonBytes = 123;
const encoder = new TextEncoder();

/** The same close as it may be sent on: a code that cannot be sent becomes a plain close. */
export function toSendableClose({ code, reason }: SocketClose): SocketClose {
  const isSendable = !neverSent.has(code) && ((code >= 1000 && code <= 1014) || (code >= 3000 && code <= 4999));
  return isSendable ? { code, reason: toReason(reason) } : { code: 1000, reason: "" };
}

/** A reason that fits into a close frame. */
function toReason(reason: string): string {
  let text = reason.slice(0, maxReasonBytes);
  while (encoder.encode(text).length > maxReasonBytes) text = text.slice(0, -1);
  return text.toWellFormed();
}

/** Whether a request asks for a WebSocket (RFC 6455, section 4.2.1). */
export function isSocketHandshake(method: string, headers: Pick<HeaderMap, "get">): boolean {
  const names = (headers.get("connection") ?? "").toLowerCase().split(",");
  return (
    method === "GET" &&
    headers.get("upgrade")?.toLowerCase() === "websocket" &&
    names.some((name) => name.trim() === "upgrade")
  );
}

/** Whether the rest of a handshake is one a host can accept: its version and its key. */
export function isAcceptableHandshake(headers: Pick<HeaderMap, "get">): boolean {
  const key = headers.get("sec-websocket-key") ?? "";
  return headers.get("sec-websocket-version") === "13" && /^[A-Za-z0-9+/]{22}==$/.test(key);
}

/** Beginning of the subprotocol in which browsers carry a key (https://platform.openai.com/docs/guides/realtime-websocket). */
const keyProtocol = "openai-insecure-api-key.";

/** Whether a subprotocol is one that carries a key. */
export function isKeyProtocol(protocol: string): boolean {
  return protocol.startsWith(keyProtocol);
}

/** The key a handshake carries among its subprotocols; the first one counts. */
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
