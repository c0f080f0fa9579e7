import { reserveBody } from "../../context/held-bodies.ts";
import type { CallerContext } from "../../context.ts";
import { toBodyError } from "../../endpoint.ts";
import { BodyError, countBytes, readBytes, receiveTimes, uploadTimes } from "../../lib/body.ts";
import { decodeUtf8, isObject, parseJson, stringOf } from "../../lib/json.ts";
import { boundaryOf } from "../../lib/multipart.ts";
import { turns } from "../../lib/turns.ts";
import type { NamedModels } from "../../providers/core/model-names.ts";
import { isText } from "../stream/byte-relay.ts";
import { modelsInBytes } from "./forwarded-models.ts";

/** Bodies up to this size are held in memory; larger ones, and those of unknown size, are streamed. */
export const smallBodyBytes = 256 * 1024;

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
async function holdUpload(context: CallerContext, maxBytes: number): Promise<Upload> {
  const { services, request } = context;
  const reserve = reserveBody(context, services);
  try {
    const bytes = await readBytes(request, { bytes: maxBytes, ...uploadTimes, timers: services.timers, reserve });
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

/** A body above the size that is always read, or of unknown size. */
async function readLongUpload(context: CallerContext, length: number, isRead: boolean): Promise<Upload> {
  const { body } = context.request;
  if (!body) return unread(undefined);
  if (isRead && !(length > mostHeld(context))) return holdUpload(context, mostHeld(context));
  return unread(countBytes(body, { bytes: context.services.limits.streamedBodyBytes, ...uploadTimes }));
}

/**
 * The body as it came: small ones in memory, so that they can be logged, others as a counted stream.
 *
 * @param isRead Whether limits depend on the models that long ones name.
 */
export async function readUpload(context: CallerContext, isRead: boolean): Promise<Upload> {
  const { request, log } = context;
  if (context.method === "GET") return unread(undefined);
  const maxBytes = context.services.limits.streamedBodyBytes;
  const length = Number(context.headers.get("content-length") ?? Number.NaN);
  if (length > maxBytes) throw toBodyError(new BodyError("too_large"), maxBytes);
  if (!(length <= smallBodyBytes)) return readLongUpload(context, length, isRead);
  if (length === 0) return unread(undefined);
  try {
    const bytes = await readBytes(request, { bytes: smallBodyBytes, ...receiveTimes, timers: context.services.timers });
    if (!isText(context.headers.get("content-type"), context.headers.get("content-encoding"))) return unread(bytes);
    log.requestBody = bytes;
    return readHeldBody(bytes, decodeText(bytes), context);
  } catch (error) {
    throw toBodyError(error, maxBytes);
  }
}
