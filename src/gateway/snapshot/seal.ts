import type { MasterKey } from "../../auth/master-keys.ts";
import type { KnownState } from "../../db/last-known/state.ts";
import { deriveKey, randomBytes } from "../../lib/hash.ts";
import { isObject, parseJson } from "../../lib/json.ts";

/** The first line of a snapshot. It can be read without a key, and is sealed with the rest. */
export interface SnapshotHead {
  readonly format: 1;
  /** Unix milliseconds of the moment of which it is the state. */
  readonly time: number;
  /** Address of the database, without credentials. */
  readonly database: string;
  /** Version of the master key that seals it. */
  readonly key: string;
}

/** A snapshot that cannot be used. The message says why. */
export class SnapshotError extends Error {
  override readonly name = "SnapshotError";
}

const nonceLength = 12;
/** Longest first line, in bytes. */
const longestHead = 4_096;
const newline = 10;
const encoder = new TextEncoder();

async function keyOf({ bytes }: MasterKey): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", await deriveKey(bytes, "snapshot"), "AES-GCM", false, ["encrypt", "decrypt"]);
}

/** Seals a state: a line of JSON, a nonce, and the state as JSON under AES-256-GCM with that line. */
export async function sealSnapshot(
  state: KnownState,
  { time, database }: Pick<SnapshotHead, "time" | "database">,
  key: MasterKey,
): Promise<Uint8Array<ArrayBuffer>> {
  const head: SnapshotHead = { format: 1, time, database, key: key.version };
  const line = encoder.encode(`${JSON.stringify(head)}\n`);
  const nonce = randomBytes(nonceLength);
  const parameters = { name: "AES-GCM", iv: nonce, additionalData: line };
  const text = encoder.encode(JSON.stringify(state));
  const sealed = new Uint8Array(await crypto.subtle.encrypt(parameters, await keyOf(key), text));
  const whole = new Uint8Array(line.length + nonceLength + sealed.length);
  whole.set(line, 0);
  whole.set(nonce, line.length);
  whole.set(sealed, line.length + nonceLength);
  return whole;
}

/** Length of the first line, with its end; 0 without one. */
const lineLength = (bytes: Uint8Array) => bytes.subarray(0, longestHead).indexOf(newline) + 1;

/** The first line of a snapshot. @throws {SnapshotError} If it has none. */
export function readSnapshotHead(bytes: Uint8Array): SnapshotHead {
  const head = parseJson(new TextDecoder().decode(bytes.subarray(0, lineLength(bytes))));
  if (!isObject(head)) throw new SnapshotError("it is damaged");
  const { format, time, database, key } = head;
  if (format !== 1) throw new SnapshotError("another version of the gateway wrote it");
  if (typeof time !== "number" || typeof database !== "string" || typeof key !== "string") {
    throw new SnapshotError("it is damaged");
  }
  return { format, time, database, key };
}

/**
 * Opens a snapshot.
 *
 * @throws {SnapshotError} If it was changed or cut off, or the keys do not open it.
 */
export async function openSnapshot(bytes: Uint8Array<ArrayBuffer>, keys: readonly MasterKey[]): Promise<KnownState> {
  const { key: version } = readSnapshotHead(bytes);
  const key = keys.find((one) => one.version === version);
  if (!key) throw new SnapshotError(`it is sealed with master key ${version}, which is not among the given ones`);
  const length = lineLength(bytes);
  const iv = bytes.subarray(length, length + nonceLength);
  const parameters = { name: "AES-GCM", iv, additionalData: bytes.subarray(0, length) };
  try {
    const opened = await crypto.subtle.decrypt(parameters, await keyOf(key), bytes.subarray(length + nonceLength));
    // only `sealSnapshot` writes what this key opens
    return JSON.parse(new TextDecoder().decode(opened)) as KnownState;
  } catch {
    throw new SnapshotError(`it is damaged, or was sealed with another master key ${version}`);
  }
}
