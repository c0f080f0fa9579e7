/** A text or binary message. */
export type SocketMessage = string | Uint8Array;

/** How a WebSocket closed (RFC 6455, section 7.4). */
export interface SocketClose {
  /** 1005: the peer gave no code. 1006: the connection was lost. */
  code: number;
  reason: string;
}

/** Opcodes (RFC 6455, section 5.2). */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A complete message or control frame. */
export type SocketEvent =
  | { kind: "message"; message: SocketMessage }
  | { kind: "ping" | "pong"; payload: Uint8Array }
  | { kind: "close"; close: SocketClose };

/** The peer violated the protocol; `close` is the close frame to send. */
export class SocketProtocolError extends Error {
  override readonly name = "SocketProtocolError";
  readonly close: SocketClose;

  constructor(code: number, reason: string) {
    super(`Cannot read the WebSocket: ${reason}`);
    this.close = { code, reason };
  }
}

const maxControlBytes = 125;
const encoder = new TextEncoder();
// a message may begin with a byte order mark, which belongs to it
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Encodes an unfragmented frame.
 *
 * @param mask Four random bytes; required for clients, forbidden for servers (RFC 6455, section 5.1).
 */
export function encodeFrame(opcode: number, payload: Uint8Array, mask?: Uint8Array): Uint8Array {
  const { length } = payload;
  const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const start = 2 + extended + (mask ? 4 : 0);
  const frame = new Uint8Array(start + length);
  const view = new DataView(frame.buffer);
  frame[0] = 0x80 | opcode;
  frame[1] = (mask ? 0x80 : 0) | (extended === 0 ? length : extended === 2 ? 126 : 127);
  if (extended === 2) view.setUint16(2, length);
  if (extended === 8) view.setBigUint64(2, BigInt(length));
  frame.set(payload, start);
  if (mask) {
    frame.set(mask, start - 4);
    applyMask(frame.subarray(start), mask);
  }
  return frame;
}

/** Encodes a message. */
export function encodeMessage(message: SocketMessage, mask?: Uint8Array): Uint8Array {
  return typeof message === "string"
    ? encodeFrame(opcodes.text, encoder.encode(message), mask)
    : encodeFrame(opcodes.binary, message, mask);
}

/** Encodes a close frame; without a code its payload is empty. */
export function encodeClose({ code, reason }: SocketClose, mask?: Uint8Array): Uint8Array {
  if (code === 1005) return encodeFrame(opcodes.close, new Uint8Array(0), mask);
  const text = encoder.encode(reason);
  const payload = new Uint8Array(2 + text.length);
  new DataView(payload.buffer).setUint16(0, code);
  payload.set(text, 2);
  return encodeFrame(opcodes.close, payload, mask);
}

/** Masks or unmasks bytes in place; both are the same operation (RFC 6455, section 5.3). */
function applyMask(bytes: Uint8Array, mask: Uint8Array): void {
  const [a = 0, b = 0, c = 0, d = 0] = mask;
  const four = [a, b, c, d] as const;
  for (let index = 0; index < bytes.length; index++) bytes[index] = (bytes[index] ?? 0) ^ (four[index & 3] ?? 0);
}

/** Larger memory is released when it is empty. */
const keptBytes = 64 * 1024;

/** A byte queue. Its memory is that of the bytes, however small the chunks were. */
class ByteBuffer {
  #bytes = new Uint8Array(0);
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  add(piece: Uint8Array): void {
    if (this.#end + piece.length > this.#bytes.length) this.#makeRoom(piece.length);
    this.#bytes.set(piece, this.#end);
    this.#end += piece.length;
  }

  #makeRoom(more: number): void {
    const needed = this.length + more;
    const isRoomy = needed <= this.#bytes.length / 2;
    const bytes = isRoomy ? this.#bytes : new Uint8Array(Math.max(needed, 2 * this.length, 1024));
    bytes.set(this.#bytes.subarray(this.#start, this.#end));
    this.#end = this.length;
    this.#start = 0;
    this.#bytes = bytes;
  }

  /** The first bytes, not removed; valid until bytes are added. */
  peek(count: number): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#start + count);
  }

  /** Removes the first bytes; the returned copy may be modified. */
  take(count: number): Uint8Array {
    const bytes = this.#bytes.slice(this.#start, this.#start + count);
    this.#start += count;
    if (this.#start === this.#end) {
      this.#start = 0;
      this.#end = 0;
      if (this.#bytes.length > keptBytes) this.#bytes = new Uint8Array(0);
    }
    return bytes;
  }
}

interface FrameHead {
  isLast: boolean;
  opcode: number;
  isMasked: boolean;
  payloadBytes: number;
  headBytes: number;
}

/** Decodes the frames of one direction of a WebSocket. */
export class FrameReader {
  readonly #queue = new ByteBuffer();
  readonly #expectsMask: boolean;
  readonly #maxMessageBytes: number;
  /** Frames of an incomplete message. */
  readonly #parts = new ByteBuffer();
  #kind: number | undefined;

  /** @param options.expectsMask Whether the peer is a client. */
  constructor(options: { expectsMask: boolean; maxMessageBytes: number }) {
    this.#expectsMask = options.expectsMask;
    this.#maxMessageBytes = options.maxMessageBytes;
  }

  /**
   * Events that these bytes complete, in order.
   *
   * @throws {SocketProtocolError} After the events before the violation.
   */
  *push(bytes: Uint8Array): Generator<SocketEvent> {
    this.#queue.add(bytes);
    for (let head = this.#readHead(); head; head = this.#readHead()) {
      if (this.#queue.length < head.headBytes + head.payloadBytes) return;
      const start = this.#queue.take(head.headBytes);
      const payload = this.#queue.take(head.payloadBytes);
      if (head.isMasked) applyMask(payload, start.subarray(-4));
      const event = this.#readFrame(head, payload);
      if (event) yield event;
      if (event?.kind === "close") return;
    }
  }

  /** The header of the next frame, once complete. */
  #readHead(): FrameHead | undefined {
    if (this.#queue.length < 2) return undefined;
    const [first = 0, second = 0] = this.#queue.peek(2);
    const isMasked = (second & 0x80) !== 0;
    const opcode = first & 0x0f;
    const short = second & 0x7f;
    const extended = short < 126 ? 0 : short === 126 ? 2 : 8;
    if ((first & 0x70) !== 0) throw new SocketProtocolError(1002, "a reserved bit is set");
    if (isMasked !== this.#expectsMask) throw new SocketProtocolError(1002, "the masking of a frame is wrong");
    const isLast = (first & 0x80) !== 0;
    if (opcode >= 8 && (!isLast || short > maxControlBytes)) {
      throw new SocketProtocolError(1002, "a control frame is too long");
    }
    const headBytes = 2 + extended + (isMasked ? 4 : 0);
    if (this.#queue.length < headBytes) return undefined;
    const payloadBytes = extended === 0 ? short : this.#readLength(extended);
    if (opcode < 8 && this.#parts.length + payloadBytes > this.#maxMessageBytes) {
      throw new SocketProtocolError(1009, "a message is too large");
    }
    return { isLast, opcode, isMasked, payloadBytes, headBytes };
  }

  #readLength(extended: 2 | 8): number {
    const bytes = this.#queue.peek(2 + extended);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return extended === 2 ? view.getUint16(2) : Number(view.getBigUint64(2));
  }

  #readFrame({ isLast, opcode }: FrameHead, payload: Uint8Array): SocketEvent | undefined {
    switch (opcode) {
      case opcodes.text:
      case opcodes.binary:
        if (this.#kind !== undefined) throw new SocketProtocolError(1002, "a message begins inside another one");
        this.#kind = opcode;
        return this.#addPart(payload, isLast);
      case opcodes.continuation:
        if (this.#kind === undefined) throw new SocketProtocolError(1002, "a continuation frame has no message");
        return this.#addPart(payload, isLast);
      case opcodes.close:
        return { kind: "close", close: readClose(payload) };
      case opcodes.ping:
      case opcodes.pong:
        return { kind: opcode === opcodes.ping ? "ping" : "pong", payload };
      default:
        throw new SocketProtocolError(1002, "a frame has an unknown opcode");
    }
  }

  #addPart(payload: Uint8Array, isLast: boolean): SocketEvent | undefined {
    const isWhole = isLast && this.#parts.length === 0;
    if (!isWhole) this.#parts.add(payload);
    if (!isLast) return undefined;
    const bytes = isWhole ? payload : this.#parts.take(this.#parts.length);
    const isText = this.#kind === opcodes.text;
    this.#kind = undefined;
    return { kind: "message", message: isText ? readText(bytes) : bytes };
  }
}

function readText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new SocketProtocolError(1007, "a text message is not UTF-8");
  }
}

function readClose(payload: Uint8Array): SocketClose {
  if (payload.length === 0) return { code: 1005, reason: "" };
  if (payload.length === 1) throw new SocketProtocolError(1002, "a close frame has an incomplete code");
  const code = new DataView(payload.buffer, payload.byteOffset).getUint16(0);
  return { code, reason: readText(payload.subarray(2)) };
}
