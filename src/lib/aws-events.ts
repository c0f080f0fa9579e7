import { crc32OfBytes } from "./hash.ts";
import { type EventCutter, EventTooLongError, encodeEvent, maxEventBytes } from "./sse.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Lengths, in bytes: of a message and its headers with their checksum, and of the checksum of the whole. */
const preludeBytes = 12;
const checksumBytes = 4;
/** Bytes of header values by their type; those that are absent say their length themselves. */
const valueBytes: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 };
const textType = 7;

/** A message is not what its checksums say. */
class DamagedMessageError extends Error {
  override readonly name = "DamagedMessageError";
  constructor() {
    super("Cannot read event stream: a message is damaged");
  }
}

/** Headers whose values are texts; the others are passed over. */
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
    if (type === textType) headers.set(name, decoder.decode(bytes.subarray(start, end)));
    at = end;
  }
  return headers;
}

/** A message as a server-sent event: its type as the name, its payload as data; failures hold `error`. */
function toEvent(message: Uint8Array): string {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const end = message.length - checksumBytes;
  const isWhole =
    crc32OfBytes(message.subarray(0, 8)) === view.getUint32(8) &&
    crc32OfBytes(message.subarray(0, end)) === view.getUint32(end);
  if (!isWhole) throw new DamagedMessageError();
  const bodyStart = preludeBytes + view.getUint32(4);
  const headers = readHeaders(message.subarray(preludeBytes, bodyStart));
  const payload = decoder.decode(message.subarray(bodyStart, end));
  if (headers.get(":message-type") === "event") {
    return `event: ${headers.get(":event-type") ?? ""}\ndata: ${payload.replaceAll(/[\r\n]+/g, " ")}\n\n`;
  }
  const type = headers.get(":exception-type") ?? headers.get(":error-code") ?? "error";
  const told = /"message"\s*:\s*("(?:[^"\\]|\\.)*")/i.exec(payload)?.[1];
  const text: unknown = told === undefined ? (headers.get(":error-message") ?? payload) : JSON.parse(told);
  return encodeEvent({ error: { type, code: type, message: text } }, type);
}

/**
 * Cuts AWS' binary event streams (application/vnd.amazon.eventstream) into messages and turns each into a server-sent event.
 * `push` throws where a message is damaged or too long.
 */
export class AwsEventBlocks implements EventCutter {
  #rest = new Uint8Array(0);

  push(chunk: Uint8Array): Uint8Array | undefined {
    const bytes = new Uint8Array(this.#rest.length + chunk.length);
    bytes.set(this.#rest);
    bytes.set(chunk, this.#rest.length);
    const view = new DataView(bytes.buffer);
    let text = "";
    let start = 0;
    while (bytes.length - start >= preludeBytes) {
      const length = view.getUint32(start);
      if (length > maxEventBytes) throw new EventTooLongError();
      if (length < preludeBytes + checksumBytes) throw new DamagedMessageError();
      if (bytes.length - start < length) break;
      text += toEvent(bytes.subarray(start, start + length));
      start += length;
    }
    this.#rest = bytes.slice(start);
    return text === "" ? undefined : encoder.encode(text);
  }

  takeRest(): Uint8Array | undefined {
    this.#rest = new Uint8Array(0);
    return undefined;
  }
}
