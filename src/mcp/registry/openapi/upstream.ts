import { Budget } from "../../../lib/budget.ts";
import { isObject, parseJson, stringOf } from "../../../lib/json.ts";
import type { OutboundInit } from "../../../lib/outbound.ts";
import { ArgumentError } from "./argument-error.ts";
import { callOperation, type Send } from "./call.ts";
import { DocumentReader } from "./schemas.ts";
import { type OpenapiTool, type OpenapiTools, readOpenapiTools } from "./tools.ts";

type Value = Readonly<Record<string, unknown>>;

/** A server that is made from an OpenAPI document: it answers requests as an MCP server does, in all revisions. */
export interface OpenapiUpstream {
  /** Answers a request of the protocol. */
  answer(init: OutboundInit, send: Send): Promise<Response>;
  /** Operations of the document that are no tools, with the reason; the first of them. */
  leftOut(): Promise<readonly string[]>;
}

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

function refusal(id: unknown, status: number, error: { code: number; message: string }): Response {
  return reply(status, id, { error });
}

const metaKey = (name: string) => `io.modelcontextprotocol/${name}`;
/** What lists and descriptions of the newest revision have: they may be asked for again at once. */
const cacheable = { resultType: "complete", ttlMs: 0, cacheScope: "private" };

/** Characters of the tools on one page of the list. */
const pageLetters = 1024 * 1024;

/** What a document says, as far as servers use it. */
interface ReadDocument extends OpenapiTools {
  readonly serverInfo: Value;
  readonly about: Value;
}

/** Characters that are read of one document, and that its tools may have; steps of making them, a second at most. */
const bounds = { bytes: 4 * 1024 * 1024, steps: 16 * 1024 * 1024 };

/** Reads a document, in pieces between which others have a turn. */
async function readDocument(text: string): Promise<ReadDocument> {
  const what = "the OpenAPI document";
  const parsed = new Budget({ source: "caller", what, ...bounds }).json(text);
  const document: Value = isObject(parsed) ? parsed : {};
  const budget = new Budget({ source: "caller", what, ...bounds });
  const tools = await budget.run(readOpenapiTools(new DocumentReader(document, budget), document));
  const info = isObject(document.info) ? document.info : {};
  const serverInfo = {
    name: (stringOf(info.title) ?? "openapi").slice(0, 255),
    version: (stringOf(info.version) ?? "0.0.0").slice(0, 64),
  };
  const about = {
    capabilities: { tools: {} },
    ...(typeof info.description === "string" && { instructions: info.description.slice(0, 4_096) }),
  };
  return { ...tools, serverInfo, about };
}

/** A page of the list of tools; undefined for a cursor of another list. */
function listTools({ byName }: ReadDocument, cursor: unknown): Value | undefined {
  const all = [...byName.values()];
  const start = cursor === undefined ? 0 : Number(stringOf(cursor) || Number.NaN);
  if (!Number.isSafeInteger(start) || start < 0 || start > all.length) return undefined;
  let letters = 0;
  const rest = all.slice(start);
  const count = rest.findIndex((tool) => {
    letters += tool.letters;
    return letters > pageLetters;
  });
  const page = count < 0 ? rest : rest.slice(0, Math.max(1, count));
  const next = start + page.length;
  const more = next < all.length ? { nextCursor: String(next) } : {};
  return { ...cacheable, tools: page.map(({ definition }) => definition), ...more };
}

/** The result of a request that is no call of a tool; undefined for unknown methods, null for wrong parameters. */
function describe(document: ReadDocument, method: unknown, params: Value): Value | undefined | null {
  const { about, serverInfo } = document;
  switch (method) {
    case "server/discover":
      return { ...cacheable, ...about, supportedVersions: [newest], _meta: { [metaKey("serverInfo")]: serverInfo } };
    case "initialize":
      return { ...about, protocolVersion: stringOf(params.protocolVersion) ?? "2025-11-25", serverInfo };
    case "tools/list":
      return listTools(document, params.cursor) ?? null;
    case "ping":
      return {};
    default:
      return undefined;
  }
}

/** Calls a tool; arguments that cannot be sent are a result for the model. */
async function callTool(
  tool: OpenapiTool,
  { given, base, init, send }: { given: Value; base: string; init: OutboundInit; send: Send },
): Promise<Value> {
  try {
    const headers = operationHeaders(init.headers);
    const part = { headers, ...(init.signal && { signal: init.signal }) };
    return await callOperation(tool, given, { base, send, init: part });
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    return { content: [{ type: "text", text: error.message }], isError: true };
  }
}

/** Creates the server of a document. */
export function createOpenapiUpstream(base: string, text: string): OpenapiUpstream {
  let reading: Promise<ReadDocument> | undefined;
  // a document is read when it is first used
  const read = () => {
    reading ??= readDocument(text);
    return reading;
  };
  const answer = async (init: OutboundInit, send: Send): Promise<Response> => {
    const message = typeof init.body === "string" ? parseJson(init.body) : undefined;
    if (init.method !== "POST" || !isObject(message)) return new Response(null, { status: 405 });
    const { id, method } = message;
    const params = isObject(message.params) ? message.params : {};
    if (id === undefined || method === undefined) return new Response(null, { status: 202 });
    const isModern = isObject(params._meta) && params._meta[metaKey("protocolVersion")] !== undefined;
    const document = await read();
    if (method === "tools/call") {
      const tool = document.byName.get(stringOf(params.name) ?? "");
      if (!tool) return refusal(id, 200, { code: invalidParams, message: "There is no such tool" });
      const given = isObject(params.arguments) ? params.arguments : {};
      const result = await callTool(tool, { given, base, init, send });
      return reply(200, id, { result: isModern ? { resultType: "complete", ...result } : result });
    }
    const result = describe(document, method, params);
    if (result) return reply(200, id, { result: isModern ? result : withoutHints(result) });
    if (result === null) return refusal(id, 200, { code: invalidParams, message: "There is no such page" });
    return refusal(id, isModern ? 404 : 200, { code: methodNotFound, message: "There is no such method" });
  };
  return { answer, leftOut: async () => (await read()).leftOut };
}

/** A result as the older revisions have it. */
function withoutHints({ resultType: _, ttlMs: __, cacheScope: ___, ...result }: Value): Value {
  return result;
}
