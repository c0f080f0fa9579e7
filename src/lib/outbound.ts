import { type AddressGuard, AddressRefusedError, createAddressGuard, isLiteralHost } from "./address.ts";
import { listOnce } from "./headers.ts";
import type { SocketEnd } from "./websocket.ts";

/** A request for a transport. */
export interface TransportInit {
  /** HTTP method in capitals. */
  method: string;
  /** Request headers; a `content-length` states the length of a streamed body. */
  headers: Record<string, string>;
  /** Streams are read only as fast as the upstream accepts them. */
  body?: string | Uint8Array | ReadableStream<Uint8Array>;
  /** Closes the upstream socket, also while the response body is read. */
  signal?: AbortSignal;
  /** Return the response body as received, without decoding. Default false. */
  raw?: boolean;
}

/** A WebSocket handshake for a transport. */
export interface SocketInit {
  /** Headers besides those of the handshake. */
  headers: Readonly<Record<string, string>>;
  /** Subprotocols to offer, in order. */
  protocols: readonly string[];
  /** Largest message that is accepted, in bytes. */
  maxMessageBytes: number;
  /** Time limit for DNS, connection, TLS and handshake together. Default 10,000. */
  connectTimeoutMs?: number;
  /** Aborts the attempt; ignored once the WebSocket is open. */
  signal?: AbortSignal;
}

/** The server accepted the handshake. */
export interface OpenedSocket {
  status: 101;
  headers: Headers;
  /** The chosen subprotocol. */
  protocol: string | undefined;
  end: SocketEnd;
}

/** The server refused the handshake. */
export interface RefusedSocket {
  status: number;
  headers: Headers;
  /** The beginning of its body. */
  text: string;
  end?: never;
}

/** A server's response to a handshake. */
export type SocketAnswer = OpenedSocket | RefusedSocket;

/** A runtime's way to send requests. Does not follow redirects. Rejects with any error; `createOutbound` classifies it. */
export interface Transport {
  /** Sends without checks, for fixed hosts and literal addresses. */
  send(url: string, init: TransportInit): Promise<Response>;
  /**
   * Resolves the name once and connects only to an address that `allows` accepts; if it rejects one of them, the call
   * fails. Absent where the runtime has no sockets.
   *
   * @throws {AddressRefusedError} If an address is rejected.
   */
  sendChecked?(url: string, init: TransportInit, allows: (address: string) => boolean): Promise<Response>;
  /**
   * Opens a WebSocket to an `http:` or `https:` address. With `allows` it resolves the name once and connects only to an
   * accepted address, like `sendChecked`. Absent where the runtime has no sockets.
   *
   * @throws {AddressRefusedError} If an address is rejected.
   */
  openSocket?(url: string, init: SocketInit, allows?: (address: string) => boolean): Promise<SocketAnswer>;
  /**
   * Whether the process has no file descriptors left. Asked after a connection could not be made: resolvers and some
   * runtimes then report that the name or the port does not exist.
   */
  isOutOfFiles?(): boolean;
}

/**
 * Why there is no usable response: the address is not allowed, connecting failed or timed out, the connection closed
 * early, the caller aborted, the request is invalid, the response is not valid HTTP, or the process has no file
 * descriptors left.
 */
export type OutboundErrorKind =
  | "refused_address"
  | "unreachable"
  | "connect_timeout"
  | "reset"
  | "aborted"
  | "invalid_request"
  | "bad_answer"
  | "out_of_files";

/** A request without a usable response. `cause` is the runtime's error, or the reason of the signal. */
export class OutboundError extends Error {
  override readonly name = "OutboundError";
  /** Class of the failure. */
  readonly kind: OutboundErrorKind;

  constructor(kind: OutboundErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** An outbound request of the gateway. */
export interface OutboundInit extends TransportInit {
  /** "fixed": the address is part of the gateway's code; "influenced": a caller, tenant or document named it. */
  origin: "fixed" | "influenced";
}

/**
 * Sends one request and resolves with the response headers. Redirects are not followed: a 3xx is a response.
 * An error while reading the body is the runtime's; `toOutboundError` classifies it.
 *
 * @throws {OutboundError} For every failure.
 */
export type Outbound = (url: string, init: OutboundInit) => Promise<Response>;

/** Largest header section of a response, in characters. */
export const maxAnswerHeaderLength = 65_536;

/** Sends with the global `fetch`, for hosts without anything better. */
export const webTransport: Transport = {
  send(url, { raw: _raw, ...init }) {
    // `duplex` is required for streamed bodies and missing in the DOM types
    const streamed = init.body instanceof ReadableStream ? { duplex: "half" } : {};
    const request = { redirect: "manual", ...streamed, ...init };
    return globalThis.fetch(url, request as RequestInit); // the DOM types exclude bytes over shared memory
  },
};

/** What outbound requests are sent with. */
interface OutboundParts {
  transport: Transport;
  guard: AddressGuard;
  /** Called for each request that failed because the process has no file descriptors left. */
  onOutOfFiles?: (() => void) | undefined;
}

/** As `toOutboundError`, and recognises what the lack of file descriptors looks like. */
function toFailure(error: unknown, signal: AbortSignal | undefined, parts: OutboundParts): OutboundError {
  let failure = toOutboundError(error, signal);
  if (failure.kind === "unreachable" && parts.transport.isOutOfFiles?.()) {
    failure = new OutboundError("out_of_files", messages.out_of_files, { cause: error });
  }
  if (failure.kind === "out_of_files") parts.onOutOfFiles?.();
  return failure;
}

/** Creates the function that sends all outbound requests of a gateway. */
export function createOutbound(options: OutboundParts): Outbound {
  const { transport, guard } = options;
  const untrusting = createAddressGuard({ trustedHosts: [] });

  const start = (url: string, init: TransportInit, origin: OutboundInit["origin"]): Promise<Response> => {
    if (origin === "fixed") return transport.send(url, init);
    const target = guard.checkTarget(url);
    if (isLiteralHost(target.hostname)) return transport.send(url, init); // nothing to resolve: the check of the text was enough
    if (transport.sendChecked) {
      return transport.sendChecked(url, init, (address) => guard.allowsAddress(target, address));
    }
    untrusting.checkTarget(url); // without sockets nothing shows where a private name leads
    return transport.send(url, init);
  };

  const check = (response: Response): Response => {
    if (response.status < 200 || response.status > 599) {
      throw new OutboundError("bad_answer", `Cannot use the response: there is no status ${response.status}`);
    }
    if (headerLength(response.headers) <= maxAnswerHeaderLength) return response;
    response.body?.cancel().catch(() => {});
    throw new OutboundError("bad_answer", "Cannot use the response: its headers are too large");
  };
  return (url, init) => {
    const fail = (error: unknown): never => {
      throw toFailure(error, init.signal, options);
    };
    try {
      init.signal?.throwIfAborted();
      return start(url, init, init.origin).then(check, fail);
    } catch (error) {
      return Promise.reject(toFailure(error, init.signal, options));
    }
  };
}

/** Opens a WebSocket, with the same rules as `Outbound`. */
export type SocketOutbound = (url: string, init: SocketInit & Pick<OutboundInit, "origin">) => Promise<SocketAnswer>;

/** Creates the function that opens all outbound WebSockets of a gateway; undefined where the transport has no sockets. */
export function createSocketOutbound(options: OutboundParts): SocketOutbound | undefined {
  const { transport, guard } = options;
  if (!transport.openSocket) return undefined;
  const open = transport.openSocket.bind(transport);
  return async (url, { origin, ...init }) => {
    try {
      init.signal?.throwIfAborted();
      if (origin === "fixed") return await open(url, init);
      const target = guard.checkTarget(url);
      // literals are not resolved: checking the text was enough
      const isLiteral = isLiteralHost(target.hostname);
      return await open(url, init, isLiteral ? undefined : (address) => guard.allowsAddress(target, address));
    } catch (error) {
      throw toFailure(error, init.signal, options);
    }
  };
}

function headerLength(headers: Headers): number {
  let length = 0;
  const listed = listOnce(headers);
  for (const name in listed) length += name.length + (listed[name]?.length ?? 0) + 4; // ": " and the line end
  return length;
}

const messages: Record<OutboundErrorKind, string> = {
  refused_address: "Cannot call this address",
  unreachable: "Cannot reach the upstream: no connection could be made",
  connect_timeout: "Cannot reach the upstream: connecting took too long",
  reset: "Cannot read the response: the upstream closed the connection",
  aborted: "Cannot finish the request: it was aborted",
  invalid_request: "Cannot send the request: it is not valid HTTP",
  bad_answer: "Cannot read the response: it is not valid HTTP",
  out_of_files: "Cannot connect: the process has no file descriptors left",
};

/** Codes of Node, Bun and undici errors; other codes mean that no connection could be made. */
const kindOfCode: Readonly<Record<string, OutboundErrorKind>> = {
  EMFILE: "out_of_files",
  ENFILE: "out_of_files",
  ETIMEDOUT: "connect_timeout",
  UND_ERR_CONNECT_TIMEOUT: "connect_timeout",
  ECONNRESET: "reset",
  ECONNABORTED: "reset",
  EPIPE: "reset",
  ConnectionClosed: "reset",
  UND_ERR_SOCKET: "reset",
  UND_ERR_CLOSED: "reset",
  UND_ERR_DESTROYED: "reset",
  ERR_STREAM_PREMATURE_CLOSE: "reset",
  ABORT_ERR: "aborted",
  UND_ERR_ABORTED: "aborted",
  UND_ERR_INVALID_ARG: "invalid_request",
  UND_ERR_NOT_SUPPORTED: "invalid_request",
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: "invalid_request",
  ERR_HTTP_CONTENT_LENGTH_MISMATCH: "invalid_request",
  UND_ERR_HEADERS_OVERFLOW: "bad_answer",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "bad_answer",
  UND_ERR_RES_EXCEEDED_MAX_SIZE: "bad_answer",
};

/** Prefixes of related codes. */
const kindOfCodePrefix: readonly (readonly [string, OutboundErrorKind])[] = [
  ["HPE_", "bad_answer"],
  ["Malformed_HTTP", "bad_answer"],
  ["Z_", "bad_answer"],
  ["ERR_BROTLI", "bad_answer"],
  ["ERR__ERROR_FORMAT", "bad_answer"],
  ["ERR_INVALID_", "invalid_request"],
  ["ERR_UNESCAPED_", "invalid_request"],
  ["ERR_HTTP_", "invalid_request"],
];

/** Messages of errors without a code, most specific first: Deno's fetch, and parsers. */
const kindOfMessage: readonly (readonly [RegExp, OutboundErrorKind])[] = [
  [/too many open files/i, "out_of_files"],
  [/its body broke off/, "aborted"], // the gateway's own: Deno copies a body error's message into its own error
  [/connection reset|broken pipe|connection closed before|reading a body from connection|socket hang up/i, "reset"],
  [/unexpected eof|connection aborted|early eof/i, "reset"],
  [/client error \(connect\).*timed out|connect timeout/i, "connect_timeout"],
  [/client error \(connect\)|connection refused|dns error|failed to lookup|certificate/i, "unreachable"],
  [/invalid http|does not match the http|parse error|malformed|corrupt|incorrect header check/i, "bad_answer"],
];

/**
 * Classifies an error of any runtime.
 *
 * @param signal Signal of the request; once aborted, every failure is an abort with its reason as the cause.
 */
export function toOutboundError(error: unknown, signal?: AbortSignal): OutboundError {
  if (error instanceof OutboundError) return error;
  if (error instanceof AddressRefusedError) {
    return new OutboundError("refused_address", error.message, { cause: error });
  }
  if (signal?.aborted) return new OutboundError("aborted", messages.aborted, { cause: signal.reason });
  const kind = kindOf(error);
  return new OutboundError(kind, messages[kind], { cause: error });
}

/** Follows the causes of an error to the first one that is known. */
function kindOf(error: unknown): OutboundErrorKind {
  let current: unknown = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    if (current instanceof OutboundError) return current.kind;
    if (current.name === "AbortError" || current.name === "TimeoutError") return "aborted";
    const kind = kindOfOne(current);
    if (kind) return kind;
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  const isPlainTypeError = error instanceof TypeError && error.cause === undefined;
  return isPlainTypeError ? "invalid_request" : "unreachable";
}

function kindOfOne(error: Error): OutboundErrorKind | undefined {
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  if (code === undefined) return kindOfMessage.find(([form]) => form.test(error.message))?.[1];
  const known = Object.hasOwn(kindOfCode, code) ? kindOfCode[code] : undefined;
  return known ?? kindOfCodePrefix.find(([prefix]) => code.startsWith(prefix))?.[1] ?? "unreachable";
}
