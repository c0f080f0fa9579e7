import { InvalidRequestError } from "../../errors.ts";
import { toHex } from "../../lib/base64.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import { sha256Hex } from "../../lib/hash.ts";

const encoder = new TextEncoder();

function refuseKey(param: string, problem: string, cause?: unknown): never {
  throw new InvalidRequestError(`Cannot use ${param}: ${problem}`, {
    param,
    code: "invalid_private_key",
    ...(cause !== undefined && { cause }),
  });
}

/** One DER element (ITU-T X.690): its tag, its content, and the offset of the next element. */
interface Element {
  tag: number;
  content: Uint8Array<ArrayBuffer>;
  end: number;
}

function readElement(bytes: Uint8Array<ArrayBuffer>, at: number): Element {
  const first = bytes[at + 1] ?? 0;
  const extra = first & 0x80 ? first & 0x7f : 0;
  let length = extra === 0 ? first : 0;
  for (const byte of bytes.subarray(at + 2, at + 2 + extra)) length = length * 256 + byte;
  const start = at + 2 + extra;
  if (extra > 4 || start + length > bytes.length) throw new RangeError("the key is truncated");
  return { tag: bytes[at] ?? 0, content: bytes.slice(start, start + length), end: start + length };
}

function readChildren(bytes: Uint8Array<ArrayBuffer>): Element[] {
  const children: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const child = readElement(bytes, at);
    children.push(child);
    at = child.end;
  }
  return children;
}

function childrenOf(element: Element | undefined): Element[] {
  return element ? readChildren(element.content) : [];
}

function writeElement(tag: number, ...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const sizes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) sizes.unshift(rest % 256);
  const head = length < 0x80 ? [tag, length] : [tag, 0x80 | sizes.length, ...sizes];
  const whole = new Uint8Array(head.length + length);
  whole.set(head);
  let at = head.length;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** `AlgorithmIdentifier` of RSA, with its version before it. */
const rsaHead = Uint8Array.of(2, 1, 0, 0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 1, 5, 0);

const hexOf = (bytes: Uint8Array | undefined) => (bytes ? toHex(bytes) : "");

/** Pseudo-random functions of PBKDF2 (RFC 8018, appendix B.1.2). */
const hashes: Readonly<Record<string, string>> = {
  "2a864886f70d0207": "SHA-1",
  "2a864886f70d0209": "SHA-256",
  "2a864886f70d020a": "SHA-384",
  "2a864886f70d020b": "SHA-512",
};
/** Key bits of AES in CBC mode. */
const ciphers: Readonly<Record<string, number>> = {
  "608648016503040102": 128,
  "60864801650304012a": 256,
};
/** Upper limit: more rounds would let a caller consume CPU time. */
const maxRounds = 1_000_000;
const pbes2 = "2a864886f70d01050d";

/** Decrypts an encrypted key with its passphrase (RFC 8018, section 6.2: PBES2 with PBKDF2 and AES). */
async function decrypt(der: Uint8Array<ArrayBuffer>, passphrase: string, param: string) {
  const [algorithm, sealed] = childrenOf(readElement(der, 0));
  const [kind, parameters] = childrenOf(algorithm);
  const [derivation, scheme] = childrenOf(parameters);
  const [cipher, iv] = childrenOf(scheme);
  const bits = ciphers[hexOf(cipher?.content)];
  const [salt, rounds, ...others] = childrenOf(childrenOf(derivation)[1]);
  const [prf] = childrenOf(others.find(({ tag }) => tag === 0x30));
  const hash = prf ? hashes[hexOf(prf.content)] : "SHA-1";
  const iterations = Number.parseInt(hexOf(rounds?.content) || "0", 16);
  if (hexOf(kind?.content) !== pbes2 || !bits || !hash || !salt || !iv || !sealed || iterations > maxRounds) {
    return refuseKey(param, "its encryption is not supported; use PBKDF2 with AES-128 or AES-256");
  }
  const base = await crypto.subtle.importKey("raw", encoder.encode(passphrase), "PBKDF2", false, ["deriveKey"]);
  const derive = { name: "PBKDF2", salt: salt.content, iterations, hash };
  const key = await crypto.subtle.deriveKey(derive, base, { name: "AES-CBC", length: bits }, false, ["decrypt"]);
  try {
    return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-CBC", iv: iv.content }, key, sealed.content));
  } catch (cause) {
    return refuseKey(param, "its passphrase is wrong", cause);
  }
}

const armour = /-----BEGIN ([A-Z ]+)-----([\s\S]*?)-----END \1-----/;

/** Type and bytes of a key: PEM with line breaks as they are or written `\n`, or base64 of either. */
function readPem(text: string, param: string): { kind: string; der: Uint8Array<ArrayBuffer> } {
  try {
    const plain = text.includes("-----BEGIN") ? text : atob(text.replace(/\s/g, ""));
    const [, kind, body] = armour.exec(plain.replaceAll("\\n", "\n")) ?? [];
    if (body?.includes("Proc-Type")) refuseKey(param, "convert it to PKCS #8 first (openssl pkcs8 -topk8)");
    const binary = kind === undefined ? plain : atob((body ?? "").replace(/\s/g, ""));
    return {
      kind: kind ?? "PRIVATE KEY",
      der: Uint8Array.from(binary, (character) => character.charCodeAt(0)),
    };
  } catch (cause) {
    if (cause instanceof InvalidRequestError) throw cause;
    return refuseKey(param, "it is not a key in PEM form", cause);
  }
}

/** Maximum number of cached keys. */
const maxKeys = 1_000;
/** Imported keys, which are not extractable, by a digest of the key text. */
const imported = new BoundedMap<string, Promise<CryptoKey>>(maxKeys);

/**
 * As `importRsaKey`, cached: importing a key takes longer than signing with it.
 *
 * @throws {InvalidRequestError} As `importRsaKey`; failures are not cached.
 */
export async function readRsaKey(
  text: string,
  options: { passphrase?: string | undefined; param: string },
): Promise<CryptoKey> {
  const name = await sha256Hex(JSON.stringify([text, options.passphrase ?? null]));
  const known = imported.get(name);
  if (known) return known;
  const importing = importRsaKey(text, options);
  imported.set(name, importing);
  importing.catch(() => imported.delete(name));
  return importing;
}

/**
 * An RSA signing key (RSASSA-PKCS1-v1_5 with SHA-256) from PKCS #8 or PKCS #1 text.
 *
 * @param options.param Name of the setting for error messages, which never contain the key.
 * @throws {InvalidRequestError} If the key cannot be used.
 */
async function importRsaKey(
  text: string,
  { passphrase, param }: { passphrase?: string | undefined; param: string },
): Promise<CryptoKey> {
  const { kind, der } = readPem(text, param);
  try {
    let pkcs8 = der;
    if (kind === "RSA PRIVATE KEY") pkcs8 = writeElement(0x30, rsaHead, writeElement(4, der));
    if (kind === "ENCRYPTED PRIVATE KEY") {
      if (!passphrase) refuseKey(param, "it is encrypted; set its passphrase");
      pkcs8 = await decrypt(der, passphrase, param);
    }
    const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
    return await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, false, ["sign"]);
  } catch (cause) {
    if (cause instanceof InvalidRequestError) throw cause;
    return refuseKey(param, "it is not an RSA key", cause);
  }
}
