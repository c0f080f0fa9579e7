import { joinBytes } from "./bytes.ts";
import { isHeaderName, isHeaderValue } from "./headers.ts";
import { decodeUtf8 } from "./json.ts";

/** A file in a form. */
export class FormFile {
  /** The file name as written between the quotes. */
  readonly name: string;
  /** Its content type; undefined if the part has none. */
  readonly type: string | undefined;
  readonly bytes: Uint8Array;

  constructor(name: string, type: string | undefined, bytes: Uint8Array) {
    this.name = name;
    this.type = type;
    this.bytes = bytes;
  }

  /** Shown where the bytes are not. */
  toJSON(): object {
    return { filename: this.name, content_type: this.type ?? null, bytes: this.bytes.length };
  }
}

/** One part of a form. */
export interface FormPart {
  /** The field name as sent, such as `image[]`. */
  name: string;
  value: string | FormFile;
  /** Content type of a text that names one when it is written. */
  type?: string;
}

/** A malformed form. */
export class FormError extends Error {
  override readonly name = "FormError";
}

/** Most parts of one form. */
const maxParts = 1_000;
/** Most bytes of the headers of a part. */
export const maxHeadBytes = 16 * 1024;
/** Most bytes of a part that is not a file. */
const maxTextBytes = 4 * 1024 * 1024;

const dash = 0x2d;
const carriageReturn = 0x0d;
const lineFeed = 0x0a;

/** The boundary of a `multipart/form-data` content type; undefined for other types, and without one. */
export function boundaryOf(type: string | undefined): string | undefined {
  if (type === undefined || !/^multipart\/form-data\s*(?:;|$)/i.test(type)) return undefined;
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]*)"|([^\s;"]+))/i.exec(type) ?? [];
  const boundary = quoted ?? plain ?? "";
  // RFC 2046, section 5.1.1
  return /^[\x20-\x7e]{1,70}$/.test(boundary) ? boundary : undefined;
}

/**
 * A byte string to search for. Most bytes are skipped (Horspool). If the first byte does not recur, as in delimiters,
 * the worst case is linear in the searched bytes, whoever chose them.
 */
export class BytePattern {
  readonly bytes: Uint8Array;
  /** How far the search advances, by the byte at its end. */
  readonly #shifts: Uint8Array;

  /** @param bytes At most 255. */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#shifts = new Uint8Array(256).fill(bytes.length);
    for (const [index, byte] of bytes.subarray(0, -1).entries()) this.#shifts[byte] = bytes.length - 1 - index;
  }

  /** Index of the bytes at or after `from`; -1 if absent. */
  indexIn(text: Uint8Array, from: number): number {
    const { bytes } = this;
    const shifts = this.#shifts;
    const last = bytes.length - 1;
    let end = from + last;
    while (end < text.length) {
      let length = 0;
      while (length <= last && text[end - last + length] === bytes[length]) length++;
      if (length > last) return end - last;
      end += shifts[text[end] ?? 0] ?? 1;
    }
    return -1;
  }
}

const parameterForm = /\s*;\s*([\w-]+\*?)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/y;

/**
 * Parameters of a `content-disposition`. Parsed strictly: ambiguous headers are rejected.
 *
 * @throws {FormError}
 */
function readDisposition(given: string): Map<string, string> {
  const parameters = new Map<string, string>();
  const text = given.endsWith(";") ? given.slice(0, -1).trimEnd() : given;
  if (!/^form-data(?=[\s;]|$)/i.test(text)) throw new FormError("a part is not form-data");
  let position = "form-data".length;
  while (position < text.length) {
    parameterForm.lastIndex = position;
    const found = parameterForm.exec(text);
    const name = found?.[1]?.toLowerCase() ?? "";
    if (!found || parameters.has(name)) throw new FormError("a part has a malformed content-disposition");
    parameters.set(name, found[2] ?? found[3] ?? "");
    position = parameterForm.lastIndex;
  }
  return parameters;
}

/** A file name in the extended form of RFC 8187. */
function readExtendedName(value: string): string {
  const [, encoded] = /^utf-8'[^']*'(.*)$/i.exec(value) ?? [];
  try {
    return encoded === undefined ? value : escapeName(decodeURIComponent(encoded));
  } catch {
    return value;
  }
}

function readHead(bytes: Uint8Array): Map<string, string> {
  if (bytes.length > maxHeadBytes) throw new FormError("the headers of a part are too long");
  const head = new Map<string, string>();
  for (const line of decodeField(bytes).split("\r\n")) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (!isHeaderName(name) || !isHeaderValue(value) || head.has(name))
      throw new FormError("a part has malformed headers");
    head.set(name, value);
  }
  return head;
}

function decodeField(bytes: Uint8Array): string {
  try {
    return decodeUtf8(bytes);
  } catch {
    throw new FormError("a field is not UTF-8");
  }
}

/** Headers of a part. */
interface PartHead {
  /** The field name as sent, such as `image[]`. */
  name: string;
  /** The file name as written between the quotes; undefined for parts that are not files. */
  fileName: string | undefined;
  /** Its content type. */
  type: string | undefined;
}

/**
 * Reads the headers of a part, without the empty line after them.
 *
 * @throws {FormError}
 */
export function readPartHead(bytes: Uint8Array): PartHead {
  const head = readHead(bytes);
  const disposition = readDisposition(head.get("content-disposition") ?? "");
  const name = disposition.get("name") ?? "";
  if (name === "" || name.includes("\\")) throw new FormError("a part has no name, or a malformed one");
  const extended = disposition.get("filename*");
  const fileName = extended === undefined ? disposition.get("filename") : readExtendedName(extended);
  return { name, fileName, type: head.get("content-type") };
}

/**
 * Reads a part, headers and content.
 *
 * @throws {FormError}
 */
export function readPart(bytes: Uint8Array): FormPart {
  const end = headEnd.indexIn(bytes, 0);
  if (end < 0) throw new FormError("the headers of a part do not end");
  const { name, fileName, type } = readPartHead(bytes.subarray(0, end));
  const content = bytes.subarray(end + headEnd.bytes.length);
  if (fileName !== undefined) return { name, value: new FormFile(fileName, type, content) };
  if (content.length > maxTextBytes) throw new FormError("a part that is not a file is too long");
  return { name, value: decodeField(content) };
}

/** Index after the blanks that may follow a boundary. */
export function skipBlanks(bytes: Uint8Array, from: number): number {
  let index = from;
  while (bytes[index] === 0x20 || bytes[index] === 0x09) index++;
  return index;
}

/**
 * Parts of a form (RFC 7578), in order. Files share the memory of `bytes`.
 *
 * @throws {FormError} If it is malformed, or its parts are too many or too long.
 */
export function readForm(bytes: Uint8Array, boundary: string): FormPart[] {
  const opener = encoder.encode(`--${boundary}`);
  const delimiter = new BytePattern(encoder.encode(`\r\n--${boundary}`));
  const parts: FormPart[] = [];
  const start = bytes[0] === carriageReturn && bytes[1] === lineFeed ? 2 : 0;
  if (!opener.every((byte, index) => bytes[start + index] === byte)) {
    throw new FormError("it does not begin with its boundary");
  }
  let position = start + opener.length;
  for (;;) {
    if (bytes[position] === dash && bytes[position + 1] === dash) return parts;
    const line = skipBlanks(bytes, position);
    if (bytes[line] !== carriageReturn || bytes[line + 1] !== lineFeed) throw new FormError("a boundary is malformed");
    const end = delimiter.indexIn(bytes, line + 2);
    if (end < 0) throw new FormError("it is cut off");
    if (parts.length === maxParts) throw new FormError(`it has more than ${maxParts} parts`);
    parts.push(readPart(bytes.subarray(line + 2, end)));
    position = end + delimiter.bytes.length;
  }
}

const encoder = new TextEncoder();
/** Ends the headers of a part. */
export const headEnd = new BytePattern(encoder.encode("\r\n\r\n"));
const lineEnd = encoder.encode("\r\n");

/** Escapes text for the quotes of a part's headers (WHATWG HTML, multipart/form-data encoding). */
function escapeName(text: string): string {
  return text.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

/** Decodes text between the quotes of a part's headers, in either escaping. */
export function unescapeName(text: string): string {
  const escaped = { "%22": '"', "%0d": "\r", "%0a": "\n" };
  return text
    .replace(/\\(["\\])/g, "$1")
    .replace(/%(?:22|0d|0a)/gi, (code) => escaped[code.toLowerCase() as keyof typeof escaped]); // no other match is possible
}

/** The headers of a part, without the blank line after them. */
export function writePartHead({
  name,
  filename,
  type,
}: {
  name: string;
  filename: string | undefined;
  type: string | undefined;
}): string {
  const head = `Content-Disposition: form-data; name="${escapeName(name)}"`;
  if (filename === undefined) return head;
  return `${head}; filename="${escapeName(filename)}"\r\nContent-Type: ${type ?? "application/octet-stream"}`;
}

/** Serialises a form; file names are written unchanged. */
export function writeForm(parts: readonly FormPart[], boundary: string): Uint8Array {
  const pieces: Uint8Array[] = [];
  for (const { name, value, type } of parts) {
    const isFile = value instanceof FormFile;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"`;
    const ofFile = isFile
      ? `; filename="${value.name}"\r\nContent-Type: ${value.type ?? "application/octet-stream"}`
      : type === undefined
        ? ""
        : `\r\nContent-Type: ${type}`;
    pieces.push(encoder.encode(`${head}${ofFile}\r\n\r\n`), isFile ? value.bytes : encoder.encode(value));
    pieces.push(lineEnd);
  }
  pieces.push(encoder.encode(`--${boundary}--\r\n`));
  return joinBytes(pieces);
}
