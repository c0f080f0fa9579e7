import { BoundedMap } from "../lib/bounded-map.ts";
import { deriveKey, randomBytes } from "../lib/hash.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { CacheEntry, CachePlace } from "./entry.ts";

/** Most keys of organisations in memory. */
const maxKeys = 1_000;
const nonceBytes = 12;
const lineFeed = 0x0a;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Place and key of an entry as authenticated data: an entry that was moved does not open. */
function boundTo({ organisationId, workspaceId, namespace }: CachePlace, key: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(JSON.stringify(["v1", organisationId, workspaceId, namespace, key]));
}

const isCount = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/** Reads the facts before the body; undefined where they are not those of an entry. */
function readEntry(bytes: Uint8Array<ArrayBuffer>): CacheEntry | undefined {
  const end = bytes.indexOf(lineFeed);
  const facts = end < 0 ? undefined : parseJson(decoder.decode(bytes.subarray(0, end)));
  if (!isObject(facts)) return undefined;
  const { key, dropped, cost, tokens, storedAt, expiresAt } = facts;
  if (typeof key !== "string" || !isCount(tokens) || !isCount(storedAt) || !isCount(expiresAt)) return undefined;
  const names = Array.isArray(dropped) ? dropped.filter((name) => typeof name === "string") : null;
  const price = isCount(cost) ? cost : null;
  return { key, body: bytes.slice(end + 1), dropped: names, cost: price, tokens, storedAt, expiresAt };
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
    const { body, ...facts } = entry;
    const head = encoder.encode(`${JSON.stringify(facts)}\n`);
    const plain = new Uint8Array(head.length + body.length);
    plain.set(head);
    plain.set(body, head.length);
    const iv = randomBytes(nonceBytes);
    const parameters = { name: "AES-GCM", iv, additionalData: boundTo(place, entry.key) };
    const cipher = await crypto.subtle.encrypt(parameters, await this.#keyOf(place.organisationId), plain);
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
      const entry = readEntry(new Uint8Array(opened));
      return entry?.key === key ? entry : undefined;
    } catch {
      return undefined;
    }
  }
}
