import { joinBytes } from "./bytes.ts";

/** One line of bytes. */
export interface Line {
  /** Without its line feed; empty if it is too long. */
  bytes: Uint8Array;
  /** Offset of the next line from the start of the text. */
  end: number;
  isTooLong: boolean;
}

/** Limits, and the offset of the first chunk in the text. */
interface LineOptions {
  maxBytes: number;
  /** Default 0. */
  offset?: number;
}

/** Pieces of an incomplete line. */
class Pending {
  #pieces: Uint8Array[] = [];
  length = 0;

  add(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.length += piece.length;
  }

  take(): Uint8Array {
    const bytes = joinBytes(this.#pieces);
    this.clear();
    return bytes;
  }

  clear(): void {
    this.#pieces = [];
    this.length = 0;
  }
}

const empty = new Uint8Array(0);

/** Splits a stream into lines. Text after the last line feed is a line, unless empty. */
export async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
  { maxBytes, offset = 0 }: LineOptions,
): AsyncGenerator<Line, void> {
  const pending = new Pending();
  let isTooLong = false;
  let position = offset;
  const add = (piece: Uint8Array) => {
    position += piece.length;
    isTooLong ||= pending.length + piece.length > maxBytes;
    if (isTooLong) pending.clear();
    else pending.add(piece);
  };
  const take = (end: number): Line => {
    const line = { bytes: isTooLong ? empty : pending.take(), end, isTooLong };
    isTooLong = false;
    return line;
  };
  for await (const piece of pieces) {
    let start = 0;
    for (let index = piece.indexOf(10); index >= 0; index = piece.indexOf(10, start)) {
      add(piece.subarray(start, index));
      position++;
      start = index + 1;
      yield take(position);
    }
    if (start < piece.length) add(piece.subarray(start));
  }
  if (isTooLong || pending.length > 0) yield take(position);
}
