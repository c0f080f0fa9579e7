import { crc32, randomBase62, randomBytes, toBase62 } from "../lib/hash.ts";

/** Key prefix unless the operator sets another. */
export const defaultKeyPrefix = "gk";

/** A new key: shown once, stored as a digest. */
interface MintedKey {
  /** `<prefix>_<id>_<secret><check>`. */
  key: string;
  /** The public part, for looking it up. */
  lookupId: string;
}

function checkOf(text: string): string {
  return toBase62(BigInt(crc32(text)), 6);
}

/**
 * Generates a key: 12 public characters, 43 secret ones from 32 random bytes, 6 of CRC-32.
 *
 * @param lookupId The public characters of a key that gets a new secret; by default new ones.
 */
export function mintApiKey(prefix: string, lookupId: string = randomBase62(12)): MintedKey {
  const secret = toBase62(
    randomBytes(32).reduce((number, byte) => number * 256n + BigInt(byte), 0n),
    43,
  );
  const body = `${prefix}_${lookupId}_${secret}`;
  return { key: body + checkOf(body), lookupId };
}

/** Characters of a key behind its prefix and the `_` after that. */
export const keyLength = 12 + 1 + 49;

const keyForm = /^([A-Za-z0-9-]{1,16})_([0-9A-Za-z]{12})_[0-9A-Za-z]{49}$/;

/** The public part of a key; undefined when format, prefix or checksum are wrong. Needs no database. */
export function readLookupId(key: string, prefix: string): string | undefined {
  const match = keyForm.exec(key);
  if (!match || match[1] !== prefix) return undefined;
  return checkOf(key.slice(0, -6)) === key.slice(-6) ? match[2] : undefined;
}

/** The public part of a key that has another form than those the gateway makes: the beginning of its digest. */
export function chosenLookupId(digest: string): string {
  return `chosen-${digest.slice(0, 20)}`;
}

/** Whether a public part is that of a key which the gateway made. */
export function isMintedLookupId(lookupId: string | null): lookupId is string {
  return lookupId !== null && /^[0-9A-Za-z]{12}$/.test(lookupId);
}

/** A secret as lists show it: two characters, stars, three characters; short ones as stars only. */
export function maskSecret(secret: string): string {
  return secret.length < 12 ? "*****" : `${secret.slice(0, 2)}*****${secret.slice(-3)}`;
}

const documentedExamples = new Set(["your-gateway-api-key", "change-me-change-me", "example-example-"]);

/**
 * Checks a bootstrap key the operator chose.
 *
 * @throws {TypeError} If it is empty, short, an example, or cannot be sent in a header.
 */
export function requireBootstrapKey(name: string, key: string): string {
  if (!/^[A-Za-z0-9._~+/=-]{16,512}$/.test(key)) {
    throw new TypeError(`Cannot use ${name}: it must be 16 to 512 letters, digits or any of . _ ~ + / = -`);
  }
  if (documentedExamples.has(key.toLowerCase()))
    throw new TypeError(`Cannot use ${name}: it is an example of the documentation`);
  return key;
}

/** Whether a credential has no separator of joined headers. */
export function isSingleCredential(text: string): boolean {
  return /^[^\s,]+$/.test(text);
}
