import { joinBytes } from "./bytes.ts";
import { BytePattern, readPart } from "./multipart.ts";

/** Longer parts are ignored. */
const maxPartBytes = 8 * 1024;
/** Parts that are read; forms that are read whole may have no more. */
const maxParts = 1_000;
const encoder = new TextEncoder();
const lineEnd = encoder.encode("\r\n");

/** Reports the short text fields among the first parts of a form while its bytes pass. Ignores malformed input, which the upstream rejects. */
export class FieldWatcher {
  readonly #delimiter: BytePattern;
  readonly #note: (name: string, text: string) => void;
  /** Bytes that may belong to the next boundary or part. */
  #rest: Uint8Array = lineEnd;
  #isInPart = false;
  #parts = 0;

  /** @param note Called with each short text and its field name. */
  constructor(boundary: string, note: (name: string, text: string) => void) {
    this.#delimiter = new BytePattern(encoder.encode(`\r\n--${boundary}`));
    this.#note = note;
  }

  /** Examines the next bytes without modifying them. */
  push(chunk: Uint8Array): void {
    if (this.#parts > maxParts) return;
    let bytes = this.#isInPart ? joinBytes([this.#rest, chunk]) : this.#passEdge(chunk);
    while (bytes !== undefined) bytes = this.#isInPart ? this.#readPart(bytes) : this.#findPart(bytes);
  }

  /**
   * The bytes to examine: those after a boundary that began in an earlier chunk, else all. File contents are not
   * copied for this.
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

  /** The bytes after the next boundary; undefined if it has not arrived. */
  #findPart(bytes: Uint8Array): Uint8Array | undefined {
    const at = this.#delimiter.indexIn(bytes, 0);
    const { length } = this.#delimiter.bytes;
    this.#isInPart = at >= 0;
    if (at >= 0) return bytes.subarray(at + length);
    this.#rest = bytes.slice(Math.max(0, bytes.length - length + 1));
    return undefined;
  }

  /** The bytes after a short part; long parts are skipped. */
  #readPart(bytes: Uint8Array): Uint8Array | undefined {
    const end = this.#delimiter.indexIn(bytes.subarray(0, maxPartBytes), 0);
    if (end < 0 && bytes.length < maxPartBytes) {
      this.#rest = bytes.slice();
      return undefined;
    }
    this.#isInPart = false;
    if (++this.#parts > maxParts) return undefined;
    if (end >= 0) this.#report(bytes.subarray(0, end));
    return bytes.subarray(Math.max(end, 0));
  }

  #report(part: Uint8Array): void {
    try {
      const { name, value } = readPart(part.subarray(lineEnd.length));
      if (typeof value === "string") this.#note(name, value);
    } catch {
      // the upstream reports what is wrong with it
    }
  }
}
