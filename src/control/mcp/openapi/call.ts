import { readBytes } from "../../../lib/body.ts";
import { isHeaderValue } from "../../../lib/headers.ts";
import { findJsonExcess, isObject, parseJson } from "../../../lib/json.ts";
import type { OutboundInit } from "../../../lib/outbound.ts";
import type { OpenapiTool } from "./tools.ts";

/** Sends a request to an address. */
export type Send = (url: string, init: OutboundInit) => Promise<Response>;

/** Arguments cannot be sent. The message is for the model. */
export class ArgumentError extends Error {
  override readonly name = "ArgumentError";
}

/** Largest answer of an API. */
const maxBytes = 1024 * 1024;

function toText(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

/** The path of an operation with its parameters: one segment each, whatever their values are. */
function fillPath({ path, parameters }: OpenapiTool, given: Readonly<Record<string, unknown>>): string {
  return path.replace(/\{([^{}/]+)\}/g, (_, name: string) => {
    const parameter = parameters.find((one) => one.place === "path" && one.name === name);
    const value = parameter && Object.hasOwn(given, parameter.argument) ? given[parameter.argument] : undefined;
    const text = value === undefined || value === null ? "" : toText(value);
    if (text === "" || text === "." || text === "..") throw new ArgumentError(`${name} must be a text for the path`);
    return encodeURIComponent(text);
  });
}

/** Names and values of arguments for one place. */
function argumentsFor(
  { parameters }: OpenapiTool,
  place: "query" | "header",
  given: Readonly<Record<string, unknown>>,
): [name: string, value: string][] {
  return parameters.flatMap(({ argument, name, place: own }): [string, string][] => {
    const value = own === place && Object.hasOwn(given, argument) ? given[argument] : undefined;
    if (value === undefined || value === null) return [];
    const values = Array.isArray(value) && place === "query" ? value : [value];
    return values.map((one) => [name, toText(one)]);
  });
}

/** The body of a request; undefined without one. */
function bodyOf({ body }: OpenapiTool, given: Readonly<Record<string, unknown>>): unknown {
  if (!body) return undefined;
  if (body.kind === "whole") return Object.hasOwn(given, "body") ? given.body : undefined;
  const members = [...body.names].filter(([argument]) => Object.hasOwn(given, argument));
  return members.length === 0
    ? undefined
    : Object.fromEntries(members.map(([argument, name]) => [name, given[argument]]));
}

/** The address of a call: below the base of the integration, which alone decides on the host. */
function addressOf(tool: OpenapiTool, base: string, given: Readonly<Record<string, unknown>>): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${fillPath(tool, given)}`;
  for (const [name, value] of argumentsFor(tool, "query", given)) url.searchParams.append(name, value);
  return url.href;
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
  const isJson = /^application\/(?:[\w.+-]+\+)?json\b/i.test(type) && findJsonExcess(bytes) === undefined;
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
  given: Readonly<Record<string, unknown>>,
  { base, send, init }: { base: string; send: Send; init: Pick<OutboundInit, "headers" | "signal"> },
): Promise<Record<string, unknown>> {
  const body = bodyOf(tool, given);
  const headers: Record<string, string> = {};
  for (const [name, value] of argumentsFor(tool, "header", given)) {
    if (!isHeaderValue(value)) throw new ArgumentError(`${name} must not contain control characters`);
    headers[name.toLowerCase()] = value;
  }
  const response = await send(addressOf(tool, base, given), {
    method: tool.method,
    // headers of the integration win over arguments
    headers: {
      ...headers,
      ...init.headers,
      accept: "application/json, */*;q=0.5",
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    origin: "influenced",
    ...(init.signal && { signal: init.signal }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return toResult(response);
}
