import { fromBase64Url, toBase64Url } from "../lib/base64.ts";
import { deriveKey, randomBytes } from "../lib/hash.ts";

/** One version of the master key, which wraps other keys. */
export interface MasterKey {
  /** `v1`, `v2` … */
  version: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Reads the current master keys; undefined when there is nothing to read. */
export type ReadMasterKeys = () => readonly MasterKey[] | undefined | Promise<readonly MasterKey[] | undefined>;

const entryForm = /^(v[1-9][0-9]{0,5}):([A-Za-z0-9_-]+=*)$/;

/**
 * Master keys of a string `v2:<base64url of 32 bytes>,v1:<…>`; the first one wraps.
 *
 * @throws {TypeError} If one is malformed, short, all zero, or repeated.
 */
export function readMasterKeys(text: string): MasterKey[] {
  const keys = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map(readEntry);
  if (keys.length === 0) throw new TypeError("Cannot use the master keys: none is given");
  const distinct = new Set(keys.flatMap(({ version, bytes }) => [version, toBase64Url(bytes)]));
  if (distinct.size !== keys.length * 2)
    throw new TypeError("Cannot use the master keys: a version or a key is repeated");
  return keys;
}

function readEntry(entry: string): MasterKey {
  const [, version, encoded] = entryForm.exec(entry) ?? [];
  if (version === undefined || encoded === undefined) {
    throw new TypeError("Cannot use the master keys: each must be written v1:<base64url of 32 bytes>");
  }
  let bytes: MasterKey["bytes"];
  try {
    bytes = fromBase64Url(encoded);
  } catch (cause) {
    throw new TypeError(`Cannot use master key ${version}: it is not base64url`, { cause });
  }
  if (bytes.length !== 32) throw new TypeError(`Cannot use master key ${version}: it must be 32 bytes long`);
  if (new Set(bytes).size < 4) throw new TypeError(`Cannot use master key ${version}: its bytes are not random`);
  return { version, bytes };
}

/** A new master key in text form. */
export function createMasterKeyText(version = "v1"): string {
  return `${version}:${toBase64Url(randomBytes(32))}`;
}

/** Master keys in the format of `readMasterKeys`. */
export function toMasterKeysText(keys: readonly MasterKey[]): string {
  return keys.map(({ version, bytes }) => `${version}:${toBase64Url(bytes)}`).join(",");
}

/** The CryptoKey with which a master key wraps other keys. */
export async function wrappingKey(key: MasterKey): Promise<CryptoKey> {
  const bytes = await deriveKey(key.bytes, "kek");
  return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
}

const rootSecretName = "root-secret";

function aesParameters(nonce: Uint8Array<ArrayBuffer>, version: string): AesGcmParams {
  return { name: "AES-GCM", iv: nonce, additionalData: new TextEncoder().encode(`${version}|${rootSecretName}`) };
}

/** Wraps the root secret for storage: `1.<version>.<nonce>.<ciphertext>`. */
export async function wrapRootSecret(secret: Uint8Array<ArrayBuffer>, key: MasterKey): Promise<string> {
  const nonce = randomBytes(12);
  const sealed = await crypto.subtle.encrypt(aesParameters(nonce, key.version), await wrappingKey(key), secret);
  return `1.${key.version}.${toBase64Url(nonce)}.${toBase64Url(new Uint8Array(sealed))}`;
}

/** Version of the master key named by a wrapped root secret. */
export function versionOfRootSecret(stored: string): string {
  return stored.split(".")[1] ?? "";
}

/**
 * Unwraps the root secret.
 *
 * @throws {Error} If the given master keys do not open it.
 */
export async function unwrapRootSecret(stored: string, keys: readonly MasterKey[]): Promise<Uint8Array<ArrayBuffer>> {
  const [form, version, nonce, sealed] = stored.split(".");
  const key = keys.find((candidate) => candidate.version === version);
  if (form !== "1" || version === undefined || nonce === undefined || sealed === undefined || !key) {
    throw new Error(`Cannot open this database: master key ${version ?? ""} is not among the given ones`);
  }
  try {
    const parameters = aesParameters(fromBase64Url(nonce), version);
    return new Uint8Array(await crypto.subtle.decrypt(parameters, await wrappingKey(key), fromBase64Url(sealed)));
  } catch (cause) {
    throw new Error(`Cannot open this database: it was created with another master key ${version}`, { cause });
  }
}
