import { joinBytes } from "./bytes.ts";
import { BytePattern, readPart } from "./multipart.ts";

/** Parts up to this many bytes are looked at. */
const maxPartBytes = 8 * 1024;
const encoder = new TextEncoder();
const lineEnd = encoder.encode("\r\n");

/** Tells the short texts of a form while its bytes flow by. What it cannot read it passes over: others judge the form. */
export class FieldWatcher {
  readonly #delimiter: BytePattern;
  readonly #note: (name: string, text: string) => void;
  /** Bytes that may belong to what comes next. */
  #rest: Uint8Array = lineEnd;
  #isInPart = false;

  /** @param note Called with each short text, under its name as it was sent. */
  constructor(boundary: string, note: (name: string, text: string) => void) {
    this.#delimiter = new BytePattern(encoder.encode(`\r\n--${boundary}`));
    this.#note = note;
  }

  /** Sees the next bytes; they stay as they are. */
  push(chunk: Uint8Array): void {
    let bytes = this.#isInPart ? joinBytes([this.#rest, chunk]) : this.#passEdge(chunk);
    while (bytes !== undefined) bytes = this.#isInPart ? this.#readPart(bytes) : this.#findPart(bytes);
  }

  /**
   * What is to be looked at of the next bytes: what follows a boundary that began before them, else all. The bytes of a file
   * are not copied for it.
   */
  #passEdge(chunk: Uint8Array): Uint8Array | undefined {
    const { length } = this.#delimiter.bytes;
    const edge = joinBytes([this.#rest, chunk.subarray(0, length - 1)]);
    const at = this.#delimiter.indexIn(edge, 0);
    if (at >= 0) {
      this.#isInPart = true;
      return chunk.subarray(at + length - this.#rest.length);
    }
    if (chunk.length >= length - 1) return chunk;
    this.#rest = edge.slice(Math.max(0, edge.length - length + 1));
    return undefined;
  }

  /** What follows the next boundary; undefined when that has not come. */
  #findPart(bytes: Uint8Array): Uint8Array | undefined {
    const at = this.#delimiter.indexIn(bytes, 0);
    const { length } = this.#delimiter.bytes;
    this.#isInPart = at >= 0;
    if (at >= 0) return bytes.subarray(at + length);
    this.#rest = bytes.slice(Math.max(0, bytes.length - length + 1));
    return undefined;
  }

  /** What follows a part that is short; a long one is passed over. */
  #readPart(bytes: Uint8Array): Uint8Array | undefined {
    const end = this.#delimiter.indexIn(bytes.subarray(0, maxPartBytes), 0);
    if (end < 0 && bytes.length < maxPartBytes) {
      this.#rest = bytes.slice();
      return undefined;
    }
    this.#isInPart = false;
    if (end >= 0) this.#tell(bytes.subarray(0, end));
    return bytes.subarray(Math.max(end, 0));
  }

  #tell(part: Uint8Array): void {
    try {
      const { name, value } = readPart(part.subarray(lineEnd.length));
      if (typeof value === "string") this.#note(name, value);
    } catch {
      // the upstream tells what is wrong with it
    }
  }
}
