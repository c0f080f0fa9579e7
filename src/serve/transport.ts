import { closeSync, openSync } from "node:fs";
import { createServer, type Server } from "node:net";
import process from "node:process";
import { AddressRefusedError, createAddressGuard } from "../lib/address.ts";
import { OutboundError, type Transport, type TransportInit } from "../lib/outbound.ts";
import type { ProxySettings } from "../settings/outbound-proxy.ts";
import { readFetchLimit, withinFetchLimit } from "./fetch-limit.ts";
import { hasCode } from "./keys-file.ts";
import { createProxiedTransport, proxyParts } from "./proxied-transport.ts";
import {
  createCheckedSender,
  createSocketSender,
  type SocketSender,
  type SocketSenderOptions,
} from "./transport-http.ts";
import { announcedLength, decodeAnswer, findHeader, markBody } from "./transport-streams.ts";
import { createUndiciSender } from "./transport-undici.ts";
import { createSocketConnector } from "./websocket-connect.ts";

const acceptEncoding = "accept-encoding";

/** Whether the process can open no further file or connection. */
function isOutOfFiles(): boolean {
  try {
    closeSync(openSync(process.execPath, "r"));
    return false;
  } catch (error) {
    return hasCode(error, "EMFILE") || hasCode(error, "ENFILE");
  }
}

/** Options of the transport for Bun. */
export interface BunTransportOptions extends TransportOptions {
  /** Concurrent `fetch` calls that Bun allows; by default the limit at process start. */
  fetchLimit?: number;
}

/** Options of every transport. */
interface TransportOptions extends SocketSenderOptions {
  /** The proxy for outbound requests. Undefined: servers are called directly. */
  proxy?: ProxySettings | undefined;
}

/** The transport itself, or through the proxy. */
function throughProxy(
  direct: Transport,
  { proxy, lookup }: TransportOptions,
  createSender: (settings: ProxySettings) => SocketSender,
): Transport {
  return proxy ? createProxiedTransport(direct, proxy, { sendByProxy: createSender(proxy), lookup }) : direct;
}

/** Bun: global `fetch`, its fastest client, sockets beyond its limit of concurrent calls, and the checked connector. */
export function createBunTransport(options: BunTransportOptions = {}): Transport {
  const sendByFetch = (url: string, init: TransportInit) => {
    const request = toFetchInit(init);
    request.decompress = false;
    request.timeout = false;
    request.proxy = false;
    return fetch(url, request);
  };
  // codings are decoded below, whoever sent the request
  const sendBySocket = createSocketSender(options);
  const sendRaw = withinFetchLimit(options.fetchLimit ?? readFetchLimit(), sendByFetch, (url, init) =>
    sendBySocket(url, { ...init, raw: true }),
  );
  const direct: Transport = {
    send(url, init) {
      const answer = sendRaw(url, init);
      return init.raw ? answer : answer.then((response) => decodeAnswer(response, init.signal));
    },
    sendChecked: createCheckedSender(options),
    openSocket: createSocketConnector(options),
    isOutOfFiles,
  };
  return throughProxy(direct, options, ({ url: proxy }) => async (url, init) => {
    const response = await fetch(url, { ...toFetchInit(init), decompress: false, timeout: false, proxy });
    return init.raw ? response : decodeAnswer(response, init.signal);
  });
}

/**
 * Deno: global `fetch` and the checked connector. Its `fetch` leaves content codings alone only if the request accepts
 * none but `identity`, and drops the length of a streamed body, so such requests use sockets.
 */
export function createDenoTransport(options: TransportOptions = {}): Transport {
  const sendOnSocket = createSocketSender(options);
  const client = openClient("*", {});
  const direct: Transport = {
    async send(url, init) {
      if (needsSocket(init)) return sendOnSocket(url, init);
      const response = await fetch(url, { ...toFetchInit(init), client } as RequestInit); // the DOM types do not know clients
      return init.raw ? response : decodeAnswer(response, init.signal);
    },
    sendChecked: createCheckedSender(options),
    openSocket: createSocketConnector(options),
    isOutOfFiles,
  };
  return throughProxy(direct, options, (settings) => {
    const { url: proxy, login } = proxyParts(settings);
    const byProxy = openClient("", { proxy: { url: proxy, ...(login && { basicAuth: login }) } });
    return (url, init) => {
      // its fetch decodes what it asked for, and shows neither coding nor length: other codings than none are not asked for
      const asked = Object.entries(init.headers).filter(([name]) => name.toLowerCase() !== acceptEncoding);
      const request = toFetchInit({ ...init, headers: Object.fromEntries(asked) });
      return fetch(url, { ...request, client: byProxy } as RequestInit); // the DOM types do not know clients
    };
  });
}

/** Node: undici's dispatcher and the checked connector. */
export function createNodeTransport(options: TransportOptions = {}): Transport {
  const direct: Transport = {
    send: createUndiciSender(),
    sendChecked: createCheckedSender(options),
    openSocket: createSocketConnector(options),
    isOutOfFiles,
  };
  return throughProxy(direct, options, (settings) => createUndiciSender(proxyParts(settings)));
}

/**
 * A client of Deno that ignores the proxy variables of the environment, which are read when it is created.
 *
 * @param exceptions Hosts that are called directly, as `NO_PROXY` has them.
 */
function openClient(exceptions: string, options: Deno.CreateHttpClientOptions): Deno.HttpClient {
  const before = process.env.NO_PROXY;
  process.env.NO_PROXY = exceptions;
  try {
    return Deno.createHttpClient(options);
  } finally {
    if (before === undefined) delete process.env.NO_PROXY;
    else process.env.NO_PROXY = before;
  }
}

function needsSocket({ headers, body }: TransportInit): boolean {
  if ((findHeader(headers, acceptEncoding) ?? "identity") !== "identity") return true;
  return body instanceof ReadableStream && announcedLength(headers) !== undefined;
}

function toFetchInit({ method, headers, body, signal }: TransportInit): RequestInit {
  // without this header, fetch would request codings that the caller did not
  const asked = findHeader(headers, acceptEncoding) !== undefined;
  const init: RequestInit = { method, headers: asked ? headers : { ...headers, [acceptEncoding]: "identity" } };
  init.redirect = "manual";
  if (signal) init.signal = signal;
  if (body instanceof ReadableStream) {
    init.body = markBody(body, announcedLength(headers));
    init.duplex = "half";
  } else if (body !== undefined) {
    init.body = body as BodyInit; // the DOM types exclude shared memory, which is not used here
  }
  return init;
}

/**
 * Calls a loopback listener as `localhost` through the real connectors, with nothing trusted, and requires that they
 * refuse. Does nothing for transports without sockets.
 *
 * @throws {Error} If a connector connects, or fails for another reason.
 */
export async function selfTestConnector(transport: Transport): Promise<void> {
  const { sendChecked, openSocket } = transport;
  const guard = createAddressGuard({ trustedHosts: [] });
  const target = { hostname: "localhost", protocol: "http:", port: "" };
  const allows = (address: string) => guard.allowsAddress(target, address);
  const signal = AbortSignal.timeout(2_000);
  if (sendChecked) {
    const init = { method: "GET", headers: {}, raw: true, signal };
    await requireRefusal((port) => sendChecked(`http://localhost:${port}/`, init, allows));
  }
  if (openSocket) {
    const init = { headers: {}, protocols: [], maxMessageBytes: 1, signal };
    await requireRefusal((port) => openSocket(`http://localhost:${port}/`, init, allows));
  }
}

/** Requires that a call to a local listener is refused before connecting. */
async function requireRefusal(call: (port: number) => Promise<unknown>): Promise<void> {
  let connections = 0;
  const server = await listen((close) => {
    connections += 1;
    close();
  });
  try {
    const failure = await call(portOf(server)).then(
      () => new Error("the connector connected"),
      (error: unknown) => error,
    );
    if (connections > 0 || !(isRefusal(failure) || isUnresolved(failure))) {
      throw new Error("Cannot start: the connector does not refuse private addresses", { cause: failure });
    }
  } finally {
    server.close();
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof AddressRefusedError || (error instanceof OutboundError && error.kind === "refused_address");
}

/** Whether the machine cannot resolve `localhost` at all, so that no connector could connect. */
function isUnresolved(error: unknown): boolean {
  const cause = error instanceof OutboundError ? error.cause : error;
  return cause instanceof Error && "syscall" in cause && cause.syscall === "getaddrinfo";
}

function listen(onConnection: (close: () => void) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => onConnection(() => socket.destroy()));
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}
