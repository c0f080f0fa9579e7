import type { Mac } from "../lib/hash.ts";
import { toCanonical } from "./canonical.ts";
import { type CacheEntry, type CachePlace, type CacheTenant, maxEntryBytes } from "./entry.ts";
import { MemoryTier, type PurgeScope } from "./memory-tier.ts";

/** Longest text of which a key is made, in characters. */
const maxKeyText = 4 * 1024 * 1024;

/** What a cache is made from. */
interface ResponseCacheOptions {
  /** Digest of keys and namespaces, under a key for nothing else. */
  readonly mac: Mac;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Bytes of entries in memory. */
  readonly memoryBytes: number;
}

/** What a response depends on. */
export interface KeyParts {
  /** What the caller's key and the target decide. */
  readonly target: readonly unknown[];
  readonly request: unknown;
  /** Writes the numbers of the request as they were sent. */
  readonly restore?: ((text: string) => string) | undefined;
}

/** Stored responses of all tenants. */
export class ResponseCache {
  readonly #mac: Mac;
  readonly #now: () => number;
  readonly #memory: MemoryTier;
  /** Incremented by each purge: a response that was asked for before it is not stored. */
  #epoch = 0;

  constructor({ mac, now, memoryBytes }: ResponseCacheOptions) {
    this.#mac = mac;
    this.#now = now;
    this.#memory = new MemoryTier(memoryBytes);
  }

  /** Bytes of entries in memory, roughly. */
  get bytes(): number {
    return this.#memory.bytes;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /**
   * The key of a response. Two requests have the same key only if they come from the same tenant and all parts are
   * equal.
   *
   * @returns Undefined where the request is too long.
   */
  keyOf(tenant: CacheTenant, parts: KeyParts): string | undefined | Promise<string> {
    const request = toCanonical(parts.request);
    if (request.length > maxKeyText) return undefined;
    const target = toCanonical(parts.target);
    const { organisationId, workspaceId } = tenant;
    return this.#mac(
      JSON.stringify(["entry", organisationId, workspaceId, target, parts.restore?.(request) ?? request]),
    );
  }

  /** Digest of a namespace of a tenant. */
  namespaceOf({ organisationId }: Pick<CacheTenant, "organisationId">, name: string): string | Promise<string> {
    return this.#mac(JSON.stringify(["namespace", organisationId, name]));
  }

  /**
   * The entry of a key.
   *
   * @param maxAgeMs How old it may be.
   */
  find(_place: CachePlace, key: string, maxAgeMs: number): CacheEntry | undefined {
    const entry = this.#memory.find(key);
    if (!entry || entry.key !== key) return undefined;
    const now = this.#now();
    if (now >= entry.expiresAt) {
      this.#memory.remove(key);
      return undefined;
    }
    return now - entry.storedAt >= maxAgeMs ? undefined : entry;
  }

  /**
   * Stores a response.
   *
   * @param epoch `epoch` when the response was asked for.
   */
  store(place: CachePlace, entry: CacheEntry, epoch: number): void {
    if (epoch !== this.#epoch || entry.body.length > maxEntryBytes) return;
    this.#memory.store(place, entry);
  }

  remove(_place: CachePlace, key: string): void {
    this.#memory.remove(key);
  }

  /** Removes entries of a tenant. */
  purge(scope: PurgeScope): void {
    this.#epoch++;
    this.#memory.purge(scope);
  }
}
