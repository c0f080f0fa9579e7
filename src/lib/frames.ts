import { joinBytes } from "./bytes.ts";

/** A message between processes of one gateway: a JSON value, and bytes that need no text. */
interface Frame {
  readonly head: unknown;
  readonly bytes: Uint8Array;
}

/** Lengths at the begin of a frame: of all that follows the first, and of the JSON text. */
const lengthsSize = 8;
/** Most bytes of a frame: whoever sends more does not speak this protocol. */
const mostBytes = 512 * 1024 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const nothing = new Uint8Array();

/** A frame as it is sent. */
export function encodeFrame(head: unknown, bytes: Uint8Array = nothing): Uint8Array {
  const text = encoder.encode(JSON.stringify(head));
  const frame = new Uint8Array(lengthsSize + text.length + bytes.length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, 4 + text.length + bytes.length);
  view.setUint32(4, text.length);
  frame.set(text, lengthsSize);
  frame.set(bytes, lengthsSize + text.length);
  return frame;
}

/** Finds the frames in the pieces in which they arrive. */
export class FrameReader {
  #pieces: Uint8Array[] = [];
  #length = 0;
  /** Bytes that must be there before anything can be read. */
  #wanted = lengthsSize;

  /**
   * The frames that are complete with a piece.
   *
   * @throws {RangeError} If the bytes are no frames.
   */
  push(piece: Uint8Array): Frame[] {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length < this.#wanted) return [];
    const [only = nothing, ...others] = this.#pieces;
    const whole = others.length === 0 ? only : joinBytes(this.#pieces);
    const frames: Frame[] = [];
    let position = 0;
    for (;;) {
      const size = frameSize(whole, position);
      this.#wanted = size ?? lengthsSize;
      if (size === undefined || position + size > whole.length) break;
      frames.push(decodeFrame(whole.subarray(position, position + size)));
      position += size;
    }
    this.#pieces = position === whole.length ? [] : [whole.subarray(position)];
    this.#length = whole.length - position;
    return frames;
  }
}

/** Bytes of the frame that begins at a position; undefined where its lengths are not complete. */
function frameSize(bytes: Uint8Array, position: number): number | undefined {
  if (bytes.length - position < lengthsSize) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset + position, lengthsSize);
  const [size, text] = [view.getUint32(0), view.getUint32(4)];
  if (size > mostBytes || text > size - 4) throw new RangeError("Cannot read a message: it is not of this protocol");
  return 4 + size;
}

function decodeFrame(frame: Uint8Array): Frame {
  const length = new DataView(frame.buffer, frame.byteOffset).getUint32(4);
  const end = lengthsSize + length;
  const head: unknown = JSON.parse(decoder.decode(frame.subarray(lengthsSize, end)));
  return { head, bytes: frame.subarray(end) };
}
