import { createHash, randomBytes } from "node:crypto";
import type { LookupAddress } from "node:dns";
import { lookup as systemLookup } from "node:dns/promises";
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";
import { isHeaderName, isHeaderValue } from "../lib/headers.ts";
import {
  maxAnswerHeaderLength,
  OutboundError,
  type SocketAnswer,
  type SocketInit,
  toOutboundError,
} from "../lib/outbound.ts";
import { readProtocols } from "../lib/websocket.ts";
import {
  connectTimeout,
  defaultConnectTimeoutMs,
  type Resolve,
  rememberAnswers,
  requireAllowed,
  type SocketSenderOptions,
  withinTime,
} from "./transport-http.ts";
import { RawSocketEnd } from "./websocket-end.ts";

/** Opens a WebSocket, only to addresses that `allows` accepts, if given. */
export type SocketConnector = (
  url: string,
  init: SocketInit,
  allows?: (address: string) => boolean,
) => Promise<SocketAnswer>;

/** Bytes that are read from the body of a refusal. */
const maxRefusalBytes = 64 * 1024;
const keyGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** The expected response to a handshake's key (RFC 6455, section 4.2.2). */
export function acceptKeyOf(key: string): string {
  return createHash("sha1")
    .update(key + keyGuid)
    .digest("base64");
}

/** Opens a connection to a server through a proxy, still without the TLS of the server. */
export type OpenTunnel = (target: URL, patience: Patience) => Promise<Socket>;

/** The TLS of the server within a tunnel. */
function secured(tunnel: Socket, url: URL, patience: Patience): Promise<Socket> | Socket {
  if (url.protocol !== "https:") return tunnel;
  const name = isIP(url.hostname.replace(/^\[|\]$/g, "")) === 0 ? { servername: url.hostname } : {};
  const socket = connectSecure({ socket: tunnel, ALPNProtocols: ["http/1.1"], ...name });
  return untilReady<Socket>(socket, patience, (done) => socket.once("secureConnect", () => done(socket)));
}

/**
 * A WebSocket client over sockets, the same on every runtime: it resolves names itself, connects only to checked
 * addresses, sends the given headers, and returns a server's refusal. It offers no extensions.
 */
export function createSocketConnector(options: SocketSenderOptions = {}, openTunnel?: OpenTunnel): SocketConnector {
  const resolve = rememberAnswers(options.lookup ?? ((host) => systemLookup(host, { all: true })));
  return async (text, init, allows) => {
    const { signal } = init;
    const connectBy =
      performance.now() + (init.connectTimeoutMs ?? options.connectTimeoutMs ?? defaultConnectTimeoutMs);
    try {
      signal?.throwIfAborted();
      const url = new URL(text);
      if (openTunnel) {
        const tunnel = await openTunnel(url, { connectBy, signal });
        return await shakeHands(await secured(tunnel, url, { connectBy, signal }), url, init, connectBy);
      }
      const addresses = await findAddresses(url, { resolve, connectBy, signal });
      if (allows) requireAllowed(addresses, allows);
      const socket = await connectToOne(url, addresses, { connectBy, signal });
      return await shakeHands(socket, url, init, connectBy);
    } catch (error) {
      throw toOutboundError(error, signal);
    }
  };
}

export interface Patience {
  /** Monotonic deadline of the handshake. */
  connectBy: number;
  signal: AbortSignal | undefined;
}

function leftOf({ connectBy }: Pick<Patience, "connectBy">): number {
  return Math.max(1, connectBy - performance.now());
}

async function findAddresses(
  { hostname }: URL,
  { resolve, ...patience }: Patience & { resolve: Resolve },
): Promise<readonly LookupAddress[]> {
  const host = hostname.replace(/^\[|\]$/g, "");
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  return withinTime(resolve(host), leftOf(patience), patience.signal);
}

/** Connects to the first address that accepts. */
async function connectToOne(url: URL, addresses: readonly LookupAddress[], patience: Patience): Promise<Socket> {
  let failure: unknown = new OutboundError("unreachable", "Cannot reach the upstream: its name has no address");
  for (const { address } of addresses) {
    try {
      return await connectTo(url, address, patience);
    } catch (error) {
      failure = error;
      if (patience.signal?.aborted || performance.now() >= patience.connectBy) break;
    }
  }
  throw failure;
}

function connectTo(url: URL, address: string, patience: Patience): Promise<Socket> {
  const isSecure = url.protocol === "https:";
  const port = Number(url.port) || (isSecure ? 443 : 80);
  // the certificate must match the URL's name; addresses have no server name
  const name = isIP(url.hostname.replace(/^\[|\]$/g, "")) === 0 ? { servername: url.hostname } : {};
  const socket = isSecure
    ? connectSecure({ host: address, port, ALPNProtocols: ["http/1.1"], ...name })
    : connectPlain({ host: address, port });
  return untilReady(socket, patience, (done) =>
    socket.once(isSecure ? "secureConnect" : "connect", () => done(socket)),
  );
}

/** Waits for an event of a socket; destroys it if it fails, ends, or takes too long. */
export function untilReady<Value>(
  socket: Socket,
  patience: Patience,
  wait: (done: (value: Value) => void, fail: (error: unknown) => void) => void,
): Promise<Value> {
  const { signal } = patience;
  return new Promise((resolve, reject) => {
    const settle = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      socket.off("error", fail);
      socket.off("close", onClose);
    };
    const fail = (error: unknown) => {
      settle();
      socket.on("error", () => {});
      socket.destroy();
      reject(error);
    };
    const onAbort = () => fail(signal?.reason);
    const onClose = () =>
      fail(new OutboundError("reset", "Cannot read the response: the upstream closed the connection"));
    const timer = setTimeout(() => fail(connectTimeout()), leftOf(patience));
    signal?.addEventListener("abort", onAbort, { once: true });
    socket.on("error", fail);
    socket.on("close", onClose);
    wait((value) => {
      settle();
      resolve(value);
    }, fail);
    if (signal?.aborted) onAbort();
  });
}

/** The request of the handshake (RFC 6455, section 4.1). */
function requestHead(url: URL, { headers, protocols }: SocketInit, key: string): string {
  const lines = {
    ...headers,
    host: url.host,
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": key,
    ...(protocols.length > 0 && { "sec-websocket-protocol": protocols.join(", ") }),
  };
  const head = [`GET ${url.pathname}${url.search} HTTP/1.1`];
  for (const [name, value] of Object.entries(lines)) {
    const isSendable = isHeaderName(name) && isHeaderValue(value) && !/[^\t\u0020-\u00ff]/.test(value);
    if (!isSendable) throw new OutboundError("invalid_request", "Cannot send the request: a header is not valid HTTP");
    head.push(`${name}: ${value}`);
  }
  return `${head.join("\r\n")}\r\n\r\n`;
}

/** Header section of a response. */
interface AnswerHead {
  status: number;
  headers: Headers;
  /** Bytes after it. */
  rest: Buffer;
}

function badAnswer(problem: string, cause?: unknown): OutboundError {
  return new OutboundError("bad_answer", `Cannot read the response: ${problem}`, { cause });
}

/** Parses the header section, once complete. */
export function parseHead(bytes: Buffer): AnswerHead | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end > maxAnswerHeaderLength || (end < 0 && bytes.length > maxAnswerHeaderLength)) {
    throw badAnswer("its headers are too large");
  }
  if (end < 0) return undefined;
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const status = Number(/^HTTP\/1\.[01] ([1-5][0-9]{2})(?: |$)/.exec(first)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) throw badAnswer("its header is not valid HTTP");
  const headers = new Headers();
  try {
    for (const line of lines) {
      const colon = line.indexOf(":");
      headers.append(line.slice(0, Math.max(0, colon)), line.slice(colon + 1).trim());
    }
  } catch (cause) {
    throw badAnswer("its header is not valid HTTP", cause);
  }
  return { status, headers, rest: bytes.subarray(end + 4) };
}

async function shakeHands(socket: Socket, url: URL, init: SocketInit, connectBy: number): Promise<SocketAnswer> {
  const patience: Patience = { connectBy, signal: init.signal };
  const key = randomBytes(16).toString("base64");
  let received: Buffer = Buffer.alloc(0);
  let onData: (chunk: Buffer) => void = () => {};
  try {
    const request = requestHead(url, init, key);
    const head = await untilReady<AnswerHead>(socket, patience, (done, fail) => {
      onData = (chunk) => {
        received = Buffer.concat([received, chunk]);
        try {
          const parsed = parseHead(received);
          if (!parsed) return;
          socket.pause();
          socket.off("data", onData);
          done(parsed);
        } catch (error) {
          fail(error);
        }
      };
      socket.on("data", onData);
      socket.write(request, "latin1");
    });
    if (head.status !== 101) return await readRefusal(socket, head, patience);
    const protocol = checkAcceptance(head, init, key);
    const { maxMessageBytes } = init;
    const end = new RawSocketEnd(socket, { role: "client", maxMessageBytes, head: head.rest });
    return { status: 101, headers: head.headers, protocol, end };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** The chosen subprotocol, after validating the response to the handshake. */
function checkAcceptance({ headers }: AnswerHead, { protocols }: SocketInit, key: string): string | undefined {
  const protocol = headers.get("sec-websocket-protocol") ?? undefined;
  const isUpgrade =
    headers.get("upgrade")?.toLowerCase() === "websocket" &&
    readProtocols(headers.get("connection")?.toLowerCase()).includes("upgrade") &&
    headers.get("sec-websocket-accept") === acceptKeyOf(key);
  if (!isUpgrade) throw badAnswer("it is not a WebSocket handshake");
  if (headers.has("sec-websocket-extensions")) throw badAnswer("it uses an extension that was not requested");
  if (protocol !== undefined && !protocols.includes(protocol))
    throw badAnswer("it chose a subprotocol that was not offered");
  return protocol;
}

/** The response of a server that refuses a WebSocket: its status, and the beginning of its body. */
async function readRefusal(socket: Socket, head: AnswerHead, patience: Patience): Promise<SocketAnswer> {
  const { status, headers } = head;
  const isChunked = /chunked/i.test(headers.get("transfer-encoding") ?? "");
  const length = isChunked ? Number.NaN : Number(headers.get("content-length") ?? Number.NaN);
  let bytes = head.rest;
  const isWhole = () =>
    bytes.length >= maxRefusalBytes || bytes.length >= length || (isChunked && bytes.includes("0\r\n\r\n"));
  if (!isWhole() && !socket.destroyed) {
    await untilReady<void>(socket, patience, (done) => {
      socket.on("data", (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk]);
        if (isWhole()) done();
      });
      socket.once("end", () => done());
      socket.resume();
    }).catch(() => {}); // an incomplete body is good enough
  }
  socket.on("error", () => {});
  socket.destroy();
  const body = isChunked ? joinChunks(bytes) : Number.isNaN(length) ? bytes : bytes.subarray(0, length);
  return { status, headers, text: new TextDecoder().decode(body.subarray(0, maxRefusalBytes)) };
}

/** The body of a chunked message (RFC 9112, section 7.1), as far as received. */
function joinChunks(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    const size = lineEnd < 0 ? Number.NaN : Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    if (!(size > 0)) break;
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(parts);
}
