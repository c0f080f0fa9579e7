import type { LookupAddress } from "node:dns";
import { lookup as systemLookup } from "node:dns/promises";
import { type ClientRequest, type IncomingMessage, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { AddressRefusedError } from "../lib/address.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { maxAnswerHeaderLength, OutboundError, type TransportInit, toOutboundError } from "../lib/outbound.ts";
import { announcedLength, decodeAnswer, hasBody, headersOf, iterateChunks, toWebStream } from "./transport-streams.ts";

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** Options of the socket senders. */
export interface SocketSenderOptions {
  /** Resolves names; the system's resolver by default. */
  lookup?: Resolve;
  /** Time limit for DNS, connection and TLS together. Default 10,000. */
  connectTimeoutMs?: number;
}

/** Sends over `node:http`, and returns raw bytes if requested. */
export type SocketSender = (url: string, init: TransportInit) => Promise<Response>;

/** Sends like `SocketSender`, but only to addresses that `allows` accepts. */
type CheckedSender = (url: string, init: TransportInit, allows: (address: string) => boolean) => Promise<Response>;

interface Target {
  url: URL;
  agent: PlainAgent;
  /** Checked addresses; absent for senders without checks. */
  addresses?: readonly LookupAddress[];
  /** Monotonic deadline of the connection. */
  connectBy: number;
  connectTimeoutMs: number;
}

/** Default time limit for a connection. */
export const defaultConnectTimeoutMs = 10_000;
/** How long an idle connection stays open. */
export const idleSocketMs = 4_000;
const idleSocketsPerHost = 64;
const maxPools = 256;
const resolvedForMs = 5_000;
const maxResolved = 1_024;

/** A sender over `node:http` and `node:https`; the system resolves names. */
export function createSocketSender(options: SocketSenderOptions = {}): SocketSender {
  const poolOf = createPools();
  const connectTimeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
  return (text, init) => {
    const url = new URL(text);
    const connectBy = performance.now() + connectTimeoutMs;
    return sendOnSocket({ url, agent: poolOf(url, ""), connectBy, connectTimeoutMs }, init);
  };
}

/** A sender that resolves names itself, rejects a name if one address is not allowed, and connects only to checked addresses. */
export function createCheckedSender(options: SocketSenderOptions = {}): CheckedSender {
  const poolOf = createPools();
  const resolve = rememberAnswers(options.lookup ?? ((host) => systemLookup(host, { all: true })));
  const connectTimeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
  return async (text, init, allows) => {
    const url = new URL(text);
    const connectBy = performance.now() + connectTimeoutMs;
    const addresses = await withinTime(resolve(url.hostname), connectTimeoutMs, init.signal);
    requireAllowed(addresses, allows);
    const agent = poolOf(url, addresses.map(({ address }) => address).join());
    return sendOnSocket({ url, agent, addresses, connectBy, connectTimeoutMs }, init);
  };
}

/**
 * Rejects a name if one of its addresses is not allowed.
 *
 * @throws {AddressRefusedError}
 */
export function requireAllowed(addresses: readonly LookupAddress[], allows: (address: string) => boolean): void {
  if (addresses.length > 0 && addresses.every(({ address }) => allows(address))) return;
  throw new AddressRefusedError(
    "the name leads to a private or reserved network; use a public host, or ask the operator to list it in TRUSTED_CUSTOM_HOSTS",
  );
}

/** Keep-alive pools by scheme, host, port and checked addresses. Idle sockets of a forgotten pool close by timeout. */
function createPools(): (url: URL, addresses: string) => PlainAgent {
  const pools = new BoundedMap<string, PlainAgent>(maxPools);
  return (url, addresses) => {
    const key = `${url.origin} ${addresses}`;
    const known = pools.get(key);
    if (known) return known;
    const settings = { keepAlive: true, timeout: idleSocketMs, maxFreeSockets: idleSocketsPerHost };
    const pool = url.protocol === "https:" ? new SecureAgent(settings) : new PlainAgent(settings);
    pools.set(key, pool);
    return pool;
  };
}

/** Caches a resolver's results for a few seconds. They are checked at every use, so reuse is safe. */
export function rememberAnswers(resolve: Resolve): Resolve {
  const known = new BoundedMap<string, { until: number; answer: Promise<readonly LookupAddress[]> }>(maxResolved);
  return (host) => {
    const hit = known.get(host);
    if (hit && performance.now() < hit.until) return hit.answer;
    const answer = resolve(host);
    const entry = { until: performance.now() + resolvedForMs, answer };
    known.set(host, entry);
    answer.catch(() => {
      if (known.get(host) === entry) known.delete(host);
    });
    return answer;
  };
}

/** Waits until the time limit or the signal; the work continues, but its result is ignored. */
export async function withinTime<Value>(work: Promise<Value>, timeoutMs: number, signal?: AbortSignal): Promise<Value> {
  let stop = () => {};
  const limit = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(connectTimeout()), timeoutMs);
    const onAbort = () => reject(signal?.reason);
    signal?.addEventListener("abort", onAbort);
    stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
  });
  try {
    signal?.throwIfAborted();
    return await Promise.race([work, limit]);
  } finally {
    stop();
  }
}

/** The error of a connection that was not established in time. */
export function connectTimeout(): OutboundError {
  return new OutboundError("connect_timeout", "Cannot reach the upstream: connecting took too long");
}

async function sendOnSocket(target: Target, init: TransportInit): Promise<Response> {
  const { signal } = init;
  try {
    signal?.throwIfAborted();
    const request = openRequest(target, init);
    const onAbort = () => request.destroy(toOutboundError(signal?.reason, signal));
    signal?.addEventListener("abort", onAbort, { once: true });
    request.once("close", () => signal?.removeEventListener("abort", onAbort));
    const answer = new Promise<Response>((resolve, reject) => {
      request.on("response", (message) => {
        try {
          resolve(toResponse(request, message, init));
        } catch (error) {
          request.destroy();
          reject(
            new OutboundError("bad_answer", "Cannot read the response: its header is not valid HTTP", { cause: error }),
          );
        }
      });
      request.on("error", reject);
      request.on("close", () =>
        reject(new OutboundError("bad_answer", "Cannot read the response: the connection was closed")),
      );
    });
    watchConnect(request, target);
    sendBody(request, init);
    const response = await answer;
    return init.raw ? response : decodeAnswer(response, signal);
  } catch (error) {
    throw toOutboundError(error, signal);
  }
}

function openRequest({ url, agent, addresses }: Target, init: TransportInit): ClientRequest {
  const send = url.protocol === "https:" ? secureRequest : plainRequest;
  const headers: Record<string, string | number> = { ...init.headers };
  const { body } = init;
  const isWhole = typeof body === "string" || body instanceof Uint8Array;
  if (isWhole && announcedLength(init.headers) === undefined) {
    headers["content-length"] = Buffer.byteLength(body);
  }
  // the certificate must match the URL, whatever the Host header
  const options = {
    method: init.method,
    headers,
    agent,
    servername: url.hostname,
    maxHeaderSize: maxAnswerHeaderLength,
  };
  return send(url, addresses ? { ...options, lookup: answerWith(addresses) } : options);
}

/** A DNS lookup with a fixed result. Node's sockets ask for all addresses; no known runtime asks for one. */
function answerWith(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const first = addresses[0];
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
}

/** Aborts a request whose connection, TLS included, is not established in time. */
function watchConnect(request: ClientRequest, target: Target): void {
  request.once("socket", (socket) => {
    if (!socket.connecting) return;
    const timer = setTimeout(
      () => request.destroy(connectTimeout()),
      Math.max(0, target.connectBy - performance.now()),
    );
    const stop = () => clearTimeout(timer);
    socket.once(target.url.protocol === "https:" ? "secureConnect" : "connect", stop);
    socket.once("close", stop);
    request.once("close", stop);
  });
}

function sendBody(request: ClientRequest, { body, headers }: TransportInit): void {
  if (!(body instanceof ReadableStream)) {
    request.end(body);
    return;
  }
  const chunks = iterateChunks(body, announcedLength(headers));
  pumpBody(request, chunks).catch((error) => request.destroy(error));
}

/** Writes chunks as fast as the socket accepts them. */
async function pumpBody(request: ClientRequest, chunks: AsyncIterableIterator<Uint8Array>): Promise<void> {
  let closed = false;
  let wake = () => {};
  request.on("drain", () => wake());
  request.once("close", () => {
    closed = true;
    wake();
    chunks.return?.();
  });
  for await (const chunk of chunks) {
    if (closed) return;
    if (!request.write(chunk)) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (closed) return;
  }
  if (!closed) request.end();
}

function toResponse(request: ClientRequest, message: IncomingMessage, init: TransportInit): Response {
  const headers = headersOf(message);
  const status = message.statusCode ?? 0;
  if (!hasBody(init.method, status)) {
    message.resume();
    return new Response(null, { status, headers });
  }
  const body = toWebStream(message, {
    isComplete: () => message.complete,
    onCancel: () => request.destroy(),
    ...(init.signal && { signal: init.signal }),
  });
  return new Response(body, { status, headers });
}
