import { readBytes } from "../../../lib/body.ts";
import { isHeaderValue } from "../../../lib/headers.ts";
import { findJsonExcess, isObject, parseJson } from "../../../lib/json.ts";
import type { OutboundInit } from "../../../lib/outbound.ts";
import { ArgumentError } from "./argument-error.ts";
import { writeBody } from "./body-writer.ts";
import { isJsonType, type Place } from "./parameters.ts";
import { escapeQuery, hasDotSegments, writePairs, writePath, writeSimple } from "./styles.ts";
import type { OpenapiTool, ToolParameter } from "./tools.ts";

/** Sends a request to an address. */
export type Send = (url: string, init: OutboundInit) => Promise<Response>;

type Arguments = Readonly<Record<string, unknown>>;

/** Largest answer of an API. */
const maxBytes = 1024 * 1024;

/** Parameters of a place with the values of their arguments; those without a value are left out. */
function valuesFor({ parameters }: OpenapiTool, place: Place, given: Arguments): [ToolParameter, unknown][] {
  return parameters.flatMap((parameter): [ToolParameter, unknown][] => {
    const { argument, place: own, isJson } = parameter;
    const value = own === place && Object.hasOwn(given, argument) ? given[argument] : undefined;
    if (value === undefined || value === null) return [];
    return [[parameter, isJson ? JSON.stringify(value) : value]];
  });
}

/** The path of an operation with its parameters, which stay within their segments. */
function fillPath(tool: OpenapiTool, given: Arguments): string {
  const values = new Map(valuesFor(tool, "path", given).map(([one, value]) => [one.name, { one, value }]));
  const path = tool.path.replace(/\{([^{}/]+)\}/g, (_, name: string) => {
    const found = values.get(name);
    const text = found ? writePath(name, found.value, found.one) : "";
    if (text === "") throw new ArgumentError(`${name} must be a text for the path`);
    return text;
  });
  if (hasDotSegments(path)) {
    throw new ArgumentError("the values for the path must not be dots alone");
  }
  return path;
}

/** The address of a call: below the base of the integration, which alone decides on the host. */
function addressOf(tool: OpenapiTool, base: string, given: Arguments): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${fillPath(tool, given)}`;
  const pairs = valuesFor(tool, "query", given).flatMap(([parameter, value]) =>
    writePairs(parameter.name, value, parameter, (text) => escapeQuery(text, parameter.allowReserved)),
  );
  url.search = pairs.join("&");
  return url.href;
}

/** Headers that arguments become. */
function headersOf(tool: OpenapiTool, given: Arguments): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [{ name, explode }, value] of valuesFor(tool, "header", given)) {
    const text = writeSimple(value, explode, (plain) => plain);
    if (!isHeaderValue(text)) throw new ArgumentError(`${name} must not contain control characters`);
    headers[name.toLowerCase()] = text;
  }
  return headers;
}

/** The header with the cookies that arguments become. */
function cookieOf(tool: OpenapiTool, given: Arguments): { cookie?: string } {
  const pairs = valuesFor(tool, "cookie", given).flatMap(([parameter, value]) =>
    writePairs(parameter.name, value, parameter, encodeURIComponent),
  );
  return pairs.length > 0 ? { cookie: pairs.join("; ") } : {};
}

/** @throws {ArgumentError} For arguments that go nowhere. */
function refuseUnknown({ parameters, body }: OpenapiTool, given: Arguments): void {
  if (body?.isOpen) return;
  const known = new Set([...parameters.map(({ argument }) => argument), ...(body?.names?.keys() ?? ["body"])]);
  if (!body) known.delete("body");
  const unknown = Object.keys(given).find((name) => !known.has(name));
  if (unknown !== undefined) throw new ArgumentError(`${unknown.slice(0, 256)} is not an argument of this tool`);
}

/** The result of a tool for the answer of an API. */
async function toResult(response: Response): Promise<Record<string, unknown>> {
  const { status } = response;
  const bytes = await readBytes(response, {
    bytes: maxBytes,
    totalMs: Number.POSITIVE_INFINITY,
    silenceMs: Number.POSITIVE_INFINITY,
  });
  const type = response.headers.get("content-type") ?? "";
  const isJson = isJsonType(type) && findJsonExcess(bytes) === undefined;
  const isText = isJson || /^text\/|xml|javascript|urlencoded/i.test(type) || bytes.length === 0;
  const text = isText
    ? new TextDecoder().decode(bytes)
    : `${bytes.length} bytes of ${type.slice(0, 128) || "unknown type"}`;
  const value = isJson ? parseJson(text) : undefined;
  const isError = status >= 400 || status < 200 || (status >= 300 && status <= 399);
  // clients of older revisions take objects alone
  const structured =
    value === undefined || isError ? {} : { structuredContent: isObject(value) ? value : { result: value } };
  const shown = isError ? `The API answered ${status}: ${text}` : text;
  return { content: [{ type: "text", text: shown }], ...structured, ...(isError && { isError: true }) };
}

/**
 * Calls an operation.
 *
 * @param init Its headers, and what ends it.
 * @throws {ArgumentError} If the arguments cannot be sent.
 */
export async function callOperation(
  tool: OpenapiTool,
  given: Arguments,
  { base, send, init }: { base: string; send: Send; init: Pick<OutboundInit, "headers" | "signal"> },
): Promise<Record<string, unknown>> {
  refuseUnknown(tool, given);
  const body = writeBody(tool, given);
  const response = await send(addressOf(tool, base, given), {
    method: tool.method,
    // headers of the integration win over arguments
    headers: {
      ...headersOf(tool, given),
      ...cookieOf(tool, given),
      ...init.headers,
      accept: "application/json, */*;q=0.5",
      ...(body && { "content-type": body.type }),
    },
    origin: "influenced",
    ...(init.signal && { signal: init.signal }),
    ...(body && { body: body.content }),
  });
  return toResult(response);
}
