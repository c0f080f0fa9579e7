import { RpcError } from "../errors.ts";
import { fromHeaderText, toHeaderText } from "../lib/header-text.ts";
import type { HeaderMap } from "../lib/headers.ts";
import { isObject } from "../lib/json.ts";
import type { Message } from "./message.ts";
import { codes, namedBy } from "./protocol.ts";
import type { Era } from "./registry/mcp-state.ts";

/** The name that `Mcp-Name` repeats; undefined where the method has none. */
export function nameOf({ method, params }: Pick<Message, "method" | "params">): string | undefined {
  const member = Object.hasOwn(namedBy, method) ? namedBy[method] : undefined;
  const name = member && params[member];
  return typeof name === "string" ? name : undefined;
}

function refuse(header: string, problem: string): never {
  throw new RpcError(400, `Cannot serve the request: the header ${header} ${problem}`, {
    rpcCode: codes.headerMismatch,
    code: "header_mismatch",
  });
}

function requireEqual(headers: HeaderMap, header: string, wanted: string): void {
  const value = headers.get(header.toLowerCase());
  if (value === undefined) refuse(header, "is missing");
  const read = fromHeaderText(value);
  if (read === undefined) refuse(header, "is malformed");
  if (read !== wanted) refuse(header, "differs from the body");
}

/**
 * Compares the headers of a modern request with the body that they repeat.
 *
 * @throws {RpcError} 400, code -32020.
 */
export function requireMirrored(message: Message, version: string, headers: HeaderMap): void {
  requireEqual(headers, "MCP-Protocol-Version", version);
  requireEqual(headers, "Mcp-Method", message.method);
  const name = nameOf(message);
  if (name !== undefined) requireEqual(headers, "Mcp-Name", name);
}

/** Headers of the protocol that go upstream, written anew from the message. */
export function protocolHeaders(
  message: Message,
  { era, version }: { era: Era; version: string | undefined },
): Record<string, string> {
  const written: Record<string, string> = {};
  if (version !== undefined && message.method !== "initialize") written["mcp-protocol-version"] = version;
  if (era === "legacy") return written;
  written["mcp-method"] = toHeaderText(message.method);
  const name = nameOf(message);
  if (name !== undefined) written["mcp-name"] = toHeaderText(name);
  return written;
}

/** Plain values of arguments at any depth, each with what stands in its place in other arguments. */
function pairValues(before: unknown, now: unknown, found: Map<string, string>): void {
  if (Array.isArray(before)) {
    for (const [index, one] of before.entries()) pairValues(one, Array.isArray(now) ? now[index] : undefined, found);
  } else if (isObject(before)) {
    for (const [name, one] of Object.entries(before)) pairValues(one, isObject(now) ? now[name] : undefined, found);
  } else if (before !== null && now !== null && now !== undefined) found.set(String(before), String(now));
}

/**
 * Headers that repeat arguments, written anew for changed ones. A header that repeats none of them is left out: guardrails
 * have not seen its value.
 */
export function renewArgumentHeaders(
  headers: readonly (readonly [name: string, value: string])[],
  before: unknown,
  now: unknown,
): [string, string][] {
  const values = new Map<string, string>();
  pairValues(before, now, values);
  return headers.flatMap(([name, value]): [string, string][] => {
    const renewed = values.get(fromHeaderText(value) ?? "");
    return renewed === undefined ? [] : [[name, toHeaderText(renewed)]];
  });
}
