import { fromBase64Url, toBase64Url, toHex } from "./base64.ts";

/** HMAC-SHA-256 bound to one key; the digest is base64url. Hosts with a synchronous implementation return it directly. */
export type Mac = (text: string) => string | Promise<string>;
/** Creates a `Mac` from a key. */
export type MacFactory = (key: Uint8Array<ArrayBuffer>) => Mac;

const encoder = new TextEncoder();
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** HMAC-SHA-256 with WebCrypto: works everywhere, returns a promise. */
export const webMac: MacFactory = (key) => {
  const imported = crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return async (text) =>
    toBase64Url(new Uint8Array(await crypto.subtle.sign("HMAC", await imported, encoder.encode(text))));
};

/** Whether `digest` (base64url) is the HMAC-SHA-256 of `text`, compared in constant time. */
export async function verifyMac(key: Uint8Array<ArrayBuffer>, digest: string, text: string): Promise<boolean> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  return crypto.subtle.verify("HMAC", imported, fromBase64Url(digest), encoder.encode(text));
}

/** Whether two strings are equal, compared in a time that depends on their lengths alone. */
export function isSameText(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let index = 0; index < one.length; index++) difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return difference === 0;
}

/** HKDF-SHA-256: derives a 32-byte key for one purpose from a secret. */
export async function deriveKey(secret: Uint8Array<ArrayBuffer>, purpose: string): Promise<Uint8Array<ArrayBuffer>> {
  const imported = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const parameters = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info: encoder.encode(purpose) };
  return new Uint8Array(await crypto.subtle.deriveBits(parameters, imported, 256));
}

/** Cryptographically secure random bytes. */
export function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(length));
}

/** SHA-256 of a string in lower-case hex. */
export async function sha256Hex(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text))));
}

/** An integer as base62, padded on the left with zeros to `length` characters. */
export function toBase62(value: bigint, length: number): string {
  let text = "";
  for (let rest = value; rest > 0n; rest /= 62n) text = alphabet.charAt(Number(rest % 62n)) + text;
  return text.padStart(length, "0");
}

/** `length` base62 characters, uniformly distributed. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    // 248 is the largest multiple of 62 in a byte: larger values would favour the first characters
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % 62);
    }
  }
  return text;
}

const crcTable = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** CRC-32 (ISO-HDLC, as in gzip) of bytes. */
export function crc32OfBytes(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) value = (crcTable[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/** CRC-32 (ISO-HDLC, as in gzip) of an ASCII string. */
export function crc32(text: string): number {
  let value = 0xffffffff;
  for (let index = 0; index < text.length; index++) {
    value = (crcTable[(value ^ text.charCodeAt(index)) & 0xff] ?? 0) ^ (value >>> 8);
  }
  return (value ^ 0xffffffff) >>> 0;
}
