import { joinBytes } from "./bytes.ts";
import { BytePattern, FormError, headEnd, maxHeadBytes, readPartHead, skipBlanks, unescapeName } from "./multipart.ts";

/** A multipart body that cannot be read. */
export class MultipartError extends Error {
  override readonly name = "MultipartError";
  /** @param problem What is wrong with it. */
  constructor(problem: string, options?: ErrorOptions) {
    super(`Cannot read the form: ${problem}`, options);
  }
}

/** One part of a multipart body. */
export interface MultipartPart {
  /** Name of the form field. */
  name: string;
  /** Undefined for fields that are no files. */
  filename: string | undefined;
  /** Content type the part states. */
  type: string | undefined;
  /** Bytes of the part as they come. What is not read of them is skipped when the next part is asked for. */
  body: AsyncGenerator<Uint8Array, void>;
}

/** Most parts of a body. */
const maxParts = 64;

const encoder = new TextEncoder();
const lineEnd = encoder.encode("\r\n");
const none = new Uint8Array(0);

/** Bytes that came and were not taken yet. */
class Source {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  /** As if a line had ended before the body: its first boundary looks like the others then. */
  bytes: Uint8Array = lineEnd;

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  /** @throws {MultipartError} At the end of the body. */
  async fill(): Promise<void> {
    const { done, value } = await this.#reader.read();
    if (done) throw new MultipartError("it ends before its last boundary");
    this.bytes = this.bytes.length === 0 ? value : joinBytes([this.bytes, value]);
  }

  /** What comes before a delimiter, piece by piece; the delimiter itself is taken too. */
  async *until(delimiter: BytePattern): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const { bytes } = this;
      const index = delimiter.indexIn(bytes, 0);
      // the delimiter may have begun in the last bytes
      const end = index >= 0 ? index : Math.max(0, bytes.length - delimiter.bytes.length + 1);
      this.bytes = bytes.subarray(index >= 0 ? index + delimiter.bytes.length : end);
      if (end > 0) yield bytes.subarray(0, end);
      if (index >= 0) return;
      await this.fill();
    }
  }

  cancel(reason: unknown): void {
    this.#reader.cancel(reason).catch(() => {});
  }
}

/**
 * The head of the part that begins here, behind its boundary.
 *
 * @throws {MultipartError}
 */
async function readHead(source: Source): Promise<Omit<MultipartPart, "body">> {
  let bytes: Uint8Array = none;
  for await (const piece of source.until(headEnd)) {
    bytes = joinBytes([bytes, piece]);
    if (bytes.length > maxHeadBytes) throw new MultipartError("the head of a part is too long");
  }
  const line = skipBlanks(bytes, 0);
  if (line < bytes.length && !lineEnd.every((byte, index) => bytes[line + index] === byte)) {
    throw new MultipartError("a boundary is broken");
  }
  try {
    const { name, fileName, type } = readPartHead(bytes.subarray(line + lineEnd.length));
    return { name, filename: fileName === undefined ? undefined : unescapeName(fileName), type };
  } catch (cause) {
    throw cause instanceof FormError ? new MultipartError(cause.message, { cause }) : cause;
  }
}

/**
 * Parts of a form, in their order, without holding more of it than the piece that came last (RFC 7578).
 *
 * @throws {MultipartError} If it is cut off or malformed; what the body itself throws comes as it is.
 */
export async function* readMultipart(
  body: ReadableStream<Uint8Array>,
  boundary: string,
): AsyncGenerator<MultipartPart, void> {
  const source = new Source(body);
  const delimiter = new BytePattern(encoder.encode(`\r\n--${boundary}`));
  let isWhole = false;
  try {
    for await (const _preamble of source.until(delimiter));
    for (let parts = 0; ; parts++) {
      while (source.bytes.length < 2) await source.fill();
      if (source.bytes[0] === 0x2d && source.bytes[1] === 0x2d) {
        isWhole = true;
        return;
      }
      if (parts === maxParts) throw new MultipartError(`it has more than ${maxParts} parts`);
      const head = await readHead(source);
      const content = source.until(delimiter);
      yield { ...head, body: content };
      for await (const _rest of content);
    }
  } finally {
    source.cancel(isWhole ? "the form is over" : "the form is not read on");
  }
}
