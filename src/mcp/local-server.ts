import { RpcError } from "../errors.ts";
import { isObject, stringOf } from "../lib/json.ts";
import type { Reply } from "../lib/reply.ts";
import { findJoinedUri, joinedEntries, joinedInstructions, withJoinedUris } from "./aggregate.ts";
import { lists } from "./capabilities.ts";
import { listenAtMembers } from "./joined-listening.ts";
import { callerOf, type McpCall } from "./mcp-call.ts";
import { nameOf } from "./mirrored-headers.ts";
import { hasUserAccounts } from "./oauth/upstream-hop.ts";
import { findParamHeaderProblem } from "./param-headers.ts";
import { codes, eraOf, meta, modernVersions } from "./protocol.ts";
import type { CapabilityKind, McpMember, McpServer } from "./registry/mcp-server.ts";
import { configDigestOf } from "./registry/mcp-state.ts";
import { findTools, searchesTools, searchTools, toInnerCall, withParams } from "./tool-search.ts";
import { visibleDefinitions } from "./visible-definitions.ts";

type Definition = Readonly<Record<string, unknown>>;

/** What becomes of a call that the gateway understands itself. */
type LocalOutcome =
  /** The gateway has the result. */
  | { readonly kind: "result"; readonly result: Record<string, unknown> }
  /** Nothing is to be answered. */
  | { readonly kind: "accepted" }
  /** It is answered by a stream. */
  | { readonly kind: "reply"; readonly reply: Reply }
  /** It goes on as another call, of a member where it has one. */
  | { readonly kind: "call"; readonly call: McpCall; readonly member: McpMember | undefined };

/** Most entries of a page. */
const pageSize = 500;
const newestLegacy = "2025-11-25";

function refuse(problem: string, rpcCode: number = codes.invalidParams, status = 200): never {
  throw new RpcError(status, problem, {
    rpcCode,
    code: rpcCode === codes.methodNotFound ? "method_not_found" : "invalid_params",
  });
}

/** A complete result in the caller's revision. */
function complete({ era }: McpCall, result: Record<string, unknown>, isCacheable = false): LocalOutcome {
  const hints = isCacheable ? { ttlMs: 0, cacheScope: "private" } : {};
  return { kind: "result", result: era === "modern" ? { resultType: "complete", ...result, ...hints } : result };
}

/** Definitions of one kind that a caller sees. */
function definitionsOf({ server, context }: McpCall, kind: CapabilityKind): Definition[] {
  if (!server.aggregate) return visibleDefinitions(server, kind).map(({ definition }) => definition);
  const entries = joinedEntries(server, kind, context.principal.userId);
  return [...entries.values()].map(({ definition }) => definition);
}

/** Where the session ids of a server and its cursors are sealed for one caller. */
async function holderOf({ server, context }: McpCall, kind: string) {
  return { serverId: `${server.id} ${kind}`, configDigest: await configDigestOf(server), caller: callerOf(context) };
}

/** A page of a list of the gateway's own. */
async function listLocally(call: McpCall, kind: CapabilityKind, member: string): Promise<LocalOutcome> {
  const { sessions } = call.context.services.mcp;
  const holder = await holderOf(call, kind);
  const { cursor } = call.message.params;
  const opened = typeof cursor === "string" ? await sessions.open(cursor, holder) : "0";
  const start = Number(opened ?? Number.NaN);
  if (!Number.isSafeInteger(start)) refuse("Cannot read this page: the cursor is not one of this list");
  const isUsable = (definition: Definition) =>
    call.era === "legacy" || kind !== "tool" || findParamHeaderProblem(definition.inputSchema) === undefined;
  const all = definitionsOf(call, kind).filter(isUsable);
  const page = all.slice(start, start + pageSize);
  const next = start + page.length;
  const more = next < all.length ? { nextCursor: await sessions.seal(String(next), holder) } : {};
  refreshMembers(call);
  return complete(call, { [member]: page, ...more }, true);
}

/** Reads servers again whose stored lists are shown. */
function refreshMembers({ server, context }: McpCall): void {
  const shown = server.aggregate ? server.aggregate.members.map((member) => member.server) : [server];
  for (const { organisationId, integrationId } of shown) {
    context.services.control.mcpSync.refresh({ organisationId, integrationId });
  }
}

/** What clients may ask of a server that the gateway answers for. */
function capabilitiesOf({ server, era }: McpCall): object {
  // changes are reported to those who listen, as only the newest revision does
  const isListening = server.aggregate !== null && era === "modern";
  const list = isListening ? { listChanged: true } : {};
  return { tools: list, prompts: list, resources: isListening ? { ...list, subscribe: true } : {}, completions: {} };
}

/** What a server says of itself, in the words of the gateway. */
function describe(call: McpCall): { capabilities: object; serverInfo: object; instructions?: string } {
  const { server, context } = call;
  const { about } = server;
  const instructions = server.aggregate
    ? joinedInstructions(server, context.principal.userId)
    : (about.instructions ?? undefined);
  return {
    capabilities: capabilitiesOf(call),
    serverInfo: { name: server.slug, title: server.name, version: about.version ?? "0.0.0" },
    ...(instructions !== undefined && { instructions }),
  };
}

function initialize(call: McpCall): LocalOutcome {
  const asked = stringOf(call.message.params.protocolVersion) ?? "";
  const protocolVersion = eraOf(asked) === "legacy" ? asked : newestLegacy;
  return { kind: "result", result: { protocolVersion, ...describe(call) } };
}

function discover(call: McpCall): LocalOutcome {
  const { serverInfo, ...about } = describe(call);
  const result = { supportedVersions: [...modernVersions], ...about, _meta: { [meta.serverInfo]: serverInfo } };
  return complete(call, result, true);
}

/** Members with the guardrails of the server that joins them, by that server. A change makes new servers. */
const guarded = new WeakMap<McpServer, Map<McpServer, McpServer>>();

/** A member whose guardrails are its own and those of the server that joins it. */
function withJoinedGuardrails(joined: McpServer, { server }: McpMember): McpServer {
  if (joined.guardrails.length === 0) return server;
  const made = guarded.get(joined) ?? new Map<McpServer, McpServer>();
  guarded.set(joined, made);
  const known = made.get(server) ?? { ...server, guardrails: [...server.guardrails, ...joined.guardrails] };
  made.set(server, known);
  return known;
}

/** A call at a member; its guardrails and rate limits are those of both servers. */
function toMember(call: McpCall, member: McpMember, params: Record<string, unknown>): LocalOutcome {
  const { server: joined, message } = call;
  const through = { server: joined, name: nameOf(message) ?? "" };
  const server = withJoinedGuardrails(joined, member);
  return { kind: "call", call: { ...call, server, message: withParams(message, params), through }, member };
}

/** Routes a call that names a tool or a prompt. */
function routeName(call: McpCall, kind: "tool" | "prompt", params: Record<string, unknown>): LocalOutcome {
  const name = stringOf(params.name) ?? "";
  const found = joinedEntries(call.server, kind, call.context.principal.userId).get(name);
  if (!found) refuse(`Cannot find the ${kind} "${name.slice(0, 256)}"`);
  return toMember(call, found.member, { ...params, name: found.original });
}

function routeUri(call: McpCall, params: Record<string, unknown>): LocalOutcome {
  const uri = stringOf(params.uri) ?? "";
  const found = findJoinedUri(call.server, uri, call.context.principal.userId);
  if (!found || call.server.disabled.resource.has(uri)) refuse(`Cannot find the resource "${uri.slice(0, 256)}"`);
  return toMember(call, found.member, { ...params, uri: found.uri });
}

function routeCompletion(call: McpCall): LocalOutcome {
  const { params } = call.message;
  const reference = isObject(params.ref) ? params.ref : {};
  const isPrompt = typeof reference.name === "string";
  const routed = isPrompt ? routeName(call, "prompt", { ...reference }) : routeUri(call, { ...reference });
  if (routed.kind !== "call") return routed;
  const { name, uri } = routed.call.message.params;
  const ref = { ...reference, ...(isPrompt ? { name } : { uri }) };
  const message = withParams(call.message, { ...params, ref });
  return { ...routed, call: { ...routed.call, message } };
}

/** Serves a call of a joined server. */
function serveJoined(call: McpCall): LocalOutcome | Promise<LocalOutcome> {
  const { kind, method, params } = call.message;
  if (kind !== "request") return { kind: "accepted" };
  const list = Object.hasOwn(lists, method) ? lists[method] : undefined;
  if (list) return listLocally(call, list[2], list[0]);
  if (method === "initialize") return initialize(call);
  if (method === "server/discover") return discover(call);
  if (method === "ping" || method === "logging/setLevel") return { kind: "result", result: {} };
  if (method === "tools/call") return routeName(call, "tool", { ...params });
  if (method === "prompts/get") return routeName(call, "prompt", { ...params });
  if (method === "resources/read") return routeUri(call, { ...params });
  if (method === "completion/complete") return routeCompletion(call);
  if (method === "subscriptions/listen" && call.era === "modern")
    return { kind: "reply", reply: listenAtMembers(call) };
  return refuse(
    `Cannot find the method ${method}: this server joins others`,
    codes.methodNotFound,
    call.era === "modern" ? 404 : 200,
  );
}

/** Whether a user who has no account at a server yet sees its stored lists. */
async function isListedWithoutAccount({ server, context, sessionId }: McpCall): Promise<boolean> {
  const { organisationId, workspaceId, userId } = context.principal;
  if (!server.settings.list_without_connection || !hasUserAccounts(server)) return false;
  if (workspaceId === null || userId === null || sessionId !== undefined) return false;
  const place = { organisationId, workspaceId, userId, serverId: server.id };
  return !(await context.services.oauth.upstream.connections.isConnected(server, place));
}

/** Serves what a server would only say to users with an account, from what is stored of it. Calls ask to connect one. */
async function serveStored(call: McpCall): Promise<LocalOutcome | undefined> {
  const { kind, method } = call.message;
  if (!(await isListedWithoutAccount(call))) return undefined;
  if (kind !== "request") return { kind: "accepted" };
  const list = Object.hasOwn(lists, method) ? lists[method] : undefined;
  if (list) return listLocally(call, list[2], list[0]);
  if (method === "initialize") return initialize(call);
  if (method === "server/discover") return discover(call);
  return method === "ping" || method === "logging/setLevel" ? { kind: "result", result: {} } : undefined;
}

/** Takes a call apart whose caller sees only the tools that find and call the others. */
function serveSearch(call: McpCall): LocalOutcome | McpCall {
  const { method, params } = call.message;
  if (method === "tools/list") return complete(call, { tools: [...searchTools] }, true);
  if (method !== "tools/call") return call;
  if (params.name === "find_tools") {
    refreshMembers(call);
    return complete(call, findTools(params.arguments, definitionsOf(call, "tool")));
  }
  if (params.name === "call_tool") return { ...call, message: toInnerCall(call.message) };
  return refuse(`Cannot find the tool "${String(params.name).slice(0, 256)}": call it by call_tool`);
}

/**
 * Serves what the gateway understands itself: servers that join others, and tools that stand for others.
 *
 * @returns Undefined for calls that go to their server as they are.
 * @throws {RpcError} For what there is not.
 */
export function serveLocally(call: McpCall): LocalOutcome | undefined | Promise<LocalOutcome | undefined> {
  const isRequest = call.message.kind === "request";
  const searched = isRequest && searchesTools(call) ? serveSearch(call) : call;
  if ("kind" in searched) return searched;
  if (searched.server.aggregate) return serveJoined(searched);
  if (searched !== call) return { kind: "call", call: searched, member: undefined };
  return call.server.settings.list_without_connection ? serveStored(call) : undefined;
}

/** A call whose answer gets the URIs of the joined server. */
export function withMemberAnswers(call: McpCall, { prefix }: McpMember): McpCall {
  const { judge } = call;
  return {
    ...call,
    judge: async (answer, numbers) => {
      const judged = judge ? await judge(answer, numbers) : answer;
      return isObject(judged.result) ? { ...judged, result: withJoinedUris(judged.result, prefix) } : judged;
    },
  };
}
