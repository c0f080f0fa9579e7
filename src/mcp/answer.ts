import { RpcError } from "../errors.ts";
import { readBytes } from "../lib/body.ts";
import { type ExactValue, parseExactBytes } from "../lib/exact-numbers.ts";
import { isObject } from "../lib/json.ts";
import type { Attempt } from "../upstream/attempt.ts";
import { filterList } from "./capabilities.ts";
import { refuseBinary } from "./guard.ts";
import { countResult } from "./limits.ts";
import type { McpCall } from "./mcp-call.ts";
import { pinList } from "./pins.ts";
import { modernVersions } from "./protocol.ts";
import { toUpstreamId, withClientSubscription } from "./request-ids.ts";
import { upstreamError } from "./upstream.ts";

/** Where the result of a method may be larger than that of a call. */
const longResults = new Set([
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "server/discover",
  "initialize",
]);

/** Most bytes of the result of a call. */
export function resultLimit({ message, context }: McpCall): number {
  const { listBytes, resultBytes } = context.services.mcp.settings;
  return longResults.has(message.method) ? listBytes : resultBytes;
}

/** A message of a JSON-RPC peer; undefined for anything else. */
export function readAnswerMessage(bytes: Uint8Array): { value: Record<string, unknown>; json: ExactValue } | undefined {
  let json: ExactValue;
  try {
    json = parseExactBytes(bytes);
  } catch {
    return undefined;
  }
  const { value } = json;
  return isObject(value) && value.jsonrpc === "2.0" ? { value, json } : undefined;
}

/** Whether a message answers a request: an error may lack the id of what could not be read. */
export function isAnswerTo({ message, upstreamId }: McpCall, value: Readonly<Record<string, unknown>>): boolean {
  if (value.method !== undefined || message.id === undefined) return false;
  const isError = isObject(value.error);
  if (!isError && !Object.hasOwn(value, "result")) return false;
  const { id } = value;
  return id === (upstreamId ?? toUpstreamId(message.id)) || (isError && (id === null || id === undefined));
}

/** The revisions that both the gateway and a server have, as clients may choose among them. */
function commonVersions(listed: unknown): string[] {
  const theirs = Array.isArray(listed) ? listed : [];
  return modernVersions.filter((version) => theirs.includes(version));
}

/** A result as the caller may see it. */
function shownResult(call: McpCall, result: Record<string, unknown>): Record<string, unknown> {
  const { message, server, era, context } = call;
  if (message.method === "server/discover" && Array.isArray(result.supportedVersions)) {
    return { ...result, supportedVersions: commonVersions(result.supportedVersions) };
  }
  const filtered = filterList(message, result, { server, isModern: era === "modern" });
  if (!filtered) return result;
  if (filtered.unusable.length > 0 && context.log.mcp) context.log.mcp.unusable_tools = [...filtered.unusable];
  return pinList(call, filtered.result);
}

/** Notes how a request was answered. */
function noteOutcome({ context }: McpCall, value: Readonly<Record<string, unknown>>): void {
  const { mcp } = context.log;
  if (!mcp) return;
  if (isObject(value.error) && typeof value.error.code === "number") mcp.rpc_code = value.error.code;
  if (isObject(value.result) && value.result.isError === true) mcp.is_error = true;
}

/** The answer of an upstream as the caller sees it: with the caller's id, and without what is switched off. */
function toClientAnswer(call: McpCall, value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  noteOutcome(call, value);
  const answer: Record<string, unknown> = { ...value, id: call.message.id ?? null };
  if (isObject(value.result)) answer.result = withClientSubscription(shownResult(call, value.result));
  return answer;
}

/** The answer as `toClientAnswer` makes it, once the guardrails of the call have seen it. */
export async function toJudgedAnswer(
  call: McpCall,
  value: Readonly<Record<string, unknown>>,
  { numbers }: ExactValue,
): Promise<Record<string, unknown>> {
  const answer = toClientAnswer(call, value);
  refuseBinary(call, answer);
  return call.judge ? await call.judge(answer, numbers) : answer;
}

/** A JSON answer of an upstream, read whole. */
export interface JsonAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly value: Record<string, unknown>;
  readonly json: ExactValue;
}

/**
 * Reads a JSON answer.
 *
 * @throws {RpcError} 502 if it is too large or not the answer to this request.
 */
export async function readJsonAnswer(call: McpCall, response: Response, attempt: Attempt): Promise<JsonAnswer> {
  const bytes = await readBytes(response, {
    bytes: resultLimit(call),
    totalMs: Number.POSITIVE_INFINITY,
    silenceMs: Number.POSITIVE_INFINITY,
  });
  if (attempt.endedBy !== undefined) throw upstreamError(504, "Cannot finish the call: it took too long");
  countResult(call, bytes.length);
  const read = readAnswerMessage(bytes);
  if (!read || !isAnswerTo(call, read.value)) {
    throw upstreamError(
      502,
      `Cannot use the answer of the server: it does not answer this request (${response.status})`,
    );
  }
  return { status: response.status, headers: response.headers, ...read };
}

/** Whether a response has an event stream. */
export function isEventStream({ headers }: Response): boolean {
  return /^text\/event-stream\s*(?:;|$)/i.test(headers.get("content-type") ?? "");
}

/** Refuses statuses that callers must never see. @throws {RpcError} 502. */
export function requireUsable({ status }: Response): void {
  if (status >= 300 && status <= 399) {
    throw upstreamError(502, "Cannot use the answer of the server: it redirects, and redirects are not followed");
  }
  if (status !== 401 && status !== 403 && status !== 407) return;
  throw new RpcError(502, "Cannot call the server: it refuses the credential of the gateway", {
    rpcCode: -32603,
    code: "upstream_unauthorized",
    data: { type: "upstream_unauthorized", status },
  });
}
