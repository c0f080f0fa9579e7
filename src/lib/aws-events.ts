import { crc32OfBytes } from "./hash.ts";
import { isObject, parseJson } from "./json.ts";
import { type EventCutter, EventTooLongError, encodeEvent, maxEventBytes } from "./sse.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Lengths in bytes: of the prelude with its checksum, and of the message's checksum. */
const preludeBytes = 12;
const checksumBytes = 4;
/** Sizes of header values by type; absent types are preceded by their size. */
const valueBytes: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 };
const textType = 7;

/** A message does not match its checksums. */
export class DamagedMessageError extends Error {
  override readonly name = "DamagedMessageError";
  constructor() {
    super("Cannot read event stream: a message is damaged");
  }
}

/** HTTP statuses for the errors of AWS event streams, by their lower-case names. */
const statusOfFailure: Readonly<Record<string, number>> = {
  validationexception: 400,
  accessdeniedexception: 403,
  resourcenotfoundexception: 404,
  modeltimeoutexception: 408,
  modelerrorexception: 424,
  modelstreamerrorexception: 424,
  modelnotreadyexception: 429,
  throttlingexception: 429,
  internalserverexception: 500,
  serviceunavailableexception: 503,
};

/** Headers with string values; others are ignored. */
function readHeaders(bytes: Uint8Array): Map<string, string> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headers = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const nameEnd = at + 1 + view.getUint8(at);
    const name = decoder.decode(bytes.subarray(at + 1, nameEnd));
    const type = view.getUint8(nameEnd);
    const fixed = valueBytes[type];
    const start = nameEnd + (fixed === undefined ? 3 : 1);
    const end = start + (fixed ?? view.getUint16(nameEnd + 1));
    if (end > bytes.length) throw new DamagedMessageError();
    if (type === textType) headers.set(name, decoder.decode(bytes.subarray(start, end)));
    at = end;
  }
  return headers;
}

/** The message in an error's payload. */
function messageOf(payload: string): string | undefined {
  const body = parseJson(payload);
  if (!isObject(body)) return undefined;
  const message = body.message ?? body.Message ?? body.originalMessage;
  return typeof message === "string" ? message : undefined;
}

/** A message as a server-sent event: its type is the name, its payload the data; errors have an `error` field. */
function toEvent(message: Uint8Array, view: DataView): string {
  const end = message.length - checksumBytes;
  if (crc32OfBytes(message.subarray(0, end)) !== view.getUint32(end)) throw new DamagedMessageError();
  const bodyStart = preludeBytes + view.getUint32(4);
  if (bodyStart > end) throw new DamagedMessageError();
  const headers = readHeaders(message.subarray(preludeBytes, bodyStart));
  const payload = decoder.decode(message.subarray(bodyStart, end));
  if (headers.get(":message-type") === "event") {
    const name = (headers.get(":event-type") ?? "").replaceAll(/[\r\n\0]/g, " ");
    return `event: ${name}\ndata: ${payload.replaceAll(/[\r\n]+/g, " ")}\n\n`;
  }
  const type = headers.get(":exception-type") ?? headers.get(":error-code") ?? "error";
  const text = messageOf(payload) ?? headers.get(":error-message") ?? payload;
  const name = type.toLowerCase();
  const status = Object.hasOwn(statusOfFailure, name) ? statusOfFailure[name] : undefined;
  return encodeEvent({ error: { type, code: type, message: text, status } }, type);
}

/** The message as an event; inconsistent lengths count as damage. */
function readMessage(message: Uint8Array): string {
  try {
    return toEvent(message, new DataView(message.buffer, message.byteOffset, message.byteLength));
  } catch (cause) {
    if (cause instanceof RangeError) throw new DamagedMessageError();
    throw cause;
  }
}

/**
 * Splits AWS binary event streams (application/vnd.amazon.eventstream) into messages, each as a server-sent event.
 * `push` throws for a message that is damaged or too long, after it returned the messages before it.
 */
export class AwsEventBlocks implements EventCutter {
  /** Unread bytes in a buffer that doubles when full, so that a message in many small pieces is not copied for each. */
  #room = new Uint8Array(0);
  #length = 0;
  #failure: Error | undefined;

  push(chunk: Uint8Array): Uint8Array | undefined {
    if (this.#failure) throw this.#failure;
    const bytes = this.#append(chunk);
    let text = "";
    let start = 0;
    try {
      for (let length = lengthOf(bytes, start); length !== undefined; length = lengthOf(bytes, start)) {
        text += readMessage(bytes.subarray(start, start + length));
        start += length;
      }
    } catch (error) {
      // only errors are thrown above
      this.#failure = error as Error;
      if (text === "") throw error;
    }
    this.#room.copyWithin(0, start, this.#length);
    this.#length -= start;
    return text === "" ? undefined : encoder.encode(text);
  }

  takeRest(): Uint8Array | undefined {
    if (this.#failure) throw this.#failure;
    this.#length = 0;
    return undefined;
  }

  /** The unread bytes followed by a chunk. */
  #append(chunk: Uint8Array): Uint8Array {
    const length = this.#length + chunk.length;
    if (length > this.#room.length) {
      const room = new Uint8Array(Math.max(length, this.#room.length * 2));
      room.set(this.#room.subarray(0, this.#length));
      this.#room = room;
    }
    this.#room.set(chunk, this.#length);
    this.#length = length;
    return this.#room.subarray(0, length);
  }
}

/** Length of the message at `start`; undefined while it is incomplete. */
function lengthOf(bytes: Uint8Array, start: number): number | undefined {
  const held = bytes.length - start;
  if (held < preludeBytes) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, held);
  if (crc32OfBytes(bytes.subarray(start, start + 8)) !== view.getUint32(8)) throw new DamagedMessageError();
  const length = view.getUint32(0);
  if (length > maxEventBytes) throw new EventTooLongError();
  if (length < preludeBytes + checksumBytes) throw new DamagedMessageError();
  return held < length ? undefined : length;
}
