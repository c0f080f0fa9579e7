import type { CallerContext } from "../context.ts";
import { readJsonBody } from "../endpoint/body.ts";
import { NotFoundError, RpcError, UnsupportedMediaError } from "../errors.ts";
import { sha256Hex } from "../lib/hash.ts";
import { isObject, stringOf } from "../lib/json.ts";
import type { Reply } from "../lib/reply.ts";
import { checkArguments } from "./arguments.ts";
import { deliver, deliverWithoutSession } from "./bridge/deliver.ts";
import { requireEnabled, withoutDisabledResources } from "./capabilities.ts";
import { guardCall } from "./guard.ts";
import { admitTool } from "./limits.ts";
import { serveLocally, withMemberAnswers } from "./local-server.ts";
import { answering, callerOf, type McpCall } from "./mcp-call.ts";
import { idIn, type Message, metaOf, readMessage, readRevision } from "./message.ts";
import { nameOf, requireMirrored } from "./mirrored-headers.ts";
import { askToConnect } from "./oauth/connect-answers.ts";
import { requireExternalToken } from "./oauth/external-caller.ts";
import { requireGrantedScope, requireGrantedServer } from "./oauth/grant.ts";
import { hasUserAccounts } from "./oauth/upstream-hop.ts";
import { requirePinned } from "./pins.ts";
import { codes, meta } from "./protocol.ts";
import type { McpMember, McpServer } from "./registry/mcp-server.ts";
import { configDigestOf } from "./registry/mcp-state.ts";

/** The same for unknown servers, for those of others, and for those the caller may not use. */
function refuseServer(): never {
  throw new NotFoundError("Cannot find this MCP server", { code: "mcp_server_not_found" });
}

/** Whether a path names the workspace of the caller, by slug or id; without a name it does. */
async function isOwnWorkspace({ principal, params, services }: CallerContext): Promise<boolean> {
  const { organisationId, workspaceId } = principal;
  const { workspace } = params;
  if (workspace === undefined || workspace === workspaceId) return true;
  if (workspaceId === null) return false;
  const view = await services.control.directory.workspace({ organisationId, workspaceId });
  return view?.workspace.slug === workspace;
}

/**
 * The server that a request is for.
 *
 * @throws {NotFoundError} The same for every server that the caller cannot use.
 */
async function findServer(context: CallerContext): Promise<McpServer> {
  const { principal, params, services } = context;
  if (!(await isOwnWorkspace(context))) refuseServer();
  const server = await services.mcpServers.find(principal, params.slug ?? "");
  if (!server?.isActive || !server.isOpenTo(principal.userId)) refuseServer();
  requireGrantedServer(context, server);
  await requireExternalToken(context, server);
  return server;
}

/** Refuses what is not JSON, and clients that cannot read both kinds of answer. */
function requireTypes({ headers }: CallerContext): void {
  const type = headers.get("content-type") ?? "";
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    throw new UnsupportedMediaError("Cannot read the body: send it as application/json", {
      code: "invalid_content_type",
      param: "content-type",
    });
  }
  const accept = headers.get("accept")?.toLowerCase() ?? "*/*";
  const takesBoth = accept.includes("application/json") && accept.includes("text/event-stream");
  if (takesBoth || accept.includes("*/*")) return;
  throw new RpcError(406, "Cannot answer: accept must list application/json and text/event-stream", {
    rpcCode: codes.notFound,
    code: "not_acceptable",
  });
}

/** The session of a call, opened. @throws {RpcError} 404 if it is not this caller's at this server, or too old. */
async function openSession(context: CallerContext, server: McpServer): Promise<string | undefined> {
  const sealed = context.headers.get("mcp-session-id");
  if (sealed === undefined) return undefined;
  const holder = { serverId: server.id, configDigest: await configDigestOf(server), caller: callerOf(context) };
  const opened = await context.services.mcp.sessions.open(sealed, holder);
  if (opened !== undefined) {
    if (context.log.mcp) context.log.mcp.session = (await sha256Hex(opened)).slice(0, 16);
    return opened;
  }
  throw new RpcError(404, "Cannot find the session: initialize again", {
    rpcCode: codes.sessionNotFound,
    code: "session_not_found",
  });
}

/** Puts a call together from its message. */
async function readCall(message: Message, server: McpServer, context: CallerContext): Promise<McpCall> {
  const revision = readRevision(message, context.headers.get("mcp-protocol-version"));
  const { era, version } = revision;
  const { mcp } = context.log;
  if (mcp) Object.assign(mcp, { era, ...(version !== undefined && { protocol_version: version }) });
  if (era === "modern" && message.kind === "request") requireMirrored(message, version ?? "", context.headers);
  // modern requests have no sessions, whatever their headers say
  const sessionId = era === "legacy" ? await openSession(context, server) : undefined;
  return { ...revision, context, server, message: withoutDisabledResources(message, server), sessionId };
}

/** What a stage answers a call with, so that it goes no further: the result of a tool. */
type StageResult = Record<string, unknown> | undefined;

/** A stage of a call: refuses it by an error, or answers it. */
type Stage = (call: McpCall) => void | StageResult | Promise<void> | Promise<StageResult>;

/** The stages between a valid message and its guardrails, in order. */
const stages: readonly Stage[] = [
  ({ message, server }) => requireEnabled(message, server),
  ({ message, server }) => requirePinned(message, server),
  checkArguments,
  admitTool,
];

/** Name of the client, as it says itself. */
function clientNameOf({ method, params }: Message): string | undefined {
  const info = method === "initialize" ? params.clientInfo : metaOf(params)[meta.clientInfo];
  return isObject(info) ? stringOf(info.name) : undefined;
}

/** Notes what is called, for the log row. */
function noteMessage(message: Message, server: McpServer, { log, principal }: CallerContext): void {
  const name = nameOf(message);
  const clientName = clientNameOf(message);
  log.mcp = {
    server_id: server.id,
    server: server.slug,
    method: message.kind === "response" ? "response" : message.method,
    ...(name !== undefined && { name: name.slice(0, 256) }),
    ...(message.id !== undefined && { request_id: message.id }),
    ...(principal.grant?.clientId && { client_id: principal.grant.clientId }),
    ...(clientName !== undefined && { client_name: clientName.slice(0, 128) }),
    auth_type: principal.grant ? "oauth" : principal.person === undefined ? "api_key" : "jwt",
    transport: server.transport,
  };
}

/** An answer that the gateway makes itself. */
function answerReply(answer: Readonly<Record<string, unknown>>, { log }: CallerContext): Reply {
  const body = JSON.stringify(answer);
  log.responseBody = body;
  return { status: 200, headers: { "content-type": "application/json" }, body };
}

/** Serves a message whose server is known. */
async function serveMessage(message: Message, server: McpServer, context: CallerContext): Promise<Reply> {
  noteMessage(message, server, context);
  const call = await readCall(message, server, context);
  requireGrantedScope(message, context);
  if (server.aggregate) requireEnabled(message, server);
  const local = await serveLocally(call);
  if (!local) return serveCall(call);
  if (local.kind === "result") return answerReply({ jsonrpc: "2.0", id: message.id, result: local.result }, context);
  if (local.kind === "accepted") return { status: 202, headers: {}, body: null };
  if (local.kind === "reply") return local.reply;
  noteMessage(local.call.message, local.call.server, context);
  if (context.log.mcp) Object.assign(context.log.mcp, { era: call.era, through: server.slug });
  return serveCall(local.call, local.member);
}

/** Serves a call: of a member of the server that the caller named, where it has one. */
async function serveCall(call: McpCall, member?: McpMember): Promise<Reply> {
  const { message, context } = call;
  for (const stage of stages) {
    const result = await stage(call);
    if (result) return answerReply({ jsonrpc: "2.0", id: message.id, result }, context);
  }
  const guarded = await guardCall(call);
  if (guarded.kind === "answer") return answerReply({ ...guarded.answer, id: message.id }, context);
  if (guarded.error) {
    // its sender learns of the denial whether the server takes the error or not
    await deliver(guarded.call).catch(() => {});
    throw guarded.error;
  }
  const asked = await askToConnect(guarded.call);
  if (asked) return answerReply(asked, context);
  if (member) return deliverWithoutSession(withMemberAnswers(guarded.call, member));
  return mayLackSession(call) ? deliverWithoutSession(guarded.call) : deliver(guarded.call);
}

/** Whether a client may have begun before its user had an account, so that it has no session of the server. */
function mayLackSession({ server, era, sessionId, message }: McpCall): boolean {
  const isBegun = era === "legacy" && message.kind === "request" && message.method !== "initialize";
  return isBegun && sessionId === undefined && server.settings.list_without_connection && hasUserAccounts(server);
}

/** Whether a body answers a question: its id is the server's, and no error for it may carry it. */
function isAnswer(value: unknown): boolean {
  return isObject(value) && (Object.hasOwn(value, "result") || Object.hasOwn(value, "error"));
}

/** Serves a POST to an MCP server. */
export async function serveMcp(context: CallerContext): Promise<Reply> {
  const server = await findServer(context);
  requireTypes(context);
  const { value } = await readJsonBody(context, context.services.mcp.settings.bodyBytes, context.services);
  try {
    const message = readMessage(value);
    return await serveMessage(message, server, context);
  } catch (error) {
    const { mcp } = context.log;
    const shown = answering(error, isAnswer(value) ? undefined : idIn(value));
    if (mcp && shown instanceof RpcError) mcp.rpc_code = shown.rpcCode;
    throw shown;
  }
}
