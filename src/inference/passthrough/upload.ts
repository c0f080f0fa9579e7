import { reserveBody } from "../../context/held-bodies.ts";
import type { CallerContext } from "../../context.ts";
import { toBodyError } from "../../endpoint/body.ts";
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
/** Most bytes of a compressed body whose fields are read where no guardrail needs them, once it is decoded. */
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
  /** Why the fields that it may have are not known, phrased as what it is or does. */
  unreadBecause?: string;
  /** All models it names, if it is long and was read for them. */
  named?: NamedModels;
}

/** What long bodies, and those of unknown size, are read for. */
interface UploadNeeds {
  /** Limits or estimates depend on the models they name. */
  readonly models: boolean;
  /** Whether a guardrail reads their fields. */
  fields(): boolean;
}

/** Fields of a body, or why they are not known. */
type Fields = Pick<Upload, "members" | "unreadBecause">;

/** Members of a body that was not read. */
export const noMembers = {};

/** An absent body, or one of unknown content. */
function unread(body: Upload["body"]): Upload {
  return { body, text: undefined, members: noMembers, model: undefined };
}

/** Whether bytes may begin a JSON object in any encoding of Unicode, or are too few to say. */
function mayBeObject(bytes: Uint8Array): boolean {
  return /^[\s\0\uFEFF\uFFFD]*(?:\{|$)/.test(new TextDecoder().decode(bytes.subarray(0, startBytes)));
}

const unreadable = "is not JSON that the gateway can read";
const ambiguous = "repeats a field";

/** A body in memory, with what could be read of it. */
function readHeldBody(body: Uint8Array, text: string | undefined, { log }: CallerContext): Upload {
  const value = text === undefined ? undefined : parseJson(text);
  if (!isObject(value)) return { ...unread(body), text, ...(mayBeObject(body) && { unreadBecause: unreadable }) };
  const model = stringOf(value.model);
  if (model !== undefined) {
    log.model = model;
    log.requestedModel = model;
  }
  log.stream = value.stream === true;
  const isAmbiguous = hasRepeatedName(text ?? "");
  return { body, text, members: value, model, ...(isAmbiguous && { unreadBecause: ambiguous }) };
}

/** Text of UTF-8 bytes; undefined for others. */
function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return decodeUtf8(bytes);
  } catch {
    return undefined;
  }
}

/** Holds a long body in memory, to read what is needed of it. */
async function holdUpload(message: Request | Response, context: CallerContext, needs: UploadNeeds): Promise<Upload> {
  const { services } = context;
  const reserve = reserveBody(context, services);
  const maxBytes = mostHeld(context);
  try {
    const bytes = await readBytes(message, { bytes: maxBytes, ...uploadTimes, timers: services.timers, reserve });
    if (bytes.length === 0) return unread(undefined);
    const fields = needs.fields() ? await readFields(bytes, context, services.limits.jsonBodyBytes) : {};
    return { ...unread(bytes), ...fields, named: await turns.run(() => modelsInBytes(bytes, context)) };
  } catch (error) {
    throw toBodyError(error, maxBytes);
  }
}

/** Most bytes of a long body that is held in memory, by its type. */
function mostHeld({ headers, services: { limits } }: CallerContext): number {
  return boundaryOf(headers.get("content-type")) === undefined ? limits.jsonBodyBytes : limits.formBodyBytes;
}

/** The coding of a body, in lower case. */
function codingOf({ headers }: CallerContext): string {
  return (headers.get("content-encoding") ?? "identity").toLowerCase();
}

/** Codings of compressed bodies whose fields can be read. */
const codings: Readonly<Record<string, "gzip" | "deflate">> = { gzip: "gzip", "x-gzip": "gzip", deflate: "deflate" };

/** Why the fields of bodies in a coding cannot be read; undefined where they can. */
function whyUnreadIn(coding: string): string | undefined {
  if (coding === "identity" || Object.hasOwn(codings, coding)) return undefined;
  return "is compressed with neither gzip nor deflate";
}

/** Whether what came of a body may be the start of fields. */
function mayHaveFields(bytes: Uint8Array, context: CallerContext): boolean {
  return codingOf(context) !== "identity" || mayBeObject(bytes);
}

/** A body above the size that is always read. */
async function readLongUpload(context: CallerContext, length: number, needs: UploadNeeds): Promise<Upload> {
  const { body } = context.request;
  if (!body) return unread(undefined);
  const mayHold = !(length > mostHeld(context));
  if (needs.models && mayHold) return holdUpload(context.request, context, needs);
  if (needs.fields()) return readAhead(body, context, { needs: { ...needs, models: false }, mayHold });
  return unread(countBytes(body, { bytes: context.services.limits.streamedBodyBytes, ...uploadTimes }));
}

/**
 * A body of which only the size may be known. It is held if it is small, or if what is needed of it can be read; other
 * data than JSON is not waited for.
 */
async function readAhead(
  given: ReadableStream<Uint8Array>,
  context: CallerContext,
  { needs, mayHold = true }: { needs: UploadNeeds; mayHold?: boolean },
): Promise<Upload> {
  const { streamedBodyBytes, jsonBodyBytes } = context.services.limits;
  const reader = countBytes(given, { bytes: streamedBodyBytes, ...uploadTimes }).getReader();
  const pieces: Uint8Array[] = [];
  let start: Uint8Array = new Uint8Array();
  let length = 0;
  try {
    do {
      const { done, value } = await reader.read();
      if (done) return length === 0 ? unread(undefined) : await readSmall(joinBytes(pieces), context, needs);
      if (pieces.length >= maxPieces) pieces.splice(0, pieces.length, joinBytes(pieces));
      pieces.push(value);
      length += value.length;
      if (start.length < startBytes) start = joinBytes([start, value.subarray(0, startBytes)]);
    } while (length <= smallBodyBytes && (needs.models || mayHaveFields(start, context)));
  } catch (error) {
    throw toBodyError(error, streamedBodyBytes);
  }
  const body = continued(pieces, reader);
  const hasFields = mayHaveFields(start, context) && needs.fields();
  const unreadBecause = mayHold ? whyUnreadIn(codingOf(context)) : `is larger than ${jsonBodyBytes} bytes`;
  const isHeld = needs.models || (hasFields && unreadBecause === undefined);
  // the DOM types want bytes that are not shared between threads; these are not
  if (isHeld) return holdUpload(new Response(body as BodyInit), context, needs);
  return { ...unread(body), ...(hasFields && unreadBecause !== undefined && { unreadBecause }) };
}

/** The decoded bytes of a body; undefined where they are damaged or more than `maxBytes`. */
async function decode(bytes: Uint8Array, context: CallerContext, maxBytes: number): Promise<Uint8Array | undefined> {
  const coding = codings[codingOf(context)];
  if (coding === undefined) return bytes;
  const { services } = context;
  const bounds = { bytes: maxBytes, ...receiveTimes, timers: services.timers, reserve: reserveBody(context, services) };
  return inflate(bytes, coding, bounds).catch(() => undefined);
}

/** The fields of a JSON object in bytes that are not logged, of at most `maxBytes` once they are decoded. */
async function readFields(bytes: Uint8Array, context: CallerContext, maxBytes: number): Promise<Fields> {
  const unreadBecause = whyUnreadIn(codingOf(context));
  if (unreadBecause !== undefined) return { members: noMembers, unreadBecause };
  const plain = await decode(bytes, context, maxBytes);
  if (plain === undefined) return { members: noMembers, unreadBecause: "is damaged, or too large once it is decoded" };
  return plain.length > smallBodyBytes ? turns.run(() => fieldsOf(plain)) : fieldsOf(plain);
}

/** The fields of a JSON object in decoded bytes. */
function fieldsOf(bytes: Uint8Array): Fields {
  if (!mayBeObject(bytes)) return { members: noMembers };
  const text = decodeText(bytes);
  const value = text === undefined ? undefined : parseJson(text);
  if (!isObject(value)) return { members: noMembers, unreadBecause: unreadable };
  return hasRepeatedName(text ?? "") ? { members: noMembers, unreadBecause: ambiguous } : { members: value };
}

/** A small body in memory, with its fields. */
async function readSmall(bytes: Uint8Array, context: CallerContext, needs: UploadNeeds): Promise<Upload> {
  const { headers, log } = context;
  if (!isText(headers.get("content-type"), headers.get("content-encoding"))) {
    const isCompressed = codingOf(context) !== "identity";
    const most = isCompressed && needs.fields() ? context.services.limits.jsonBodyBytes : decodedBytes;
    return { ...unread(bytes), ...(await readFields(bytes, context, most)) };
  }
  log.requestBody = bytes;
  return readHeldBody(bytes, decodeText(bytes), context);
}

/**
 * The body as it came: small ones in memory, so that they can be logged, and long ones that are needed; others as a
 * counted stream.
 */
export async function readUpload(context: CallerContext, needs: UploadNeeds): Promise<Upload> {
  const { request } = context;
  if (context.method === "GET") return unread(undefined);
  const maxBytes = context.services.limits.streamedBodyBytes;
  const length = Number(context.headers.get("content-length") ?? Number.NaN);
  if (length > maxBytes) throw toBodyError(new BodyError("too_large"), maxBytes);
  if (Number.isNaN(length)) return request.body ? readAhead(request.body, context, { needs }) : unread(undefined);
  if (length > smallBodyBytes) return readLongUpload(context, length, needs);
  if (length === 0) return unread(undefined);
  try {
    const bytes = await readBytes(request, { bytes: smallBodyBytes, ...receiveTimes, timers: context.services.timers });
    return await readSmall(bytes, context, needs);
  } catch (error) {
    throw toBodyError(error, maxBytes);
  }
}
