import { BoundedMap } from "../lib/bounded-map.ts";
import { deriveKey, randomBytes } from "../lib/hash.ts";
import type { CacheEntry, CachePlace } from "./entry.ts";
import { packEntry, readPackedEntry } from "./packed-entry.ts";

/** Most keys of organisations in memory. */
const maxKeys = 1_000;
const nonceBytes = 12;

const encoder = new TextEncoder();

/** Place and key of an entry as authenticated data: an entry that was moved does not open. */
function boundTo({ organisationId, workspaceId, namespace }: CachePlace, key: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(JSON.stringify(["v1", organisationId, workspaceId, namespace, key]));
}

/** Seals entries that leave the process, with a key for each organisation (AES-256-GCM). */
export class EntrySealer {
  readonly #secret: Uint8Array<ArrayBuffer>;
  readonly #keys = new BoundedMap<string, Promise<CryptoKey>>(maxKeys);

  /** @param secret 32 bytes, from which the keys derive. */
  constructor(secret: Uint8Array<ArrayBuffer>) {
    this.#secret = secret;
  }

  #keyOf(organisationId: string): Promise<CryptoKey> {
    const known = this.#keys.get(organisationId);
    if (known) return known;
    const made = deriveKey(this.#secret, `entries|${organisationId}`).then((bytes) =>
      crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]),
    );
    this.#keys.set(organisationId, made);
    return made;
  }

  /** A nonce, then the sealed entry. */
  async seal(place: CachePlace, entry: CacheEntry): Promise<Uint8Array<ArrayBuffer>> {
    const iv = randomBytes(nonceBytes);
    const parameters = { name: "AES-GCM", iv, additionalData: boundTo(place, entry.key) };
    const cipher = await crypto.subtle.encrypt(parameters, await this.#keyOf(place.organisationId), packEntry(entry));
    const sealed = new Uint8Array(nonceBytes + cipher.byteLength);
    sealed.set(iv);
    sealed.set(new Uint8Array(cipher), nonceBytes);
    return sealed;
  }

  /** The entry; undefined if it was changed or moved, is not complete, or belongs to another key. */
  async open(place: CachePlace, key: string, sealed: Uint8Array<ArrayBuffer>): Promise<CacheEntry | undefined> {
    try {
      const iv = sealed.subarray(0, nonceBytes);
      const parameters = { name: "AES-GCM", iv, additionalData: boundTo(place, key) };
      const opened = await crypto.subtle.decrypt(
        parameters,
        await this.#keyOf(place.organisationId),
        sealed.subarray(nonceBytes),
      );
      const entry = readPackedEntry(new Uint8Array(opened));
      return entry?.key === key ? entry : undefined;
    } catch {
      return undefined;
    }
  }
}
