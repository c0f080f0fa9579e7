import type { Authenticator } from "./auth/authenticate.ts";
import type { Principal } from "./auth/principal.ts";
import type { ScimAuthenticator } from "./auth/scim-token.ts";
import type { ResponseCache } from "./cache/response-cache.ts";
import type { SemanticSettings } from "./cache/semantic-settings.ts";
import type { BackgroundWork } from "./context/background-work.ts";
import { type CallRecord, createCallRecord, type OuterRequest, type SettledRequest } from "./context/call-record.ts";
import type { HeaderServices } from "./context/header-services.ts";
import type { Hops } from "./context/hops.ts";
import type { LimitServices } from "./context/limit-services.ts";
import type { LoadServices } from "./context/load.ts";
import type { ProviderRules } from "./context/provider-rules.ts";
import type { ApartCall, ShadowCopies } from "./context/shadow.ts";
import type { ConsoleState } from "./control/console/console-state.ts";
import type { ControlPlane } from "./control/control-plane.ts";
import type { FileStorage } from "./control/files/storage.ts";
import type { ContentRules } from "./control/sealed-contents.ts";
import type { SingleSignOn } from "./control/single-sign-on.ts";
import type { StoredResponses } from "./control/stored-responses.ts";
import type { VerdictFeedback } from "./control/verdict-feedback.ts";
import type { FeedbackStore } from "./db/stores/feedback.ts";
import type { LogSegmentStore } from "./db/stores/log-segments.ts";
import type { LogStore } from "./db/stores/logs.ts";
import { InvalidRequestError } from "./errors.ts";
import type { Guardrails } from "./guardrails/state.ts";
import type { AddressGuard } from "./lib/address.ts";
import { withoutBasePath } from "./lib/base-path.ts";
import { memoizeText } from "./lib/bounded-map.ts";
import type { ByteBudget, ByteHold } from "./lib/byte-budget.ts";
import type { ClientAddress } from "./lib/client-address.ts";
import type { Clock } from "./lib/clock.ts";
import type { ExactNumbers } from "./lib/exact-numbers.ts";
import type { Mac } from "./lib/hash.ts";
import { HeaderMap } from "./lib/headers.ts";
import type { IdFactory } from "./lib/ids.ts";
import { type Metadata, readBaggage, readMetadata, readTraceparent } from "./lib/metadata.ts";
import type { Outbound, SocketOutbound } from "./lib/outbound.ts";
import { findPathProblem, isValidHost } from "./lib/path.ts";
import type { ReceivedJson } from "./lib/received-json.ts";
import type { Timers } from "./lib/timers.ts";
import type { TokenCounter } from "./lib/token-count.ts";
import type { SocketAcceptance } from "./lib/websocket.ts";
import type { LogTail } from "./logs/follow/log-tail.ts";
import type { LateHookQueue } from "./logs/late-hooks.ts";
import type { LogQueue } from "./logs/queue.ts";
import type { LogReader } from "./logs/read/log-reader.ts";
import type { LogRecord } from "./logs/record.ts";
import type { Redactor } from "./logs/redact.ts";
import type { McpServers } from "./mcp/registry/mcp-server.ts";
import type { McpState } from "./mcp/registry/mcp-state.ts";
import type { McpOauth } from "./mcp/registry/oauth/mcp-oauth.ts";
import type { RefusedRequests } from "./observability/process-metrics.ts";
import type { UnpricedCalls } from "./pricing/unpriced-calls.ts";
import type { AbortReason } from "./providers/core/call.ts";
import type { TokenCache } from "./providers/core/token-cache.ts";
import type { AuthTools, NativeGroup } from "./providers/core/types.ts";
import type { ProviderRegistry } from "./providers/registry.ts";
import type { RoutingState } from "./routing/state.ts";

/** Limits that the operator can set. Sizes in bytes, times in milliseconds. */
export interface Limits {
  /** Body of a JSON route. */
  jsonBodyBytes: number;
  /** Bodies in memory, in total. One organisation may use at most half. */
  heldBodyBytes: number;
  /** Bodies in memory for one key. */
  heldBodyBytesPerKey: number;
  /** Form of a route that reads it, such as audio to transcribe. */
  formBodyBytes: number;
  /** Body of a file or passthrough route. */
  streamedBodyBytes: number;
  /** Time to the first byte of a response, unless the request sets one. */
  requestTimeoutMs: number;
  /** Idle time of a stream. */
  streamIdleTimeoutMs: number;
  /** Time without data after which the client of a stream of events gets a comment or ping; 0 for never. */
  streamKeepAliveMs: number;
  /** Duration of a stream. */
  streamTotalTimeoutMs: number;
  /** From DNS lookup to an open WebSocket of a realtime upstream. */
  realtimeConnectTimeoutMs: number;
  /** Idle time of a realtime session, in both directions. */
  realtimeIdleTimeoutMs: number;
  /** Duration of a realtime session. */
  realtimeTotalTimeoutMs: number;
}

/** Connection details that a `Request` cannot carry. */
export interface ConnectionInfo {
  /** Address of the peer. */
  readonly remoteAddress?: string;
  /** The request came to the port of MCP, where that has its own. */
  readonly isMcpPort?: boolean;
  /** Caller for internal requests of the gateway, which carry no credential. Hosts never set it. */
  readonly actingFor?: Principal;
  /** The request that this one is a round of. */
  readonly outer?: OuterRequest;
  /** No default config applies to the request; for internal requests only. */
  readonly ignoresConfig?: boolean;
  /** Models that an internal request calls, where its body does not name them. */
  readonly models?: readonly string[];
  /** Called with the outcome of the request; for internal requests only. */
  onSettled?(settled: SettledRequest): void;
  /** No guardrail runs on the request, as one of a guardrail, and no default config applies. For internal requests only. */
  readonly isUnguarded?: boolean;
  /** Id of the log row whose request this is, once more; for internal requests only. */
  readonly replayOf?: string;
  /** The request is a part of an eval; for internal requests only. */
  readonly isEval?: boolean;
  /** The gateway sends the request beside those of callers; for internal requests only. */
  readonly apart?: ApartCall;
  /** Called with the log row of the request; for internal requests only. */
  onLogged?(record: LogRecord): void;
  /** Keeps the host alive until a promise settles. */
  waitUntil?(promise: Promise<unknown>): void;
  /** Adapts a response body to the host. Absent: the body is used as is. */
  carryBody?(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array>;
  /**
   * Accepts the request's WebSocket handshake and hands over the open socket. The result is returned to the host as
   * the response. Absent: the host has no WebSockets.
   *
   * @throws If the client left, or the request is not a handshake.
   */
  upgrade?(acceptance: SocketAcceptance): Response;
}

/** A stream that is being sent; the gateway ends it when it closes. */
export interface RunningStream {
  /** Called about once a second with monotonic milliseconds. */
  tick(now: number): void;
  /** Sends an error event and ends the stream. */
  end(): void;
}

/** A call to a provider, from when it is sent until its response is read. */
export interface RunningCall {
  /** Aborts the call, whose request then ends with an error. */
  abort(reason: AbortReason): void;
}

/** Handles a request. Never rejects. */
export type HandleRequest = (request: Request, connection: ConnectionInfo) => Promise<Response>;

/** The metrics of a gateway. */
interface Metrics {
  /** Bearer token that may read them; undefined without one. */
  readonly token: string | undefined;
  /** Everyone may read them. */
  readonly isOpen: boolean;
  /** Organisation whose admin keys may read them; undefined if there is no organisation. */
  readonly organisationId: string | undefined;
  /** Counts refused requests that leave no log row. */
  readonly refused: RefusedRequests;
  /** All metrics in the text format. */
  toText(): Promise<string>;
}

/** Objects that live as long as the gateway. Only endpoint handlers see all of them. */
export interface Services extends BackgroundWork, LoadServices, LimitServices, HeaderServices {
  readonly clock: Clock;
  /** Unix milliseconds for periods and retention: a jump of the clock moves it only if it lasts. */
  readonly steadyTime: () => number;
  readonly timers: Timers;
  readonly limits: Limits;
  readonly hops: Hops;
  /** Address of the client, resolved through trusted proxies. */
  readonly clientAddress: ClientAddress;
  /** Whether a peer is one of the operator's proxies, whose `x-forwarded-proto` and `x-forwarded-prefix` count. */
  readonly isTrustedPeer: (address: string | undefined) => boolean;
  /** Path below which clients reach the gateway, such as `/gateway`; empty for the root. */
  readonly basePath: string;
  /** Memory budget for request and response bodies. */
  readonly bodies: ByteBudget;
  readonly createId: IdFactory;
  readonly providers: ProviderRegistry;
  readonly outbound: Outbound;
  /** Opens WebSockets; undefined where the host has no sockets. */
  readonly openSocket: SocketOutbound | undefined;
  /** Web origins whose pages may open realtime sessions, in lower case. */
  readonly realtimeOrigins: ReadonlySet<string>;
  /** Web origins whose pages may call the inference API, in lower case. */
  readonly pageOrigins: ReadonlySet<string>;
  readonly addressGuard: AddressGuard;
  readonly authenticator: Authenticator;
  readonly scimAuthenticator: ScimAuthenticator;
  readonly logStore: LogStore;
  /** Results of guardrails that ran after their response, on their way to the log. */
  readonly lateHooks: Pick<LateHookQueue, "add">;
  /** Lists and figures of the log, and its rows. */
  readonly logReader: LogReader;
  readonly logSegments: LogSegmentStore;
  /** Those who follow the log. */
  readonly logTail: LogTail;
  readonly feedback: FeedbackStore;
  /** Stores the feedback of guardrails. */
  readonly verdictFeedback: VerdictFeedback;
  readonly control: ControlPlane;
  readonly providerRules: ProviderRules;
  /** Which fields of saved contents are secret. */
  readonly contentRules: ContentRules;
  readonly files: FileStorage;
  readonly mcpServers: McpServers;
  readonly mcp: McpState;
  /** The authorization server for MCP servers. */
  readonly oauth: McpOauth;
  /** Sign-in at identity providers of organisations. */
  readonly singleSignOn: SingleSignOn;
  /** The console in browsers; undefined without one. */
  readonly console: ConsoleState | undefined;
  readonly responses: StoredResponses;
  /** Responses that are used again. */
  readonly cache: ResponseCache;
  /** The operator's settings of the semantic cache. */
  readonly semantic: SemanticSettings;
  readonly redactor: Redactor;
  readonly keyPrefix: string;
  /** `traceparent` goes upstream as it came, not with the gateway's span as parent. */
  readonly forwardsTraceparent: boolean;
  /** Digest of keys and other credentials that the gateway issues. */
  readonly keyMac: Mac;
  /** Queues the row of a finished request; never fails, and is not awaited. */
  readonly record: (record: LogRecord) => void;
  /** Whether there is room for rows of more requests, and the number of those that were refused for lack of it. */
  readonly logRoom: Pick<LogQueue, "load" | "noteRefused">;
  readonly metrics: Metrics;
  /** Counts calls to models without a price. */
  readonly unpriced: UnpricedCalls;
  /** Makes the counters of limits follow those that re-priced rows changed. Nobody waits for it. */
  readonly followCorrections: () => void;
  /** Sends copies of requests to other targets. */
  readonly copies: ShadowCopies;
  /** Called for finished requests, in this order. */
  readonly sinks: readonly CallSink[];
  /** Digest of values that callers send back, such as cursors. */
  readonly stateMac: Mac;
  readonly routing: RoutingState;
  readonly guardrails: Guardrails;
  /** Tools for authentication with providers. */
  readonly authTools: Omit<AuthTools, "tenant"> & { readonly tokens: TokenCache };
  /** The operator allows only saved configs and stored providers. */
  readonly savedOnly: boolean;
  /** Counts the tokens of streams that break off. */
  readonly countTokens: TokenCounter;
  readonly streams: Set<RunningStream>;
  readonly calls: Set<RunningCall>;
  /** Handles internal requests as if a client had sent them; the connection names the caller. */
  readonly handle: HandleRequest;
  /** False while the gateway starts or drains. */
  isReady(): boolean;
}

/** State of one request. */
export interface RequestContext {
  readonly services: Services;
  readonly id: string;
  readonly traceId: string;
  readonly spanId: string | null;
  readonly parentSpanId: string | null;
  readonly spanName: string | null;
  /** The session it belongs to: of its header, else of its metadata, once that is settled. */
  sessionId: string | null;
  readonly request: Request;
  readonly headers: HeaderMap;
  readonly connection: ConnectionInfo;
  readonly method: string;
  readonly url: URL;
  /** Path parameters, decoded. */
  params: Readonly<Record<string, string>>;
  /** Log name of the path's route, for a request that is forwarded at the caller's demand. */
  leadsTo?: string;
  /** What guardrails check of its files: the rows of the one it uploads, or all of those it names. */
  checkedFiles?: "rows" | "named";
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  /** Value of a gateway header by its name without prefix. */
  header(name: string): string | null;
  readonly log: CallRecord;
  /** Replacements for numbers in the parsed body that lose precision; absent without such numbers. */
  numbers?: ExactNumbers;
  /** A long JSON body as it came; absent for short ones, and for those of which the log has only the beginning. */
  received?: ReceivedJson;
  /** The parsed body of a control plane request, for its audit row; absent without a body. */
  adminBody?: unknown;
  /** Memory held for bodies of this request; absent while all are small. */
  hold?: ByteHold | undefined;
}

/** A request with an authenticated caller. */
export interface CallerContext extends RequestContext {
  readonly principal: Principal;
  /** The provider's credential from `authorization`; absent when that header had the gateway key. */
  readonly providerCredential: string | undefined;
  /** The whole `authorization` header if its scheme is not bearer; it is meant for the provider. */
  readonly providerAuthorization: string | undefined;
  /** The gateway key as sent: nothing that contains it may be sent to a provider. */
  readonly gatewayKey: string;
  /** Finds the caller again, where the credential is not a key or a token. */
  authenticateAgain?: () => Promise<Principal>;
  metadata: Metadata;
  /** Whether it counts as a concurrent request. */
  isCounted: boolean;
  /** The workspace that a request with an organisation's key names. */
  namedWorkspaceId?: string;
  /** Requirements of a native route; set by its endpoint. */
  nativeRoute?: NativeRouteRules;
}

/** A finished request. */
export interface FinishedCall {
  /** The request, with its call record. */
  readonly context: CallerContext;
  /** Status of the response; for a stream, its outcome. */
  readonly status: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** The error, if there was one. */
  readonly error?: unknown;
  /** Milliseconds of the monotonic clock. */
  readonly endedAt: number;
}

/** Receives a finished request: writes its row, counts it. */
interface CallSink {
  /** It is only called for requests whose record has this. Absent: for all. */
  readonly of?: "booking" | "measured" | "shadow";
  /** Never throws, and is not awaited. */
  receive(call: FinishedCall): void;
}

/** Requirements of a native route, whose requests are forwarded unchanged. */
export interface NativeRouteRules {
  /** The provider must have it. */
  readonly group: NativeGroup;
  /** Headers clients may leave out, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Client address of a request. */
export function clientAddressOf(
  { connection, headers }: Pick<RequestContext, "connection" | "headers">,
  { clientAddress }: Pick<Services, "clientAddress">,
): string {
  return clientAddress(connection.remoteAddress, headers.get("x-forwarded-for"));
}

/** Metadata of a request without any. */
export const noMetadata: Metadata = {};

/** Adds what the credential determines to a request: the same object, now with a caller. */
export function withCaller(
  context: RequestContext,
  principal: Principal,
  credentials: Pick<CallerContext, "gatewayKey" | "providerCredential" | "providerAuthorization" | "authenticateAgain">,
): CallerContext {
  // only this function writes these fields, and nothing reads them before
  const caller = context as { -readonly [Name in keyof CallerContext]: CallerContext[Name] };
  caller.principal = principal;
  caller.gatewayKey = credentials.gatewayKey;
  caller.providerCredential = credentials.providerCredential;
  caller.providerAuthorization = credentials.providerAuthorization;
  if (credentials.authenticateAgain) caller.authenticateAgain = credentials.authenticateAgain;
  caller.metadata = noMetadata;
  return caller;
}

/** Header names with the default prefix, cached. */
const fullName = memoizeText(1_000, (name) => `x-gateway-${name}`, 64);

/**
 * Reads the gateway's headers by their names without prefix.
 *
 * @throws {InvalidRequestError} If two prefixes carry different values of one header.
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

/** Addresses repeat: the cached URL is never modified. */
const parseUrl = memoizeText(
  2_000,
  (text) => {
    const url = URL.parse(text);
    return { url, problem: url ? findPathProblem(url.pathname) : "it is not a URL" };
  },
  512,
);

/** The URL of a request, once its Host and path are validated: without the path of a proxy that forwards it. */
function readUrl(request: Request, headers: HeaderMap, { basePath }: Pick<Services, "basePath">): URL {
  const host = headers.get("host");
  if (host !== undefined && !isValidHost(host)) {
    throw new InvalidRequestError("Cannot use the Host header: send a name or an address, optionally with a port", {
      param: "host",
      code: "invalid_host",
    });
  }
  const { url, problem } = parseUrl(basePath === "" ? request.url : withoutBasePath(request.url, basePath));
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

/** Trace and span of a request: the gateway's headers win over `traceparent`. */
function readTrace(headers: HeaderMap, header: RequestContext["header"]) {
  const parent = headers.get("traceparent");
  const standard = parent === undefined ? undefined : readTraceparent(parent);
  return {
    traceId: readTraceHeader(header("trace-id"), "trace-id") ?? standard?.traceId ?? null,
    spanId: readTraceHeader(header("span-id"), "span-id"),
    parentSpanId: readTraceHeader(header("parent-span-id"), "parent-span-id") ?? standard?.parentSpanId ?? null,
    spanName: readTraceHeader(header("span-name"), "span-name"),
    sessionId: readTraceHeader(header("session-id"), "session-id"),
  };
}

/**
 * The context of a request before its caller is known.
 *
 * @param id Id of the request, and of its trace unless the caller sends one.
 * @throws {InvalidRequestError} If Host, path or a tracing header is malformed.
 */
export function createRequestContext(
  request: Request,
  connection: ConnectionInfo,
  { id, startedAt, services }: { id: string; startedAt: number; services: Services },
): RequestContext {
  const headers = new HeaderMap(request.headers);
  const header = createHeaderReader(headers, services.headerPrefixes);
  const { traceId, spanId, parentSpanId, spanName, sessionId } = readTrace(headers, header);
  const context = {
    services,
    id,
    traceId: traceId ?? id,
    spanId,
    parentSpanId,
    spanName,
    sessionId,
    request,
    headers,
    connection,
    method: request.method,
    url: readUrl(request, headers, services),
    params: {},
    startedAt,
    header,
    log: createCallRecord(),
    // `withCaller` sets these fields. Adding them to the object later would slow it down
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
 * Metadata of a request: `x-gateway-metadata`, else `baggage`.
 *
 * @throws {InvalidRequestError} If the header is not a JSON object of plain values.
 */
export function readRequestMetadata(context: RequestContext): Metadata {
  const own = context.header("metadata");
  const baggage = context.headers.get("baggage");
  const metadata = own === null ? noMetadata : readMetadata(own);
  if (metadata === undefined) {
    throw new InvalidRequestError("Cannot read x-gateway-metadata: send a JSON object of strings", {
      param: "x-gateway-metadata",
      code: "invalid_metadata",
    });
  }
  return baggage === undefined ? metadata : { ...readBaggage(baggage), ...metadata };
}
