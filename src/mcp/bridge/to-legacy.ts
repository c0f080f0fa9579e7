import { ClientClosedError } from "../../errors.ts";
import { readBytes } from "../../lib/body.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import { Attempt } from "../../upstream/attempt.ts";
import { openStream, postMessage } from "../exchange.ts";
import type { McpCall } from "../mcp-call.ts";
import { type Message, metaOf } from "../message.ts";
import { codes, isCacheable, meta, modernVersions, newestLegacy } from "../protocol.ts";
import type { PooledSession, SessionLease } from "../registry/session-pool.ts";
import type { Route } from "../relay.ts";
import { beginSession, freshId, idInSession, notify, ownMessage, sessionKey, toLegacyCall } from "./legacy-session.ts";
import { errorBeforeStream } from "./read-answer.ts";

/** Levels of log messages, least important first (RFC 5424, section 6.2.1). */
const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const protocolPrefix = "io.modelcontextprotocol/";

/** Parameters without the metadata of modern requests. */
export function legacyParams(params: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { _meta, ...rest } = params;
  const own = Object.entries(metaOf(params)).filter(([name]) => !name.startsWith(protocolPrefix));
  return own.length > 0 ? { ...rest, _meta: Object.fromEntries(own) } : rest;
}

/** What a server says of itself, as the newest revision has it. */
export function toDiscovery({ about }: Pick<PooledSession, "about">): Record<string, unknown> {
  const { capabilities, instructions, serverInfo } = about;
  const { tools, prompts, resources, ...others } = isObject(capabilities) ? capabilities : {};
  const lists = Object.entries({ tools, prompts, resources }).filter(([, value]) => isObject(value));
  return {
    resultType: "complete",
    supportedVersions: [...modernVersions],
    capabilities: { ...others, ...Object.fromEntries(lists.map(([name]) => [name, {}])) },
    ...(typeof instructions === "string" && { instructions }),
    ttlMs: 0,
    cacheScope: "private",
    _meta: { [meta.serverInfo]: serverInfo },
  };
}

/** An error as the newest revision has it. */
function toModernError(error: Record<string, unknown>): Record<string, unknown> {
  if (error.code === codes.resourceNotFound) return { ...error, code: codes.invalidParams };
  if (error.code !== codes.urlElicitation) return error;
  const data = isObject(error.data) ? error.data : {};
  return {
    ...error,
    code: codes.missingCapability,
    data: { ...data, requiredCapabilities: { elicitation: { url: {} } } },
  };
}

/** An answer of an older server as the newest revision has it. */
export function toModernAnswer({ method }: Message, value: Record<string, unknown>): Record<string, unknown> {
  if (isObject(value.error)) return { ...value, error: toModernError(value.error) };
  if (!isObject(value.result)) return value;
  const hints = isCacheable(method) ? { ttlMs: 0, cacheScope: "private" } : {};
  return { ...value, result: { ...hints, ...value.result, resultType: "complete" } };
}

/** Whether a log message is important enough for its request, which must ask for log messages. */
export function passesLevel({ message }: McpCall, params: unknown): boolean {
  const asked = levels.indexOf(stringOf(metaOf(message.params)[meta.logLevel]) ?? "");
  const level = isObject(params) ? levels.indexOf(stringOf(params.level) ?? "") : -1;
  return asked >= 0 && level >= asked;
}

/** Status of an answer: the newest revision has statuses for some errors. */
export function modernStatus(answer: Readonly<Record<string, unknown>>, status: number): number {
  const code = isObject(answer.error) ? answer.error.code : undefined;
  if (code === codes.methodNotFound) return 404;
  return code === codes.missingCapability ? 400 : status;
}

/** Most bytes of an error that may say that a session is over. */
const maxErrorBytes = 64 * 1024;

/** Whether a server no longer knows a session. Otherwise the response can still be read. */
async function isSessionLost(response: Response): Promise<[isLost: boolean, response: Response]> {
  if (response.status === 404) return [true, response];
  if (response.status !== 400) return [false, response];
  const endless = Number.POSITIVE_INFINITY;
  const bytes = await readBytes(response, { bytes: maxErrorBytes, totalMs: endless, silenceMs: endless });
  const isLost = /session|not initialized/i.test(new TextDecoder().decode(bytes));
  return [isLost, new Response(bytes.slice(), { status: response.status, headers: response.headers })];
}

/** A modern call at a server of the older revisions. */
class LegacyRoute implements Route {
  readonly #call: McpCall;
  readonly #message: Message;
  #lease: SessionLease | undefined;
  #isAnswered = false;

  constructor(call: McpCall) {
    const { method, params } = call.message;
    this.#call = call;
    this.#message = ownMessage(method, legacyParams(params), freshId());
  }

  get #bridged(): McpCall {
    return { ...this.#call, upstreamId: this.upstreamId };
  }

  /** Id of the request at the server. */
  get upstreamId(): string {
    return idInSession(this.#message);
  }

  /** A session of the pool; another one if the caller that began it left before it was there. */
  async #take(attempt: Attempt): Promise<SessionLease> {
    const { pool } = this.#call.context.services.mcp;
    const begin = () => beginSession(this.#call, attempt);
    const key = pool.isEnabled ? await sessionKey(this.#call) : undefined;
    try {
      return await pool.take(key, begin);
    } catch (error) {
      if (!(error instanceof ClientClosedError) || attempt.endedBy !== undefined) throw error;
      return pool.take(key, begin);
    }
  }

  /** The session of this call, until the call is over. */
  async #openSession(attempt: Attempt): Promise<SessionLease> {
    const lease = await this.#take(attempt);
    this.#lease?.release();
    this.#lease = lease;
    return lease;
  }

  readonly send = async (_: McpCall, attempt: Attempt): Promise<Response> => {
    const first = await this.#openSession(attempt);
    const post = ({ session }: SessionLease) => postMessage(toLegacyCall(this.#call, this.#message, session), attempt);
    const [isLost, response] = await isSessionLost(await post(first));
    if (!isLost || first.session.id === undefined) return errorBeforeStream(this.#bridged, response);
    response.body?.cancel().catch(() => {});
    first.forget();
    return errorBeforeStream(this.#bridged, await post(await this.#openSession(attempt)));
  };

  /** Takes a stream up again that the server closed on purpose. */
  readonly resume = (_: McpCall, attempt: Attempt, lastEventId: string): Promise<Response> => {
    const session = this.#lease?.session ?? { id: undefined, version: newestLegacy };
    return openStream(toLegacyCall(this.#call, this.#message, session), attempt, lastEventId);
  };

  readonly convert = (value: Record<string, unknown>): Record<string, unknown> => {
    this.#isAnswered = true;
    return toModernAnswer(this.#call.message, value);
  };

  readonly statusOf = modernStatus;

  readonly toNotification = (value: Record<string, unknown>): Record<string, unknown> | undefined => {
    if (value.method === "notifications/progress") return value;
    return value.method === "notifications/message" && passesLevel(this.#call, value.params) ? value : undefined;
  };

  /** Answers a request of the server that finds nobody. */
  readonly onRequest = ({ id, method }: Readonly<Record<string, unknown>>): void => {
    const error = { code: codes.methodNotFound, message: "Cannot answer: the client has no capabilities" };
    const answer = method === "ping" ? { result: {} } : { error };
    this.#tell({ kind: "response", id: undefined, method: "", params: {}, value: { jsonrpc: "2.0", id, ...answer } });
  };

  readonly onLeave = (): void => {
    if (this.#isAnswered) return;
    const params = { requestId: this.#message.id, reason: "the client disconnected" };
    this.#tell(ownMessage("notifications/cancelled", params));
  };

  readonly onOver = (): void => this.#lease?.release();

  /** Sends a message that nobody waits for. */
  #tell(message: Message): void {
    if (!this.#lease) return;
    const { context } = this.#call;
    const attempt = new Attempt(new Request("http://gateway.invalid/"), { timeoutMs: 5_000 }, context.services);
    const call = toLegacyCall(this.#call, message, this.#lease.session);
    notify(call, attempt)
      .catch(() => {})
      .finally(() => attempt.release());
  }

  /** What the server says of itself. */
  async discover(attempt: Attempt): Promise<Record<string, unknown>> {
    const { session } = await this.#openSession(attempt);
    return toDiscovery(session);
  }
}

/** An answer that the gateway makes, as a response of the server. */
export function madeResponse(id: string, result: Record<string, unknown>): Response {
  return Response.json({ jsonrpc: "2.0", id, result });
}

/** The call, and how it reaches a server of the older revisions. */
export function toLegacyRoute(call: McpCall): { call: McpCall; route: Route } {
  const route = new LegacyRoute(call);
  const { upstreamId } = route;
  const bridged = { ...call, upstreamId };
  if (call.message.method !== "server/discover") return { call: bridged, route };
  const send = async (_: McpCall, attempt: Attempt) => madeResponse(upstreamId, await route.discover(attempt));
  return { call: bridged, route: { send, onOver: route.onOver } };
}

/** A legacy call in a session of the gateway, in place of one of its client. */
export function toPooledRoute(call: McpCall): { call: McpCall; route: Route } {
  const route = new LegacyRoute(call);
  const { upstreamId, send, resume, onRequest, onLeave, onOver } = route;
  const convert: Route["convert"] = (value) => {
    // it notes that the call is answered
    route.convert(value);
    return value;
  };
  const parts = { send, resume, onRequest, onLeave, onOver, convert };
  return { call: { ...call, upstreamId }, route: { ...parts, toNotification: (value) => value } };
}
