import { joinBytes } from "./bytes.ts";
import { BytePattern, FormError, headEnd, maxHeadBytes, readPartHead, skipBlanks, unescapeName } from "./multipart.ts";

/** A malformed multipart body. */
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
  /** Undefined for fields that are not files. */
  filename: string | undefined;
  /** Content type of the part. */
  type: string | undefined;
  /** Content of the part as it arrives. Unread content is skipped when the next part is requested. */
  body: AsyncGenerator<Uint8Array, void>;
}

/** Most parts of a body. */
const maxParts = 64;

const encoder = new TextEncoder();
const lineEnd = encoder.encode("\r\n");
const none = new Uint8Array(0);

/** Bytes that arrived and were not consumed yet. */
class Source {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  /** Starts with a line end, so that the first boundary looks like the others. */
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

  /** Yields the bytes before a delimiter and consumes the delimiter. */
  async *until(delimiter: BytePattern): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const { bytes } = this;
      const index = delimiter.indexIn(bytes, 0);
      // the delimiter may begin in the last bytes
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
 * Reads the headers of the part after a boundary.
 *
 * @throws {MultipartError}
 */
async function readHead(source: Source): Promise<Omit<MultipartPart, "body">> {
  let bytes: Uint8Array = none;
  for await (const piece of source.until(headEnd)) {
    bytes = joinBytes([bytes, piece]);
    if (bytes.length > maxHeadBytes) throw new MultipartError("the headers of a part are too long");
  }
  const line = skipBlanks(bytes, 0);
  if (line < bytes.length && !lineEnd.every((byte, index) => bytes[line + index] === byte)) {
    throw new MultipartError("a boundary is malformed");
  }
  try {
    const { name, fileName, type } = readPartHead(bytes.subarray(line + lineEnd.length));
    return { name, filename: fileName === undefined ? undefined : unescapeName(fileName), type };
  } catch (cause) {
    throw cause instanceof FormError ? new MultipartError(cause.message, { cause }) : cause;
  }
}

/**
 * Parts of a form in order, with only the latest chunk in memory (RFC 7578).
 *
 * @throws {MultipartError} If the body is cut off or malformed; errors of the body's stream pass unchanged.
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
    source.cancel(isWhole ? "the form is complete" : "the form is no longer read");
  }
}
