import type { Authenticator } from "./auth/authenticate.ts";
import type { Principal } from "./auth/principal.ts";
import type { ScimAuthenticator } from "./auth/scim-token.ts";
import { type CallRecord, createCallRecord } from "./context/call-record.ts";
import type { Concurrency } from "./context/concurrency.ts";
import type { Hops } from "./context/hops.ts";
import type { ProviderRules } from "./context/provider-rules.ts";
import type { BatchWork } from "./control/batches.ts";
import type { FileStorage } from "./control/files/storage.ts";
import type { ControlPlane } from "./control/plane.ts";
import type { ContentRules } from "./control/sealed-contents.ts";
import type { StoredResponses } from "./control/stored-responses.ts";
import type { LogStore } from "./db/stores/logs.ts";
import { InvalidRequestError } from "./errors.ts";
import type { Guardrails } from "./guardrails/state.ts";
import type { AddressGuard } from "./lib/address.ts";
import { memoizeText } from "./lib/bounded-map.ts";
import type { ByteBudget, ByteHold } from "./lib/byte-budget.ts";
import type { ClientAddress } from "./lib/client-address.ts";
import type { Clock } from "./lib/clock.ts";
import type { ExactNumbers } from "./lib/exact-numbers.ts";
import type { Mac } from "./lib/hash.ts";
import { HeaderMap, type HeaderRules } from "./lib/headers.ts";
import type { IdFactory } from "./lib/ids.ts";
import { type Metadata, readBaggage, readMetadata, readTraceparent } from "./lib/metadata.ts";
import type { Outbound, SocketOutbound } from "./lib/outbound.ts";
import { findPathProblem, isValidHost } from "./lib/path.ts";
import type { Timers } from "./lib/timers.ts";
import type { SocketAcceptance } from "./lib/websocket.ts";
import type { LogRecord } from "./logs/record.ts";
import type { Redactor } from "./logs/redact.ts";
import type { PriceBook } from "./pricing/own-prices.ts";
import type { AuthTools, RelayGroup } from "./providers/core/types.ts";
import type { ProviderRegistry } from "./providers/registry.ts";
import type { RoutingState } from "./routing/state.ts";

/** Bounds an operator can move. Sizes in bytes, times in milliseconds. */
export interface Limits {
  /** Body of a JSON route. */
  jsonBodyBytes: number;
  /** Bodies that are held at once, in all. One organisation gets half of it at most. */
  heldBodyBytes: number;
  /** Bodies that are held at once for one key. */
  heldBodyBytesPerKey: number;
  /** Form of a route that reads it, such as sound to transcribe. */
  formBodyBytes: number;
  /** Body of a file or passthrough route. */
  streamedBodyBytes: number;
  /** Time to the first byte of an answer when the request sets none. */
  requestTimeoutMs: number;
  /** Silence inside a stream. */
  streamIdleTimeoutMs: number;
  /** A whole stream. */
  streamTotalTimeoutMs: number;
  /** From resolving the name of a realtime upstream to its open WebSocket. */
  realtimeConnectTimeoutMs: number;
  /** Silence in both directions of a realtime session. */
  realtimeIdleTimeoutMs: number;
  /** A whole realtime session. */
  realtimeTotalTimeoutMs: number;
}

/** What is known of a request that is over. */
export interface SettledRequest {
  status: number;
  /** Nano-dollars; null where it is not known. */
  cost: number | null;
  /** Prices of the integration that was called; null: those of the list. */
  prices: PriceBook | null;
}

/** Facts about the connection that a `Request` cannot carry. */
export interface ConnectionInfo {
  /** Address of the peer. */
  readonly remoteAddress?: string;
  /** Whose request it is, for work of the gateway's own that carries no credential. Hosts never set it. */
  readonly actingFor?: Principal;
  /** Hears how the request ended, when that is known; as `actingFor`. */
  onSettled?(settled: SettledRequest): void;
  /** Keeps the host alive until a promise settles. */
  waitUntil?(promise: Promise<unknown>): void;
  /** The body of a response as the host can carry it. Absent: as it is. */
  carryBody?(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array>;
  /**
   * Accepts the WebSocket handshake the request is, and hands the open socket over. Its result goes back to the host as
   * the answer. Absent: the host has no WebSockets.
   *
   * @throws If the client left, or the handshake is none.
   */
  upgrade?(acceptance: SocketAcceptance): Response;
}

/** A stream that is being answered; the gateway ends it when it closes. */
export interface RunningStream {
  /** Milliseconds of the monotonic clock; called about once a second. */
  tick(now: number): void;
  /** Sends an error event and ends the stream. */
  end(): void;
}

/** Answers a request. Never rejects. */
export type HandleRequest = (request: Request, connection: ConnectionInfo) => Promise<Response>;

/** Parts that live as long as the gateway. Only endpoint handlers see all of them. */
export interface Services {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly limits: Limits;
  /** Bounds of requests at once. */
  readonly concurrency: Concurrency;
  readonly hops: Hops;
  /** Address of the client, behind the operator's own proxies too. */
  readonly clientAddress: ClientAddress;
  /** Room for the bodies of requests and answers that are held in memory. */
  readonly bodies: ByteBudget;
  readonly createId: IdFactory;
  readonly providers: ProviderRegistry;
  readonly outbound: Outbound;
  /** Opens WebSockets; undefined where the host has no sockets. */
  readonly openSocket: SocketOutbound | undefined;
  /** Web origins whose pages may open realtime sessions, in lower case. */
  readonly realtimeOrigins: ReadonlySet<string>;
  readonly addressGuard: AddressGuard;
  readonly authenticator: Authenticator;
  readonly scimAuthenticator: ScimAuthenticator;
  readonly logStore: LogStore;
  readonly control: ControlPlane;
  readonly providerRules: ProviderRules;
  /** Which members of saved contents are secrets. */
  readonly contentRules: ContentRules;
  readonly files: FileStorage;
  readonly batches: BatchWork;
  readonly responses: StoredResponses;
  readonly redactor: Redactor;
  readonly keyPrefix: string;
  /** Digest of keys and other credentials we give out. */
  readonly keyMac: Mac;
  /** Takes the row of a finished request; never fails and is not awaited. */
  readonly record: (record: LogRecord) => void;
  /** Each hears of every request that is over. */
  readonly sinks: readonly CallSink[];
  /** Digest for what callers hand back to us, such as cursors. */
  readonly stateMac: Mac;
  /** Prefixes of our own headers, `x-gateway-` first. */
  readonly headerPrefixes: readonly string[];
  readonly headerRules: HeaderRules;
  readonly serverTiming: boolean;
  readonly routing: RoutingState;
  readonly guardrails: Guardrails;
  /** What authentication towards providers may use. */
  readonly authTools: Omit<AuthTools, "tenant">;
  /** The operator allows only saved configs and stored providers. */
  readonly savedOnly: boolean;
  readonly streams: Set<RunningStream>;
  /** Answers requests of the gateway's own work as if a client had sent them; the connection says for whom they are. */
  readonly handle: HandleRequest;
  /** False while the gateway starts or drains. */
  isReady(): boolean;
}

/** One request's life. */
export interface RequestContext {
  readonly services: Services;
  readonly id: string;
  readonly traceId: string;
  readonly spanId: string | null;
  readonly parentSpanId: string | null;
  readonly spanName: string | null;
  readonly request: Request;
  readonly headers: HeaderMap;
  readonly connection: ConnectionInfo;
  readonly method: string;
  readonly url: URL;
  /** Path parameters, decoded. */
  params: Readonly<Record<string, string>>;
  /** Name in logs of the route a path leads to that is passed on because the caller says so. */
  leadsTo?: string;
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number;
  /** Value of a gateway header by its name without prefix. */
  header(name: string): string | null;
  readonly log: CallRecord;
  /** What stands in the parsed body for numbers JavaScript cannot hold; absent where it has none of them. */
  numbers?: ExactNumbers;
  /** Room that bodies of this request take; absent where all are small. */
  hold?: ByteHold | undefined;
}

/** A request whose caller is known. */
export interface CallerContext extends RequestContext {
  readonly principal: Principal;
  /** The credential for the provider that came in `authorization`; absent when that header held the gateway key. */
  readonly providerCredential: string | undefined;
  /** The whole `authorization` where it is of a scheme other than bearer, and so for the provider alone. */
  readonly providerAuthorization: string | undefined;
  /** The gateway key as it was sent: nothing that holds it leaves for a provider. */
  readonly gatewayKey: string;
  metadata: Metadata;
  /** Whether it counts among the requests that run. */
  isCounted: boolean;
  /** The workspace a key of the organisation acts in, once the request named it. */
  namedWorkspaceId?: string;
  /** What the route asks of a request that is passed on; set by its row. */
  relay?: RelayRules;
  /** Checks the body with the parameters of a target, where the request left some of it to its config. */
  checkComplete?: (body: object) => void;
  /** Takes a whole answer that may be asked for again. */
  keepAnswer?: (answer: object) => void;
}

/** A request that is over. */
export interface FinishedCall {
  /** The request, with the record of what became known of it. */
  readonly context: CallerContext;
  /** Status of the response; of a stream, how it ended. */
  readonly status: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** What was thrown; undefined where nothing was. */
  readonly error?: unknown;
  /** Milliseconds of the monotonic clock. */
  readonly endedAt: number;
}

/** Takes a finished request: writes its row, counts it. Never throws, and nobody waits for it. */
type CallSink = (call: FinishedCall) => void;

/** What a known route asks of requests that are passed on. */
export interface RelayRules {
  /** The provider must have it. */
  readonly group: RelayGroup;
  /** Headers clients may leave out, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Address of the client behind a request. */
export function clientAddressOf(
  { connection, headers }: Pick<RequestContext, "connection" | "headers">,
  { clientAddress }: Pick<Services, "clientAddress">,
): string {
  return clientAddress(connection.remoteAddress, headers.get("x-forwarded-for"));
}

/** What a caller attached that attached nothing. */
export const noMetadata: Metadata = {};

/** The request of a caller who is known by now: the same object, with what the credential told. */
export function withCaller(
  context: RequestContext,
  principal: Principal,
  credentials: Pick<CallerContext, "gatewayKey" | "providerCredential" | "providerAuthorization">,
): CallerContext {
  // nobody else writes these members, and before this nobody reads them
  const caller = context as { -readonly [Name in keyof CallerContext]: CallerContext[Name] };
  caller.principal = principal;
  caller.gatewayKey = credentials.gatewayKey;
  caller.providerCredential = credentials.providerCredential;
  caller.providerAuthorization = credentials.providerAuthorization;
  caller.metadata = noMetadata;
  return caller;
}

/** Names of our headers with the first prefix: written together once, not for each look-up. */
const fullName = memoizeText(1_000, (name) => `x-gateway-${name}`, 64);

/**
 * Reads our headers by their names without prefix.
 *
 * @throws {InvalidRequestError} If two prefixes of ours carry different values of one header.
 */
export function createHeaderReader(headers: HeaderMap, prefixes: readonly string[]): RequestContext["header"] {
  if (prefixes.length === 1) return (name) => headers.get(fullName(name)) ?? null;
  const own = new Map<string, string>();
  for (const [name, value] of Object.entries(headers.values())) {
    const prefix = prefixes.find((one) => name.startsWith(one));
    if (prefix === undefined) continue;
    const bare = name.slice(prefix.length);
    const other = own.get(bare);
    if (other !== undefined && other !== value) {
      throw new InvalidRequestError(`Cannot choose between two values of x-gateway-${bare}: send it once`, {
        param: `x-gateway-${bare}`,
        code: "invalid_header",
      });
    }
    own.set(bare, value);
  }
  return (name) => own.get(name) ?? null;
}

/** Addresses come again and again: a parsed one is never changed. */
const parseUrl = memoizeText(
  2_000,
  (text) => {
    const url = URL.parse(text);
    return { url, problem: url ? findPathProblem(url.pathname) : "it is not a URL" };
  },
  512,
);

/** The address of a request, once its Host and path are safe to use. */
function readUrl(request: Request, headers: HeaderMap): URL {
  const host = headers.get("host");
  if (host !== undefined && !isValidHost(host)) {
    throw new InvalidRequestError("Cannot use the Host header: write a name or an address, and a port", {
      param: "host",
      code: "invalid_host",
    });
  }
  const { url, problem } = parseUrl(request.url);
  if (url && problem === undefined) return url;
  throw new InvalidRequestError(`Cannot use this path: ${problem}`, { code: "invalid_path" });
}

const maxIdLength = 256;

function readTraceHeader(value: string | null, name: string): string | null {
  if (value === null || value === "") return null;
  if (value.length <= maxIdLength) return value;
  throw new InvalidRequestError(`Cannot use x-gateway-${name}: it is longer than ${maxIdLength} characters`, {
    param: `x-gateway-${name}`,
    code: "invalid_header",
  });
}

/** Where a request stands in a trace: our own headers win over `traceparent`. */
function readTrace(headers: HeaderMap, header: RequestContext["header"]) {
  const parent = headers.get("traceparent");
  const standard = parent === undefined ? undefined : readTraceparent(parent);
  return {
    traceId: readTraceHeader(header("trace-id"), "trace-id") ?? standard?.traceId ?? null,
    spanId: readTraceHeader(header("span-id"), "span-id"),
    parentSpanId: readTraceHeader(header("parent-span-id"), "parent-span-id") ?? standard?.parentSpanId ?? null,
    spanName: readTraceHeader(header("span-name"), "span-name"),
  };
}

/**
 * The context of a request whose caller is not known yet.
 *
 * @param id Id of the request; its trace id too when the caller gives none.
 * @throws {InvalidRequestError} If Host, path or a tracing header cannot be used.
 */
export function createRequestContext(
  request: Request,
  connection: ConnectionInfo,
  { id, startedAt, services }: { id: string; startedAt: number; services: Services },
): RequestContext {
  const headers = new HeaderMap(request.headers);
  const header = createHeaderReader(headers, services.headerPrefixes);
  const { traceId, spanId, parentSpanId, spanName } = readTrace(headers, header);
  const context = {
    services,
    id,
    traceId: traceId ?? id,
    spanId,
    parentSpanId,
    spanName,
    request,
    headers,
    connection,
    method: request.method,
    url: readUrl(request, headers),
    params: {},
    startedAt,
    header,
    log: createCallRecord(),
    // the places of what `withCaller` adds: an object whose members come later is slow
    principal: undefined,
    gatewayKey: "",
    providerCredential: undefined,
    providerAuthorization: undefined,
    metadata: noMetadata,
    isCounted: false,
    hold: undefined,
  };
  return context;
}

/**
 * Facts the caller attached: `x-gateway-metadata` over `baggage`.
 *
 * @throws {InvalidRequestError} If the header is not a JSON object of plain values.
 */
export function readRequestMetadata(context: RequestContext): Metadata {
  const own = context.header("metadata");
  const baggage = context.headers.get("baggage");
  const metadata = own === null ? noMetadata : readMetadata(own);
  if (metadata === undefined) {
    throw new InvalidRequestError("Cannot read x-gateway-metadata: write a JSON object of texts", {
      param: "x-gateway-metadata",
      code: "invalid_metadata",
    });
  }
  return baggage === undefined ? metadata : { ...readBaggage(baggage), ...metadata };
}
