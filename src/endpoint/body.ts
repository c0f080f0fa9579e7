import * as v from "valibot";
import { reserveBody } from "../context/held-bodies.ts";
import type { RequestContext, Services } from "../context.ts";
import type { FormBody, FormEndpoint, JsonBody } from "../endpoint.ts";
import {
  BodyTooLargeError,
  InvalidRequestError,
  TimeoutError,
  UnavailableError,
  UnsupportedMediaError,
} from "../errors.ts";
import { type BodyBounds, BodyError, inflate, readBytes, receiveTimes, uploadTimes } from "../lib/body.ts";
import { hasLongDigits, pathOfNumber, shelterNumbers } from "../lib/exact-numbers.ts";
import { readFields } from "../lib/form.ts";
import { firstPlainIssue } from "../lib/issues.ts";
import { bodyLimits, decodeUtf8, isObject, scanJson } from "../lib/json.ts";
import { boundaryOf, FormError, readForm } from "../lib/multipart.ts";
import { ReceivedJson } from "../lib/received-json.ts";
import { turns } from "../lib/turns.ts";
import { beginningOf, maxLoggedBody } from "../logs/body.ts";

const codings = new Set(["gzip", "deflate"]);

/** Decodes a body with one layer of content coding. */
async function decodeBody(bytes: Uint8Array, coding: string, bounds: BodyBounds): Promise<Uint8Array> {
  if (!codings.has(coding)) {
    throw new UnsupportedMediaError(
      `Cannot read a body of content coding "${coding}": send it plain, gzip or deflate`,
      {
        code: "unsupported_encoding",
        param: "content-encoding",
      },
    );
  }
  return inflate(bytes, coding === "gzip" ? "gzip" : "deflate", bounds);
}

/** The error for a body that could not be read. */
export function toBodyError(error: unknown, maxBytes: number): unknown {
  if (!(error instanceof BodyError)) return error;
  const options = { cause: error };
  switch (error.problem) {
    case "too_large":
      return new BodyTooLargeError(`Payload size exceeds the limit of ${Math.floor(maxBytes / 2 ** 20)}MB`, {
        ...options,
        code: "request_too_large",
      });
    case "expands":
      return new BodyTooLargeError("Cannot read the body: decoded it is more than 20 times as large as it was sent", {
        ...options,
        code: "request_too_large",
        param: "content-encoding",
      });
    case "busy":
      return new UnavailableError("Cannot read the body: too many bodies are held in memory now", {
        ...options,
        code: "overloaded",
        retryAfterSeconds: 5,
      });
    case "timeout":
      return new TimeoutError("Cannot read the body: it did not arrive in time", { ...options, code: "body_timeout" });
    case "broken":
      return new InvalidRequestError("Cannot read the body: it is cut off or its coding is broken", {
        ...options,
        code: "invalid_body",
      });
  }
}

/** Dependencies for reading bodies. */
type BodyServices = Pick<Services, "limits" | "timers" | "bodies">;

/**
 * Reads a JSON body: checks type, size, coding, UTF-8, depth and syntax.
 *
 * @param options.empty The text that a body without bytes stands for; absent: it is refused.
 * @throws {GatewayError} 400, 408, 413 or 415, saying what to change; 503 if there is no memory for it.
 */
export function readJsonBody(
  context: RequestContext,
  maxBytes: number,
  services: BodyServices,
  { empty }: { empty?: string } = {},
): Promise<JsonBody<unknown>> {
  const type = context.headers.get("content-type");
  if (type !== undefined && type !== "application/json" && !isJsonType(type)) refuseType("application/json");
  return readPlainBody(context, maxBytes, services).then((received) => {
    const bytes = received.length === 0 && empty !== undefined ? new TextEncoder().encode(empty) : received;
    return bytes.length < longBody ? parseBody(bytes, context) : parseLongBody(bytes, context);
  });
}

/**
 * Reads a body of any type, decoded.
 *
 * @throws {GatewayError} 408, 413 or 415, saying what to change.
 */
export function readPlainBody(context: RequestContext, maxBytes: number, services: BodyServices): Promise<Uint8Array> {
  const { headers } = context;
  const { totalMs, silenceMs } = receiveTimes;
  const coding = (headers.get("content-encoding") ?? "identity").toLowerCase();
  const { timers } = services;
  const reserve = reserveBody(context, services);
  const bounds: BodyBounds = { bytes: maxBytes, totalMs, silenceMs, timers, reserve };
  const received = readBytes(context.request, bounds);
  const decoded = coding === "identity" ? received : received.then((bytes) => decodeBody(bytes, coding, bounds));
  return decoded.catch((error: unknown) => {
    throw toBodyError(error, maxBytes);
  });
}

/** Whether a content type is JSON, whatever its parameters. */
export function isJsonType(type: string): boolean {
  return /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type);
}

/** Digits of a possibly inexact number, for text so short that scanning its bytes does not pay. */
const suspectForm = /\d{16}|\d[eE]\+?\d/;

/** The text of a body, whether numbers in it may lose precision, and how many names of fields it has; 0 if it is short. */
interface BodyText {
  text: string;
  hasInexact: boolean;
  names: number;
}

/** Decodes a body and checks its structure. */
function readText(bytes: Uint8Array): BodyText {
  let text: string;
  try {
    text = decodeUtf8(bytes);
  } catch (cause) {
    throw new InvalidRequestError("Cannot read the body: it is not UTF-8", { cause, code: "invalid_body" });
  }
  const isShort = bytes.length < (bodyLimits.ignoredBelow ?? 0);
  const { excess, hasSuspects, names } = isShort
    ? { excess: undefined, hasSuspects: suspectForm.test(text), names: 0 }
    : scanJson(bytes);
  if (excess !== undefined) {
    throw new InvalidRequestError(`Cannot read the body: it has ${excess}`, { code: "invalid_body" });
  }
  return { text, hasInexact: hasSuspects || (!isShort && hasLongDigits(bytes)), names };
}

/** The text to parse, with replacements for numbers that lose precision. */
function shelterText(bytes: Uint8Array, { text }: BodyText, context: RequestContext): string {
  const sheltered = shelterNumbers(bytes);
  if (!sheltered) return text;
  const { excess } = sheltered.numbers;
  if (excess !== undefined) {
    throw new InvalidRequestError(`Cannot read the body: it has ${excess}`, { code: "invalid_body" });
  }
  context.numbers = sheltered.numbers;
  return decodeUtf8(sheltered.bytes);
}

function parseText(parsable: string, context: RequestContext): unknown {
  let value: unknown;
  try {
    value = JSON.parse(parsable);
  } catch (cause) {
    throw new InvalidRequestError("Cannot read the body: it is not valid JSON", { cause, code: "invalid_json" });
  }
  const infinite = context.numbers?.infinite;
  if (infinite !== undefined) refuseInfinite(value, Number(infinite));
  return value;
}

/** Shorter bodies are written again: that is as fast. */
const shortestSplice = 16 * 1024;

/** Notes the bytes of a long object, which the log holds too. */
function noteReceived(bytes: Uint8Array, value: unknown, { names }: BodyText, context: RequestContext): void {
  if (bytes.length > maxLoggedBody) return;
  // others may not drop a byte order mark
  if (bytes[0] === 0x7b && isObject(value)) context.received = new ReceivedJson(value, bytes, names);
}

function parseBody(bytes: Uint8Array, context: RequestContext): JsonBody<unknown> {
  context.log.requestBody = beginningOf(bytes);
  const read = readText(bytes);
  const value = parseText(read.hasInexact ? shelterText(bytes, read, context) : read.text, context);
  if (bytes.length >= shortestSplice) noteReceived(bytes, value, read, context);
  return { value, text: read.text };
}

/** From this size on, each step of parsing runs in a separate turn of the event loop: other requests go on in between. */
const longBody = 1024 * 1024;

async function parseLongBody(bytes: Uint8Array, context: RequestContext): Promise<JsonBody<unknown>> {
  context.log.requestBody = beginningOf(bytes);
  const read = await turns.run(() => readText(bytes));
  const parsable = read.hasInexact ? await turns.run(() => shelterText(bytes, read, context)) : read.text;
  return { value: await turns.run(() => parseText(parsable, context)), text: read.text };
}

/** Rejects a body with an infinite number. */
function refuseInfinite(value: unknown, infinite: number): never {
  const path = pathOfNumber(value, infinite)?.join(".");
  throw new InvalidRequestError(`Invalid request body: ${path ? `${path}: ` : ""}must be a finite number`, {
    code: "invalid_body",
    ...(path && { param: path }),
  });
}

/** Whether an issue is a missing field, not an invalid one. */
export function isMissing(issue: v.BaseIssue<unknown>): boolean {
  return issue.kind === "schema" && issue.received === "undefined";
}

/**
 * The value as parsed by its schema.
 *
 * @throws {InvalidRequestError} 400 naming the first invalid field.
 */
export function requireBody<Schema extends v.GenericSchema>(schema: Schema, value: unknown): v.InferOutput<Schema> {
  const checked = findIssue(schema, value);
  if (checked.issue === undefined) return checked.output;
  refuseBody(checked.issue);
}

/** The value as parsed by its schema, or its first issue. */
export function findIssue<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
): { issue?: never; output: v.InferOutput<Schema> } | { issue: v.BaseIssue<unknown> } {
  const checked = v.safeParse(schema, value, firstPlainIssue);
  return checked.success ? { output: checked.output } : { issue: checked.issues[0] };
}

/** @throws {InvalidRequestError} 400 naming the invalid field. */
export function refuseBody(issue: v.BaseIssue<unknown>): never {
  const path = v.getDotPath(issue) ?? undefined;
  const message = path === undefined ? issue.message : `${path}: ${issue.message}`;
  throw new InvalidRequestError(`Invalid request body: ${message}`, {
    code: "invalid_body",
    ...(path !== undefined && { param: path }),
  });
}

function refuseType(wanted: string): never {
  throw new InvalidRequestError(`Invalid content type passed: send ${wanted}`, {
    code: "invalid_content_type",
    param: "content-type",
  });
}

/**
 * Reads a form: checks type, size and parts. Files stay bytes.
 *
 * @throws {GatewayError} 400, 408, 413 or 415, saying what to change.
 */
export async function readFormBody(
  { fields: kinds, acceptsJson }: FormEndpoint,
  context: RequestContext,
  services: BodyServices,
): Promise<FormBody> {
  const { limits, timers } = services;
  const { headers } = context;
  const contentType = headers.get("content-type") ?? "";
  if (acceptsJson && isJsonType(contentType)) return readJsonBody(context, limits.jsonBodyBytes, services);
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) refuseType("multipart/form-data with its boundary");
  if ((headers.get("content-encoding") ?? "identity").toLowerCase() !== "identity") {
    throw new UnsupportedMediaError("Cannot read a form with a content coding: send it plain", {
      code: "unsupported_encoding",
      param: "content-encoding",
    });
  }
  const maxBytes = limits.formBodyBytes;
  try {
    const reserve = reserveBody(context, services);
    const bytes = await readBytes(context.request, { bytes: maxBytes, ...uploadTimes, timers, reserve });
    const { fields, listNames } = readFields(readForm(bytes, boundary), kinds);
    context.log.requestBody = beginningOf(JSON.stringify(fields));
    return { value: fields, form: { contentType, bytes, fields, listNames } };
  } catch (cause) {
    if (!(cause instanceof FormError)) throw toBodyError(cause, maxBytes);
    throw new InvalidRequestError(`Cannot read the form: ${cause.message}`, { cause, code: "invalid_body" });
  }
}
