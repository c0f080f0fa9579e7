import { RpcError } from "../../errors.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import { isEventStream } from "../answer.ts";
import type { McpCall } from "../mcp-call.ts";
import type { Message } from "../message.ts";
import { codes, eraOf, newestLegacy } from "../protocol.ts";
import type { Route } from "../relay.ts";
import { withUpstreamIds } from "../request-ids.ts";
import { sendUpstream, upstreamError } from "../upstream.ts";
import { upstreamHeaders } from "../upstream-headers.ts";
import { freshId, gatewayInfo, idInSession, ownMessage, toLegacyCall } from "./legacy-session.ts";
import { EventReader, nextAnswer, resultIn } from "./read-answer.ts";
import { legacyParams, madeResponse, modernStatus, passesLevel, toDiscovery, toModernAnswer } from "./to-legacy.ts";

const unusable = "Cannot use the answer of the server";
const notBegun = { id: undefined, version: newestLegacy };

/** A connection to a server of the transport HTTP+SSE (Model Context Protocol 2024-11-05): one for each call. */
class SseConnection {
  readonly #call: McpCall;
  readonly #attempt: Attempt;
  #events: EventReader | undefined;
  #address = "";

  constructor(call: McpCall, attempt: Attempt) {
    this.#call = call;
    this.#attempt = attempt;
  }

  /** Opens the stream and reads where messages go. */
  async open(): Promise<void> {
    const opening = toLegacyCall(this.#call, ownMessage("open", {}), notBegun);
    const { "content-type": _, ...headers } = await upstreamHeaders(opening);
    const request = { method: "GET", headers: { ...headers, accept: "text/event-stream" } } as const;
    const response = await sendUpstream(opening, request, this.#attempt);
    if (response.status !== 200 || !isEventStream(response) || response.body === null) {
      response.body?.cancel().catch(() => {});
      throw upstreamError(502, `${unusable}: it opens no event stream (${response.status})`);
    }
    this.#events = new EventReader(response.body, this.#call);
    const first = await this.#events.nextMessage();
    this.#address = this.#resolve(first?.event === "endpoint" ? first.data : undefined);
  }

  /** The address of messages: of the server's own origin, since its credential goes there. */
  #resolve(written: string | undefined): string {
    const { url } = this.#call.server;
    const resolved = written === undefined ? null : URL.parse(written.trim(), url);
    if (resolved && resolved.origin === new URL(url).origin && resolved.hash === "") return resolved.href;
    throw upstreamError(502, `${unusable}: it names no address for messages at its own origin`);
  }

  /** Sends a message; an answer comes by the stream. */
  async post(message: Message, version: string): Promise<McpCall> {
    const sent = toLegacyCall(this.#call, message, { id: undefined, version });
    const at: McpCall = { ...sent, server: { ...sent.server, url: this.#address } };
    const text = JSON.stringify(withUpstreamIds(message));
    const body = this.#call.context.numbers?.restore(text) ?? text;
    const response = await sendUpstream(
      at,
      { method: "POST", headers: await upstreamHeaders(sent), body },
      this.#attempt,
    );
    response.body?.cancel().catch(() => {});
    if (response.status >= 200 && response.status <= 299) return sent;
    throw upstreamError(502, `${unusable}: it refuses the message (${response.status})`);
  }

  /** Begins the session, and the result of that. */
  async initialize(): Promise<{ version: string; about: Record<string, unknown> }> {
    const params = { protocolVersion: newestLegacy, capabilities: {}, clientInfo: gatewayInfo };
    const { upstreamId: _, ...asked } = await this.post(ownMessage("initialize", params, freshId()), newestLegacy);
    const about = resultIn(await nextAnswer(asked, this.#reader));
    if (!about) throw upstreamError(502, "Cannot begin a session: the server refuses it");
    const version = stringOf(about.protocolVersion) ?? newestLegacy;
    await this.post(ownMessage("notifications/initialized", {}), version);
    return { version, about };
  }

  get #reader(): EventReader {
    if (!this.#events) throw new TypeError("the connection is not open");
    return this.#events;
  }

  /** The stream of a message that was sent. */
  response(): Response {
    return new Response(this.#reader.rest(), { headers: { "content-type": "text/event-stream" } });
  }

  close(): void {
    this.#events?.close();
  }
}

/** The result of `initialize` for a client of the older revisions: no session lasts, so nothing comes unasked. */
function toInitialized({ params }: Message, about: Record<string, unknown>): Record<string, unknown> {
  const asked = stringOf(params.protocolVersion) ?? "";
  const offered = isObject(about.capabilities) ? about.capabilities : {};
  const capabilities = Object.entries(offered).map(([name, one]): [string, unknown] => {
    if (!isObject(one)) return [name, one];
    const { subscribe: _, listChanged: __, ...rest } = one;
    return [name, rest];
  });
  return {
    ...about,
    protocolVersion: eraOf(asked) === "legacy" ? asked : newestLegacy,
    capabilities: Object.fromEntries(capabilities),
  };
}

/** @throws {RpcError} Code -32601: the transport has no such thing. */
function refuseMethod({ method }: Message, isModern: boolean): never {
  throw new RpcError(isModern ? 404 : 200, `Cannot find the method ${method}: the transport of the server lacks it`, {
    rpcCode: codes.methodNotFound,
    code: "method_not_found",
  });
}

/** Answered without the server, whose session ends with each call. */
const answeredHere: ReadonlySet<string> = new Set(["ping", "logging/setLevel"]);
const missing: ReadonlySet<string> = new Set(["subscriptions/listen", "resources/subscribe", "resources/unsubscribe"]);

/** How a call of any revision reaches a server of the transport HTTP+SSE. */
export function toSseRoute(call: McpCall): { call: McpCall; route: Route } {
  const { message, era } = call;
  const isModern = era === "modern";
  if (message.kind !== "request") return { call, route: { send: async () => new Response(null, { status: 202 }) } };
  if (missing.has(message.method)) refuseMethod(message, isModern);
  const asked = ownMessage(message.method, isModern ? legacyParams(message.params) : { ...message.params }, message.id);
  const upstreamId = idInSession(message);
  if (answeredHere.has(message.method)) return { call, route: { send: async () => madeResponse(upstreamId, {}) } };
  const send = async (_: McpCall, attempt: Attempt): Promise<Response> => {
    const connection = new SseConnection(call, attempt);
    try {
      await connection.open();
      const { version, about } = await connection.initialize();
      const isAboutServer = message.method === "server/discover" || message.method === "initialize";
      if (isAboutServer) connection.close();
      if (message.method === "server/discover") return madeResponse(upstreamId, toDiscovery({ about }));
      if (message.method === "initialize") return madeResponse(upstreamId, toInitialized(message, about));
      await connection.post(asked, version);
      return connection.response();
    } catch (error) {
      connection.close();
      throw error;
    }
  };
  const convert: Route["convert"] = (value) =>
    isModern && message.method !== "server/discover" ? toModernAnswer(message, value) : value;
  const toNotification: Route["toNotification"] = (value) => {
    if (value.method === "notifications/progress" || !isModern) return value;
    return value.method === "notifications/message" && passesLevel(call, value.params) ? value : undefined;
  };
  const statusOf: Route["statusOf"] = (answer, status) => (isModern ? modernStatus(answer, status) : status);
  return { call, route: { send, convert, toNotification, statusOf } };
}
