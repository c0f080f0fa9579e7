/** Bytes per `String.fromCharCode` call: every engine accepts this many arguments. */
const step = 8_192;

/** Bytes as base64 (RFC 4648, section 4). */
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let start = 0; start < bytes.length; start += step) {
    const page: ArrayLike<number> = bytes.subarray(start, start + step);
    // apply accepts typed arrays; spreading is ten times slower
    text += String.fromCharCode.apply(undefined, page as number[]);
  }
  return btoa(text);
}

/**
 * Bytes of a base64 text.
 *
 * @throws {DOMException} If it is not base64.
 */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** Bytes as base64url without padding (RFC 4648, section 5). */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * Bytes of a base64url text, padded or not; standard base64 is accepted, too.
 *
 * @throws {DOMException} If a character is not in the alphabet.
 */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}

/** Bytes as lower-case hexadecimal digits. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Bytes of hexadecimal digits.
 *
 * @throws {TypeError} If the text is not hexadecimal.
 */
export function fromHex(text: string): Uint8Array {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(text)) throw new TypeError("Cannot read hexadecimal digits");
  const bytes = new Uint8Array(text.length / 2);
  for (let index = 0; index < bytes.length; index++)
    bytes[index] = Number.parseInt(text.slice(index * 2, index * 2 + 2), 16);
  return bytes;
}
