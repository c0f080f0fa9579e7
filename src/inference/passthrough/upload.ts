import { reserveBody } from "../../context/held-bodies.ts";
import type { CallerContext } from "../../context.ts";
import { toBodyError } from "../../endpoint.ts";
import { BodyError, countBytes, inflate, readBytes, receiveTimes, uploadTimes } from "../../lib/body.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { continued } from "../../lib/continued.ts";
import { decodeUtf8, hasRepeatedName, isObject, parseJson, stringOf } from "../../lib/json.ts";
import { boundaryOf } from "../../lib/multipart.ts";
import { turns } from "../../lib/turns.ts";
import type { NamedModels } from "../../providers/core/model-names.ts";
import { isText } from "../stream/byte-relay.ts";
import { modelsInBytes } from "./forwarded-models.ts";

/** Bodies up to this size are held in memory; larger ones are streamed. */
export const smallBodyBytes = 256 * 1024;
/** Most bytes of a compressed body whose fields are read, once it is decoded. */
const decodedBytes = 1024 * 1024;
/** Most pieces of a body of unknown size that are apart: tiny ones take more memory than their bytes. */
const maxPieces = 1_000;
/** Bytes that decide whether a body of unknown size may be JSON, or compressed. */
const startBytes = 64;

/** A body to be sent to the provider, and what could be read of it. */
export interface Upload {
  body: Uint8Array | ReadableStream<Uint8Array> | undefined;
  /** Its text; undefined where it was not read or is not UTF-8. */
  text: string | undefined;
  /** Top-level fields of a JSON object; empty for any other body. */
  members: Readonly<Record<string, unknown>>;
  /** The model it names. */
  model: string | undefined;
  /** All models it names, if it is long and was read for them. */
  named?: NamedModels;
}

/** Members of a body that was not read. */
export const noMembers = {};

/** An absent body, or one of unknown content. */
function unread(body: Upload["body"]): Upload {
  return { body, text: undefined, members: noMembers, model: undefined };
}

/** A body in memory, with what could be read of it. */
function readHeldBody(body: Uint8Array, text: string | undefined, { log }: CallerContext): Upload {
  const value = text === undefined ? undefined : parseJson(text);
  if (!isObject(value)) return { ...unread(body), text };
  const model = stringOf(value.model);
  if (model !== undefined) {
    log.model = model;
    log.requestedModel = model;
  }
  log.stream = value.stream === true;
  return { body, text, members: value, model };
}

/** Text of UTF-8 bytes; undefined for others. */
function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return decodeUtf8(bytes);
  } catch {
    return undefined;
  }
}

/** Holds a long body in memory, so that the models it names can be read. */
async function holdUpload(message: Request | Response, context: CallerContext, maxBytes: number): Promise<Upload> {
  const { services } = context;
  const reserve = reserveBody(context, services);
  try {
    const bytes = await readBytes(message, { bytes: maxBytes, ...uploadTimes, timers: services.timers, reserve });
    if (bytes.length === 0) return unread(undefined);
    return { ...unread(bytes), named: await turns.run(() => modelsInBytes(bytes, context)) };
  } catch (error) {
    throw toBodyError(error, maxBytes);
  }
}

/** Most bytes of a body that is held to read the models it names, by its type. */
function mostHeld({ headers, services: { limits } }: CallerContext): number {
  return boundaryOf(headers.get("content-type")) === undefined ? limits.jsonBodyBytes : limits.formBodyBytes;
}

/** A body above the size that is always read. */
async function readLongUpload(context: CallerContext, length: number, isRead: boolean): Promise<Upload> {
  const { body } = context.request;
  if (!body) return unread(undefined);
  if (isRead && !(length > mostHeld(context))) return holdUpload(context.request, context, mostHeld(context));
  return unread(countBytes(body, { bytes: context.services.limits.streamedBodyBytes, ...uploadTimes }));
}

/** Whether what came of a body of unknown size may be the start of fields that can be read. */
function mayHaveFields(bytes: Uint8Array, { headers }: CallerContext): boolean {
  if ((headers.get("content-encoding") ?? "identity").toLowerCase() !== "identity") return true;
  const start = new TextDecoder().decode(bytes.subarray(0, startBytes)).trimStart();
  return start === "" ? bytes.length < startBytes : start.startsWith("{");
}

/**
 * A body of unknown size. It is held as one of known size if it is as small; other data than JSON is not waited for.
 */
async function readUnsizedUpload(context: CallerContext, isRead: boolean): Promise<Upload> {
  const { services, request } = context;
  if (!request.body) return unread(undefined);
  const { streamedBodyBytes } = services.limits;
  const reader = countBytes(request.body, { bytes: streamedBodyBytes, ...uploadTimes }).getReader();
  const pieces: Uint8Array[] = [];
  let start: Uint8Array = new Uint8Array();
  let length = 0;
  try {
    do {
      const { done, value } = await reader.read();
      if (done) return length === 0 ? unread(undefined) : await readFields(joinBytes(pieces), context);
      if (pieces.length >= maxPieces) pieces.splice(0, pieces.length, joinBytes(pieces));
      pieces.push(value);
      length += value.length;
      if (start.length < startBytes) start = joinBytes([start, value.subarray(0, startBytes)]);
    } while (length <= smallBodyBytes && (isRead || mayHaveFields(start, context)));
  } catch (error) {
    throw toBodyError(error, streamedBodyBytes);
  }
  const body = continued(pieces, reader);
  // the DOM types want bytes that are not shared between threads; these are not
  return isRead ? holdUpload(new Response(body as BodyInit), context, mostHeld(context)) : unread(body);
}

/** The fields of a JSON object in bytes that are not logged; `noMembers` where parsers may differ about them. */
async function readMembers(bytes: Uint8Array, { headers, services }: CallerContext): Promise<Upload["members"]> {
  const coding = (headers.get("content-encoding") ?? "identity").toLowerCase();
  let plain: Uint8Array | undefined = bytes;
  if (coding === "gzip" || coding === "x-gzip" || coding === "deflate") {
    const bounds = { bytes: decodedBytes, ...receiveTimes, timers: services.timers };
    plain = await inflate(bytes, coding === "deflate" ? "deflate" : "gzip", bounds).catch(() => undefined);
  } else if (coding !== "identity") return noMembers;
  const text = plain && decodeText(plain);
  if (text === undefined || !text.trimStart().startsWith("{") || hasRepeatedName(text)) return noMembers;
  const value = parseJson(text);
  return isObject(value) ? value : noMembers;
}

/** A body in memory, with its fields. */
async function readFields(bytes: Uint8Array, context: CallerContext): Promise<Upload> {
  const { headers, log } = context;
  if (!isText(headers.get("content-type"), headers.get("content-encoding"))) {
    return { ...unread(bytes), members: await readMembers(bytes, context) };
  }
  log.requestBody = bytes;
  return readHeldBody(bytes, decodeText(bytes), context);
}

/**
 * The body as it came: small ones in memory, so that they can be logged, others as a counted stream.
 *
 * @param isRead Whether limits depend on the models that long ones name.
 */
export async function readUpload(context: CallerContext, isRead: boolean): Promise<Upload> {
  const { request } = context;
  if (context.method === "GET") return unread(undefined);
  const maxBytes = context.services.limits.streamedBodyBytes;
  const length = Number(context.headers.get("content-length") ?? Number.NaN);
  if (length > maxBytes) throw toBodyError(new BodyError("too_large"), maxBytes);
  if (Number.isNaN(length)) return readUnsizedUpload(context, isRead);
  if (length > smallBodyBytes) return readLongUpload(context, length, isRead);
  if (length === 0) return unread(undefined);
  try {
    const bytes = await readBytes(request, { bytes: smallBodyBytes, ...receiveTimes, timers: context.services.timers });
    return await readFields(bytes, context);
  } catch (error) {
    throw toBodyError(error, maxBytes);
  }
}
