import { readBytes } from "../../lib/body.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import { resultLimit } from "../answer.ts";
import { postMessage } from "../exchange.ts";
import type { McpCall } from "../mcp-call.ts";
import { type Message, metaOf } from "../message.ts";
import { mirrorArguments } from "../param-headers.ts";
import { codes, eraOf, meta, modernVersions, newestLegacy } from "../protocol.ts";
import type { McpServer } from "../registry/mcp-server.ts";
import type { Route } from "../relay.ts";
import { describeFailure } from "../upstream.ts";
import { freshId, gatewayInfo, idInSession, ownMessage } from "./legacy-session.ts";
import { readWholeAnswer, resultIn } from "./read-answer.ts";
import { madeResponse } from "./to-legacy.ts";

/** Most pages of a list of tools in which a tool is sought. */
const maxPages = 50;

const [newestModern = ""] = modernVersions.slice(-1);

/** A request with the metadata of the newest revision. Older clients get log messages unasked. */
function withMetadata(method: string, params: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const own = {
    ...metaOf(params),
    [meta.protocolVersion]: newestModern,
    [meta.clientCapabilities]: {},
    [meta.clientInfo]: gatewayInfo,
    ...(method === "tools/call" && { [meta.logLevel]: "info" }),
  };
  return { ...params, _meta: own };
}

/** A call in the newest revision, in place of the caller's. */
function toModernCall(call: McpCall, { method, params, id, value, kind }: Message): McpCall {
  const changed = withMetadata(method, params);
  const message: Message = { kind, id, method, params: changed, value: { ...value, method, params: changed } };
  const { sent: _, ...rest } = call;
  return { ...rest, message, era: "modern", version: newestModern, sessionId: undefined };
}

/** Names of what a server asks its client for. */
function namesOfInputs(result: Readonly<Record<string, unknown>>): string {
  const requests = isObject(result.inputRequests) ? Object.values(result.inputRequests) : [];
  const methods = requests.map((one) => (isObject(one) ? (stringOf(one.method) ?? "") : ""));
  return [...new Set(methods.filter((name) => name !== ""))].join(", ") || "more input";
}

/** The answer to a call whose server needs what an older client cannot give. */
function toUnanswered({ method }: Message, value: Record<string, unknown>, result: Record<string, unknown>) {
  const { result: _, ...rest } = value;
  const text = `Cannot finish this call: the server asks the client for ${namesOfInputs(result)}, which this client cannot give`;
  if (method === "tools/call") return { ...rest, result: { content: [{ type: "text", text }], isError: true } };
  return { ...rest, error: { code: codes.internal, message: text, data: { type: "input_required" } } };
}

/** An answer of a server of the newest revision as the older ones have it. */
function toLegacyAnswer(message: Message, value: Record<string, unknown>): Record<string, unknown> {
  if (!isObject(value.result)) return value;
  const { resultType = "complete", ttlMs: _, cacheScope: __, ...result } = value.result;
  if (resultType !== "complete") return toUnanswered(message, value, value.result);
  return { ...value, result };
}

/** What a server says of itself, as the answer to `initialize`. */
function toInitialized({ params }: Message, { slug }: McpServer, value: Record<string, unknown>) {
  if (!isObject(value.result)) return value;
  const { capabilities, instructions } = value.result;
  const asked = stringOf(params.protocolVersion) ?? "";
  const { extensions: _, ...offered } = isObject(capabilities) ? capabilities : {};
  const plain = Object.entries(offered).map(([name, one]): [string, unknown] => {
    if (!isObject(one)) return [name, one];
    // nothing is sent unasked, since the gateway offers no stream for it
    const { subscribe: _subscribe, listChanged: _listChanged, ...rest } = one;
    return [name, rest];
  });
  const result = {
    protocolVersion: eraOf(asked) === "legacy" ? asked : newestLegacy,
    capabilities: Object.fromEntries(plain),
    serverInfo: metaOf(value.result)[meta.serverInfo] ?? { name: slug, version: "0" },
    ...(typeof instructions === "string" && { instructions }),
  };
  return { ...value, result };
}

/** The schema of a tool among those a server lists; undefined without one. */
async function findSchema(call: McpCall, name: string, attempt: Attempt): Promise<unknown> {
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const listing = toModernCall(call, ownMessage("tools/list", params, freshId()));
    const result = resultIn(await readWholeAnswer(listing, await postMessage(listing, attempt), attempt));
    const tools = Array.isArray(result?.tools) ? result.tools : [];
    const found = tools.find((tool: unknown) => isObject(tool) && tool.name === name);
    if (isObject(found)) return found.inputSchema;
    cursor = stringOf(result?.nextCursor);
    if (cursor === undefined || seen.has(cursor)) return undefined;
    seen.add(cursor);
  }
  return undefined;
}

/**
 * Whether a server misses headers that repeat arguments. Otherwise the response can still be read.
 *
 * @throws {GatewayError} 502 for a response that is too large.
 */
async function missesHeaders(
  call: McpCall,
  response: Response,
  attempt: Attempt,
): Promise<[misses: boolean, response: Response]> {
  if (response.status !== 400) return [false, response];
  const endless = Number.POSITIVE_INFINITY;
  try {
    const bytes = await readBytes(response, { bytes: resultLimit(call), totalMs: endless, silenceMs: endless });
    const isMissing = bytes.length < 65_536 && new TextDecoder().decode(bytes).includes(String(codes.headerMismatch));
    return [isMissing, new Response(Uint8Array.from(bytes), { status: response.status, headers: response.headers })];
  } catch (error) {
    throw describeFailure(error, attempt);
  }
}

/** Sends a tool call with the headers that its arguments need: by the schema that was synced, else by the server's list. */
async function sendToolCall(call: McpCall, attempt: Attempt): Promise<Response> {
  const { name, arguments: given } = call.message.params;
  const known = call.server.capabilities.tool.get(String(name))?.definition?.inputSchema;
  const withHeaders = (schema: unknown): McpCall => ({ ...call, argumentHeaders: mirrorArguments(schema, given) });
  const first = known === undefined ? { ...call, argumentHeaders: {} } : withHeaders(known);
  const [misses, response] = await missesHeaders(call, await postMessage(first, attempt), attempt);
  if (!misses) return response;
  const schema = await findSchema(call, String(name), attempt);
  return schema === undefined ? response : postMessage(withHeaders(schema), attempt);
}

/** Methods that are answered without the server: its revision does not have them, and nothing follows from them. */
const answeredHere: ReadonlySet<string> = new Set(["ping", "logging/setLevel"]);
/** Methods whose revision has no counterpart. */
const missing = /^(?:resources\/(?:un)?subscribe|tasks\/)/;

/** How a legacy call reaches a server of the newest revision. */
export function toModernRoute(call: McpCall): { call: McpCall; route: Route } {
  const { message, server } = call;
  const id = idInSession(message);
  const { method } = message;
  if (message.kind !== "request") return { call, route: { send: async () => new Response(null, { status: 202 }) } };
  if (answeredHere.has(method)) return { call, route: { send: async () => madeResponse(id, {}) } };
  if (missing.test(method)) {
    const error = {
      code: codes.methodNotFound,
      message: `Cannot find the method ${method}: the server does not have it`,
    };
    return { call, route: { send: async () => Response.json({ jsonrpc: "2.0", id, error }) } };
  }
  const isHello = method === "initialize";
  const asked = isHello ? ownMessage("server/discover", {}, message.id) : message;
  const modern = toModernCall(call, asked);
  const send: Route["send"] = (_, attempt) =>
    method === "tools/call" ? sendToolCall(modern, attempt) : postMessage(modern, attempt);
  const convert: Route["convert"] = (value) =>
    isHello ? toInitialized(message, server, value) : toLegacyAnswer(message, value);
  // clients of the older revisions read errors of servers with status 200 alone
  const statusOf: Route["statusOf"] = (_, status) => (status === 400 || status === 404 ? 200 : status);
  const toNotification: Route["toNotification"] = (value) => value;
  return { call, route: { send, convert, statusOf, toNotification } };
}
