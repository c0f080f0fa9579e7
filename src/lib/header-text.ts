import { fromBase64, toBase64 } from "./base64.ts";
import { decodeUtf8 } from "./json.ts";

const encodedForm = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;
const plainForm = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** JSON as a header may hold it. */
export function encodeHeader(value: unknown): string {
  return JSON.stringify(value).replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A string as the value of a header that repeats it. */
export function toHeaderText(text: string): string {
  if (plainForm.test(text) && !text.startsWith("=?base64?")) return text;
  return `=?base64?${toBase64(new TextEncoder().encode(text))}?=`;
}

/** The string that a header repeats; undefined if its encoding is malformed. */
export function fromHeaderText(value: string): string | undefined {
  const trimmed = value.trim();
  if (!trimmed.startsWith("=?base64?")) return trimmed;
  const [, encoded] = encodedForm.exec(trimmed) ?? [];
  if (encoded === undefined) return undefined;
  try {
    return decodeUtf8(fromBase64(encoded));
  } catch {
    return undefined;
  }
}
