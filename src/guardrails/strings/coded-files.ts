import { fromBase64Url } from "../../lib/base64.ts";
import { stringOf } from "../../lib/json.ts";

/** Base64 in one of its forms. */
export const base64 = /^[A-Za-z0-9+/_\r\n-]+={0,2}\s*$/;
const wrappedBase64 = /^[A-Za-z0-9+/_\s-]+={0,2}\s*$/;
/** Characters that text has and base64 rarely has: those of its URL-safe form, and line breaks. */
const textMark = /[-_\r\n]/;
/** Shorter strings of base64 characters are treated as text. */
const shortestFile = 64;

const textType =
  /^text\/|^image\/svg\+xml$|^application\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|javascript|x-javascript|typescript|sql|toml|x-ndjson|x-sh|csv|rtf)$/;
const mediaType = /^(?:image|audio|video|font)\/(?!svg\+xml$)/;
const textFile =
  /\.(?:txt|md|csv|tsv|json|jsonl|xml|html?|ya?ml|toml|ini|log|sql|py|js|ts|java|c|cc|cpp|h|go|rs|rb|php|sh|css)$/i;

/** Whether a media type is that of a file which is read. */
export function isTextType(type: string): boolean {
  return type === "" || textType.test(type);
}

/** Whether a media type is that of an image, audio or video. */
export function isMediaType(type: string): boolean {
  return mediaType.test(type);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });
const utf16 = new TextDecoder("utf-16le");
const utf16be = new TextDecoder("utf-16be");

/** Whether all lines but the last are equally long, as in wrapped base64 (RFC 2045, section 6.8). */
function isWrapped(lines: readonly string[]): boolean {
  const [{ length } = ""] = lines;
  return (
    length >= 32 && lines.slice(1, -1).every((line) => line.length === length) && (lines.at(-1) ?? "").length <= length
  );
}

/** Whether a string is base64, and not words separated by characters that base64 also has. */
export function isCoded(text: string): boolean {
  if (text.length < shortestFile || !base64.test(text)) return false;
  if (!textMark.test(text)) return true;
  const lines = text.trimEnd().split(/\r?\n/);
  if (lines.length > 1 && !isWrapped(lines)) return false;
  let marks = 0;
  for (let index = 0; index < text.length; index++) {
    const letter = text.charCodeAt(index);
    if (letter === 0x2d || letter === 0x5f) marks++;
  }
  // two of the 64 characters are punctuation
  return marks * 10 < text.length;
}

/** Whether the value of a file field is a file. */
export function holdsFile(text: string, type: string | undefined): boolean {
  return type === undefined || mediaType.test(type) ? isCoded(text) : wrappedBase64.test(text);
}

/** Decodes text; undefined where the bytes are not text. */
function decodeText(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return utf16.decode(bytes);
  if (first === 0xfe && second === 0xff) return utf16be.decode(bytes);
  try {
    const text = utf8.decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Decodes base64 text; undefined where it is not base64 or not text. */
export function decodeFile(data: string): string | undefined {
  try {
    return decodeText(fromBase64Url(data.replace(/\s/g, "")));
  } catch {
    return undefined;
  }
}

/** The media type an object states for its file, in lower case and without parameters. */
export function statedType(holder: Readonly<Record<string, unknown>>): string | undefined {
  const stated = stringOf(holder.media_type) ?? stringOf(holder.mimeType) ?? stringOf(holder.mime_type);
  return stated?.toLowerCase().split(";")[0]?.trim();
}

/** The type of a file by its name; a document type where the name has an unknown extension. */
export function typeOfName(holder: Readonly<Record<string, unknown>>): string | undefined {
  const name = stringOf(holder.filename) ?? stringOf(holder.file_name);
  if (name === undefined) return undefined;
  return textFile.test(name) ? "text/plain" : "application/octet-stream";
}
