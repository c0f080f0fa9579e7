import { RpcError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { type Exchange, UnusableAnswerError } from "../exchange.ts";
import type { McpCall } from "../mcp-call.ts";
import { codes } from "../protocol.ts";

/** Errors that only servers of the newest revisions send. */
const modernOnly: ReadonlySet<unknown> = new Set([
  codes.headerMismatch,
  codes.missingCapability,
  codes.unsupportedVersion,
]);
/** Statuses that say nothing about the revision. */
const neutral: ReadonlySet<number> = new Set([401, 403, 407, 408, 413, 429]);

/** Status and code of a refusal; undefined for anything else. */
function refusalIn(outcome: Exchange | RpcError): { status: number; code: unknown } | undefined {
  if (outcome instanceof UnusableAnswerError) return { status: outcome.upstreamStatus, code: undefined };
  if (outcome instanceof RpcError || outcome.kind !== "json") return undefined;
  const { status, value } = outcome.answer;
  return isObject(value.error) ? { status, code: value.error.code } : undefined;
}

const isCallerError = (status: number) => status >= 400 && status <= 499 && !neutral.has(status);

/** Whether a modern request met a server that only speaks older revisions (Model Context Protocol 2026-07-28, versioning). */
export function isModernMisfit({ message }: McpCall, outcome: Exchange | RpcError): boolean {
  const refusal = refusalIn(outcome);
  if (!refusal || message.kind !== "request") return false;
  const { status, code } = refusal;
  if (message.method === "server/discover" && !modernOnly.has(code)) {
    // every modern server has this method
    return isCallerError(status) || code === codes.methodNotFound || code === codes.invalidParams;
  }
  if (!isCallerError(status) || modernOnly.has(code)) return false;
  const isModern = (status === 404 && code === codes.methodNotFound) || code === codes.invalidParams;
  return !isModern;
}

/** Whether a legacy request met a server that only speaks the newest revisions. */
export function isLegacyMisfit({ message, sessionId }: McpCall, outcome: Exchange | RpcError): boolean {
  const refusal = refusalIn(outcome);
  if (!refusal || message.kind !== "request") return false;
  const { status, code } = refusal;
  if (modernOnly.has(code)) return true;
  if (!isCallerError(status)) return message.method === "initialize" && code === codes.methodNotFound;
  if (message.method === "initialize") return code === codes.methodNotFound || code === codes.invalidParams;
  return sessionId === undefined && status === 400 && code === codes.invalidParams;
}
