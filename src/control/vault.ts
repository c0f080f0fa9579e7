import { type MasterKey, type ReadMasterKeys, wrappingKey } from "../auth/master-keys.ts";
import type { SecretRow } from "../db/tables/secrets.ts";
import { fromBase64Url, toBase64Url } from "../lib/base64.ts";
import { randomBytes } from "../lib/hash.ts";

/** Owner of a secret. A sealed secret does not open for another owner. */
export interface SecretPlace {
  organisationId: string;
  workspaceId: string | null;
  /** Kind of record, such as `integrations`. */
  kind: string;
  recordId: string;
  /** Name of the secret within its record. */
  field: string;
}

/** A sealed secret could not be opened. The message gives no reason: the cause does. */
export class CredentialUnavailableError extends Error {
  override readonly name = "CredentialUnavailableError";
  constructor(cause: unknown) {
    super("Cannot open a sealed credential: it is not available", { cause });
  }
}

/** Seals and opens secrets, each with a separate key that the master key wraps (envelope encryption). */
export interface Vault {
  /** Version of the master key that wraps, as far as known. */
  readonly version: string;
  seal(place: SecretPlace, secret: string, now: number): Promise<SecretRow>;
  /** @throws {CredentialUnavailableError} If the row was moved or changed, or its master key is missing. */
  open(row: SecretRow): Promise<string>;
  /**
   * Wraps the data key with the current master key; the secret itself stays sealed.
   *
   * @throws {CredentialUnavailableError} As `open`.
   */
  rewrap(row: SecretRow): Promise<Pick<SecretRow, "kekVersion" | "wrappedKey">>;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The owner as authenticated data; lengths keep separators inside a part from shifting its boundary. */
function placeText(row: SecretPlace): string {
  const parts = [row.organisationId, row.workspaceId ?? "", row.kind, row.recordId, row.field];
  return ["v1", ...parts.map((part) => `${part.length}:${part}`)].join("|");
}

function parameters(nonce: Uint8Array<ArrayBuffer>, bound: string): AesGcmParams {
  return { name: "AES-GCM", iv: nonce, additionalData: encoder.encode(bound) };
}

/** Seals text; `bound` must be the same to open it. */
export function encryptText(key: CryptoKey, bound: string, text: string): Promise<string> {
  return encrypt(key, bound, encoder.encode(text));
}

/** @throws If `bound` or the key differ, or the text was changed. */
export async function decryptText(key: CryptoKey, bound: string, sealed: string): Promise<string> {
  return decoder.decode(await decrypt(key, bound, sealed));
}

async function encrypt(key: CryptoKey, bound: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const nonce = randomBytes(12);
  const sealed = await crypto.subtle.encrypt(parameters(nonce, bound), key, bytes);
  return `${toBase64Url(nonce)}.${toBase64Url(new Uint8Array(sealed))}`;
}

async function decrypt(key: CryptoKey, bound: string, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const [nonce = "", sealed = ""] = text.split(".");
  return new Uint8Array(
    await crypto.subtle.decrypt(parameters(fromBase64Url(nonce), bound), key, fromBase64Url(sealed)),
  );
}

/** A key of 32 bytes for `encryptText`. */
export function importDataKey(bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
}

/** The master keys known to a process: those given at start, and those read since. */
function createKeyRing(given: readonly [MasterKey, ...MasterKey[]], read: ReadMasterKeys | undefined) {
  const known = new Map(given.map((key) => [key.version, key]));
  const imported = new Map<string, Promise<CryptoKey>>();
  let [writing] = given;
  const add = (key: MasterKey) => {
    const before = known.get(key.version);
    if (before && toBase64Url(before.bytes) !== toBase64Url(key.bytes)) {
      throw new Error(`Cannot use master key ${key.version}: it differs from the one this process was started with`);
    }
    known.set(key.version, before ?? key);
  };
  const refresh = async () => {
    const listed = (await read?.()) ?? [];
    for (const key of listed) add(key);
    writing = listed[0] ?? writing;
  };
  return {
    version: () => writing.version,
    /** Version of the key that wraps now: a key that was dropped must not wrap anything again. */
    async newestVersion() {
      await refresh();
      return writing.version;
    },
    async find(version: string): Promise<CryptoKey> {
      if (!known.has(version)) await refresh();
      const master = known.get(version);
      if (!master) throw new Error(`Cannot use master key ${version}: it is not among the given ones`);
      const key = imported.get(version) ?? wrappingKey(master);
      imported.set(version, key);
      return key;
    },
  };
}

/**
 * Creates the vault of an installation; the first master key wraps, all of them open.
 *
 * @param read For keys that can change while the process runs: called before something is wrapped, and when a row names
 * an unknown version.
 */
export function createVault(masterKeys: readonly [MasterKey, ...MasterKey[]], read?: ReadMasterKeys): Vault {
  const ring = createKeyRing(masterKeys, read);
  const boundKey = (row: { kekVersion: string; recordId: string }) => `${row.kekVersion}|${row.recordId}`;
  const wrap = async (recordId: string, dataKey: Uint8Array<ArrayBuffer>) => {
    const kekVersion = await ring.newestVersion();
    return {
      kekVersion,
      wrappedKey: await encrypt(await ring.find(kekVersion), boundKey({ kekVersion, recordId }), dataKey),
    };
  };
  const unwrap = async (row: SecretRow) => decrypt(await ring.find(row.kekVersion), boundKey(row), row.wrappedKey);

  return {
    get version() {
      return ring.version();
    },
    async seal(place, secret, now) {
      const dataKey = randomBytes(32);
      const sealed = await encrypt(await importDataKey(dataKey), placeText(place), encoder.encode(secret));
      const { organisationId, workspaceId, kind, recordId, field } = place;
      const wrapped = await wrap(recordId, dataKey);
      return { organisationId, workspaceId, kind, recordId, field, ...wrapped, sealed, createdAt: now };
    },
    async open(row) {
      try {
        return decoder.decode(await decrypt(await importDataKey(await unwrap(row)), placeText(row), row.sealed));
      } catch (cause) {
        throw new CredentialUnavailableError(cause);
      }
    },
    async rewrap(row) {
      try {
        return await wrap(row.recordId, await unwrap(row));
      } catch (cause) {
        throw new CredentialUnavailableError(cause);
      }
    },
  };
}
