import { BytePattern } from "./multipart.ts";

/** A multipart body that cannot be read. */
export class MultipartError extends Error {
  override readonly name = "MultipartError";
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

/** Most parts of a body, and bytes of the headers of one. */
const maxParts = 64;
const maxHeaderBytes = 16 * 1024;

const encoder = new TextEncoder();
const lineEnd = encoder.encode("\r\n");
const headersEnd = new BytePattern(encoder.encode("\r\n\r\n"));
const none = new Uint8Array(0);

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}

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
    if (done) throw new MultipartError("Cannot read the form: it ends before its last boundary");
    this.bytes = join(this.bytes, value);
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

/** A parameter of a header value. */
function readParameter(value: string, name: string): string | undefined {
  const match = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]+))`, "i").exec(value);
  return match?.[1]?.replace(/\\(["\\])/g, "$1").replace(/%22/g, '"') ?? match?.[2];
}

/** A file name in the extended form (RFC 8187). */
function readExtended(value: string): string | undefined {
  const match = /;\s*filename\*=utf-8'[^']*'([^\s;]+)/i.exec(value);
  try {
    return match?.[1] === undefined ? undefined : decodeURIComponent(match[1]);
  } catch {
    return undefined;
  }
}

/** Headers of the part that begins here. */
async function readHead(source: Source): Promise<Omit<MultipartPart, "body">> {
  let bytes: Uint8Array = none;
  for await (const piece of source.until(headersEnd)) {
    bytes = join(bytes, piece);
    if (bytes.length > maxHeaderBytes) throw new MultipartError("Cannot read the form: headers of a part are too long");
  }
  const lines = new TextDecoder().decode(bytes).split("\r\n");
  const headerOf = (name: string) =>
    lines
      .find((line) => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim();
  const disposition = headerOf("content-disposition") ?? "";
  const name = readParameter(disposition, "name");
  if (name === undefined) throw new MultipartError("Cannot read the form: a part has no name");
  const filename = readExtended(disposition) ?? readParameter(disposition, "filename");
  return { name, filename, type: headerOf("content-type") };
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
      if (parts === maxParts) throw new MultipartError(`Cannot read the form: it has more than ${maxParts} parts`);
      const head = await readHead(source);
      const content = source.until(delimiter);
      yield { ...head, body: content };
      for await (const _rest of content);
    }
  } finally {
    source.cancel(isWhole ? "the form is over" : "the form is not read on");
  }
}
