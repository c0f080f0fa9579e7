import { createOwnRequest, headersOfTrace } from "../../context/own-request.ts";
import type { CallerContext, ConnectionInfo } from "../../context.ts";
import { readOfferedTools } from "../../guardrails/offered-tools.ts";
import { readBytes } from "../../lib/body.ts";
import { createStreamBudget } from "../../lib/budget.ts";
import { toHeaderText } from "../../lib/header-text.ts";
import { isHeaderValue } from "../../lib/headers.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { eventsWithin, readEvents } from "../../lib/sse.ts";
import type { RoundForm } from "./tool-rounds.ts";

type Item = Readonly<Record<string, unknown>>;

/** The beta that lets models use MCP servers of the workspace. */
export const toolsBeta = "server-side-mcp-2026-06-01";
/** Bytes of the answer of a tool or a search. */
const maxAnswerBytes = 5 * 1024 * 1024;

const connectionNames: ReadonlySet<string> = new Set([
  "authorization",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "accept",
  "accept-encoding",
  "cookie",
  "host",
  "origin",
  "transfer-encoding",
  "mcp-session-id",
]);

/** Headers of the caller for requests of the gateway in its name: neither its key nor what belongs to its connection. */
function ownHeaders({ headers, gatewayKey, traceId, services }: CallerContext): Record<string, string> {
  const given = Object.entries(headers.values()).filter(
    ([name, value]) => !connectionNames.has(name) && !value.includes(gatewayKey) && isHeaderValue(value),
  );
  const beta = (name: string) => services.headerPrefixes.some((prefix) => name === `${prefix}beta`);
  const kept = given.map(([name, value]): [string, string] => {
    const rest = value.split(",").filter((one) => one.trim() !== toolsBeta);
    return [name, beta(name) ? rest.join(",") : value];
  });
  return { ...Object.fromEntries(kept.filter(([, value]) => value !== "")), "x-gateway-trace-id": traceId };
}

/** The provider's credential of a request, for its rounds. */
function credentialOf({ providerCredential, providerAuthorization }: CallerContext): Record<string, string> {
  const authorization =
    providerAuthorization ?? (providerCredential === undefined ? undefined : `Bearer ${providerCredential}`);
  return authorization === undefined ? {} : { authorization };
}

/** Sends a request of the gateway in the name of the caller. */
function sendOwn(
  path: string,
  init: { headers: Readonly<Record<string, string>>; body: string },
  context: CallerContext,
  rules: Pick<ConnectionInfo, "ignoresConfig" | "outer"> = {},
): Promise<Response> {
  const { services, principal, request, connection } = context;
  const own: ConnectionInfo = {
    ...rules,
    actingFor: principal,
    ...(connection.remoteAddress !== undefined && { remoteAddress: connection.remoteAddress }),
  };
  const headers = { ...init.headers, "content-type": "application/json" };
  return services.handle(
    createOwnRequest(path, { method: "POST", headers, body: init.body, signal: request.signal }),
    own,
  );
}

/** Names of functions that a body offers. */
function functionsIn(body: object): Set<string> {
  const offered = [...readOfferedTools({ tools: Reflect.get(body, "tools") })];
  return new Set(offered.flatMap((tool) => (tool?.type === "function" ? [tool.name] : [])));
}

/** Makes the next round of a request at its model. The round leaves a separate row, and counts in limits. */
export function askModel(form: RoundForm, isStreamed: boolean, context: CallerContext): Promise<Response> {
  const body = { ...form.next(), stream: isStreamed };
  const given = functionsIn(form.request);
  const functions = new Set([...functionsIn(body)].filter((name) => !given.has(name)));
  const headers = { ...ownHeaders(context), ...credentialOf(context) };
  const text = JSON.stringify(body);
  const init = { headers, body: context.numbers?.restore(text) ?? text };
  const outer = { record: context.log, body: form.request, functions };
  return sendOwn(form.path(isStreamed), init, context, { outer });
}

/** The JSON-RPC answer in a response: of a stream its last message. */
async function readAnswer(response: Response): Promise<Item> {
  const endless = Number.POSITIVE_INFINITY;
  const bytes = await readBytes(response, { bytes: maxAnswerBytes, totalMs: endless, silenceMs: endless });
  const text = new TextDecoder().decode(bytes);
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  let last = isStream ? undefined : parseJson(text);
  // the address of the server has bounded the messages already
  const budget = createStreamBudget("the answer of a tool");
  for await (const { data } of eventsWithin(isStream ? text : "", budget, readEvents)) {
    const value = parseJson(data);
    if (isObject(value) && (value.result !== undefined || value.error !== undefined)) last = value;
  }
  return isObject(last) ? last : {};
}

const protocol = "2026-07-28";
const metadata = {
  "io.modelcontextprotocol/protocolVersion": protocol,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "ai-gateway", version: "1" },
};

/** Calls a method of an MCP server as its address would: with the caller's rights, limits, guardrails and log row. */
export async function callServer(
  slug: string,
  { method, params }: { method: string; params: Item },
  context: CallerContext,
): Promise<{ status: number; answer: Item }> {
  const headers = {
    ...ownHeaders(context),
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": protocol,
    "mcp-method": method,
    ...(typeof params.name === "string" && { "mcp-name": toHeaderText(params.name) }),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: metadata } });
  const response = await sendOwn(`/m/${encodeURIComponent(slug)}/mcp`, { headers, body }, context);
  return { status: response.status, answer: await readAnswer(response) };
}

/** Headers of a search of the gateway: the caller's metadata and trace, without its config and provider. */
function searchHeaders(context: CallerContext): Record<string, string> {
  const metadata = context.header("metadata");
  return {
    ...headersOfTrace(context),
    ...(metadata !== null && isHeaderValue(metadata) && { "x-gateway-metadata": metadata }),
  };
}

/**
 * Calls `POST /search` in the name of the caller, without its config and provider: with its rights, limits and log row.
 *
 * @throws If its answer is too large, or the caller left.
 */
export async function callSearch(
  body: Item,
  timeoutMs: number,
  context: CallerContext,
): Promise<{ status: number; answer: Item }> {
  const headers = { ...searchHeaders(context), "x-gateway-request-timeout": String(timeoutMs) };
  const init = { headers, body: JSON.stringify(body) };
  const response = await sendOwn("/v1/search", init, context, { ignoresConfig: true });
  return { status: response.status, answer: await readAnswer(response) };
}

/**
 * Searches a vector store of the gateway as its address would: with the caller's rights, limits, guardrails and log row.
 *
 * @throws If its answer is too large, or the caller left.
 */
export async function callStore(
  id: string,
  body: Item,
  context: CallerContext,
): Promise<{ status: number; answer: Item }> {
  const init = { headers: searchHeaders(context), body: JSON.stringify(body) };
  const path = `/v1/vector_stores/${encodeURIComponent(id)}/search`;
  const response = await sendOwn(path, init, context, { ignoresConfig: true });
  return { status: response.status, answer: await readAnswer(response) };
}

/**
 * Answers a saved prompt as its address would: with the caller's rights, limits, guardrails and log row. A prompt without a
 * provider goes where the request goes.
 *
 * @throws If its answer is too large, or the caller left.
 */
export async function callPrompt(
  { reference, hasProvider }: { readonly reference: string; readonly hasProvider: boolean },
  body: Item,
  context: CallerContext,
): Promise<{ status: number; answer: Item }> {
  const headers = hasProvider ? searchHeaders(context) : { ...ownHeaders(context), ...credentialOf(context) };
  const path = `/v1/prompts/${encodeURIComponent(reference)}/completions`;
  const response = await sendOwn(path, { headers, body: JSON.stringify(body) }, context);
  return { status: response.status, answer: await readAnswer(response) };
}
