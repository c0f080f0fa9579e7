import { isObject, parseJson, stringOf } from "../../../lib/json.ts";
import type { OutboundInit } from "../../../lib/outbound.ts";
import { ArgumentError, callOperation, type Send } from "./call.ts";
import { type OpenapiTool, readOpenapiTools } from "./tools.ts";

type Value = Readonly<Record<string, unknown>>;

/** A server that is made from an OpenAPI document: it answers requests as an MCP server does, in all revisions. */
export type OpenapiUpstream = (init: OutboundInit, send: Send) => Promise<Response>;

const newest = "2026-07-28";
const methodNotFound = -32_601;
const invalidParams = -32_602;

/** Headers of the protocol, and those that the call writes itself. */
const own = new Set(["content-type", "accept", "content-length", "last-event-id"]);

/** Headers of a call that its operation gets. */
function operationHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith("mcp-") && !own.has(name)));
}

function reply(status: number, id: unknown, outcome: Value): Response {
  return Response.json({ jsonrpc: "2.0", id, ...outcome }, { status });
}

function refuse(id: unknown, status: number, error: { code: number; message: string }): Response {
  return reply(status, id, { error });
}

const metaKey = (name: string) => `io.modelcontextprotocol/${name}`;
/** What lists and descriptions of the newest revision have: they may be asked for again at once. */
const cacheable = { resultType: "complete", ttlMs: 0, cacheScope: "private" };

/** Creates the server of a document. */
export function createOpenapiUpstream(base: string, text: string): OpenapiUpstream {
  const parsed = parseJson(text);
  const document: Value = isObject(parsed) ? parsed : {};
  const info = isObject(document.info) ? document.info : {};
  let tools: ReadonlyMap<string, OpenapiTool> | undefined;
  // a document is read when it is first used
  const all = () => {
    tools ??= readOpenapiTools(document);
    return tools;
  };
  const serverInfo = {
    name: (stringOf(info.title) ?? "openapi").slice(0, 255),
    version: (stringOf(info.version) ?? "0.0.0").slice(0, 64),
  };
  const about = {
    capabilities: { tools: {} },
    ...(typeof info.description === "string" && { instructions: info.description.slice(0, 4_096) }),
  };
  const callTool = async (params: Value, init: OutboundInit, send: Send) => {
    const tool = all().get(stringOf(params.name) ?? "");
    if (!tool) return undefined;
    const given = isObject(params.arguments) ? params.arguments : {};
    try {
      const headers = operationHeaders(init.headers);
      const part = { headers, ...(init.signal && { signal: init.signal }) };
      return await callOperation(tool, given, { base, send, init: part });
    } catch (error) {
      if (!(error instanceof ArgumentError)) throw error;
      return { content: [{ type: "text", text: error.message }], isError: true };
    }
  };
  /** The result of a request that is no call of a tool; undefined for unknown methods. */
  const answer = (method: unknown, params: Value): Value | undefined => {
    switch (method) {
      case "server/discover":
        return { ...cacheable, ...about, supportedVersions: [newest], _meta: { [metaKey("serverInfo")]: serverInfo } };
      case "initialize":
        return { ...about, protocolVersion: stringOf(params.protocolVersion) ?? "2025-11-25", serverInfo };
      case "tools/list":
        return { ...cacheable, tools: [...all().values()].map(({ definition }) => definition) };
      case "ping":
        return {};
      default:
        return undefined;
    }
  };
  return async (init, send) => {
    const message = typeof init.body === "string" ? parseJson(init.body) : undefined;
    if (init.method !== "POST" || !isObject(message)) return new Response(null, { status: 405 });
    const { id, method } = message;
    const params = isObject(message.params) ? message.params : {};
    if (id === undefined || method === undefined) return new Response(null, { status: 202 });
    const isModern = isObject(params._meta) && params._meta[metaKey("protocolVersion")] !== undefined;
    if (method === "tools/call") {
      const result = await callTool(params, init, send);
      if (!result) return refuse(id, 200, { code: invalidParams, message: "There is no such tool" });
      return reply(200, id, { result: isModern ? { resultType: "complete", ...result } : result });
    }
    const result = answer(method, params);
    if (result) return reply(200, id, { result: isModern ? result : withoutHints(result) });
    return refuse(id, isModern ? 404 : 200, { code: methodNotFound, message: "There is no such method" });
  };
}

/** A result as the older revisions have it. */
function withoutHints({ resultType: _, ttlMs: __, cacheScope: ___, ...result }: Value): Value {
  return result;
}
