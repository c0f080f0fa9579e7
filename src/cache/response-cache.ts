import { BoundedMap } from "../lib/bounded-map.ts";
import type { Mac } from "../lib/hash.ts";
import { toCanonical } from "./canonical.ts";
import { type CacheEntry, type CachePlace, type CacheTenant, maxEntryBytes } from "./entry.ts";
import { Flights } from "./flights.ts";
import { MemoryTier } from "./memory-tier.ts";
import type { EntrySealer } from "./sealer.ts";
import type { PurgeScope, SharedTier } from "./shared-tier.ts";
import type { VectorIndex } from "./vector-index.ts";
import { WriteBehind } from "./write-behind.ts";

/** Longest text of which a key is made, in characters. */
const maxKeyText = 4 * 1024 * 1024;
/** How long the shared tier is left alone after it failed. */
const restMs = 1_000;
const warnEveryMs = 60_000;

/** What a cache is made from. */
interface ResponseCacheOptions {
  /** Digest of keys and namespaces, under a key for nothing else. */
  readonly mac: Mac;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly monotonic: () => number;
  /** Bytes of entries in memory. */
  readonly memoryBytes: number;
  /** Where entries outlive the process. Absent: nowhere. */
  readonly shared?: { readonly tier: SharedTier; readonly sealer: EntrySealer; readonly timeoutMs: number } | undefined;
  /** Questions of semantic caches. */
  readonly questions: VectorIndex;
  readonly warn: (message: string, error?: unknown) => void;
}

/** What a response depends on. */
export interface KeyParts {
  /** What the caller's key and the target decide. */
  readonly target: readonly unknown[];
  readonly request: unknown;
  /** Writes the numbers of the request as they were sent. */
  readonly restore?: ((text: string) => string) | undefined;
}

/** Resolves as `work` does, or rejects after a time. */
async function inTime<Value>(work: Promise<Value>, timeoutMs: number): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The store did not answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Stored responses of all tenants: in memory, and behind it where they outlive the process. */
export class ResponseCache {
  readonly #options: ResponseCacheOptions;
  readonly #memory: MemoryTier;
  readonly #writes: WriteBehind | undefined;
  readonly questions: VectorIndex;
  /** Calls that identical ones wait for. */
  readonly flights = new Flights();
  /** Incremented by each purge: a response that was asked for before it is not stored. */
  #epoch = 0;
  /** Ids of purges that are done here. */
  readonly #own = new BoundedMap<string, true>(1_000);
  #restUntil = Number.NEGATIVE_INFINITY;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ResponseCacheOptions) {
    const { shared } = options;
    this.#options = options;
    this.questions = options.questions;
    this.#memory = new MemoryTier(options.memoryBytes);
    this.#writes = shared && new WriteBehind(shared.tier, shared.sealer, (error) => this.#fail(error));
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
    return this.#digest("entry", tenant, parts);
  }

  /** The name of a partition of questions, as `keyOf`. */
  partitionOf(tenant: CacheTenant, parts: KeyParts): string | undefined | Promise<string> {
    return this.#digest("partition", tenant, parts);
  }

  #digest(
    kind: "entry" | "partition",
    { organisationId, workspaceId }: CacheTenant,
    { target, request, restore }: KeyParts,
  ): string | undefined | Promise<string> {
    const body = toCanonical(request);
    if (body.length > maxKeyText) return undefined;
    const parts = [kind, organisationId, workspaceId, toCanonical(target), restore?.(body) ?? body];
    return this.#options.mac(JSON.stringify(parts));
  }

  /** Digest of a namespace of a tenant. */
  namespaceOf({ organisationId }: Pick<CacheTenant, "organisationId">, name: string): string | Promise<string> {
    return this.#options.mac(JSON.stringify(["namespace", organisationId, name]));
  }

  /**
   * The entry of a key; undefined also where it cannot be read.
   *
   * @param maxAgeMs How old it may be.
   */
  async find(place: CachePlace, key: string, maxAgeMs: number): Promise<CacheEntry | undefined> {
    const known = this.findInMemory(key, maxAgeMs);
    if (known) return known;
    const entry = await this.#findShared(place, key);
    return entry && this.isFresh(entry, maxAgeMs) ? entry : undefined;
  }

  /** As `find`, for entries in the memory of this process. */
  findInMemory(key: string, maxAgeMs: number): CacheEntry | undefined {
    const entry = this.#memory.find(key) ?? this.#writes?.find(key);
    return entry?.key === key && this.isFresh(entry, maxAgeMs) ? entry : undefined;
  }

  /** Whether an entry may still be used. */
  isFresh({ storedAt, expiresAt }: CacheEntry, maxAgeMs: number): boolean {
    const now = this.#options.now();
    return now < expiresAt && now - storedAt < maxAgeMs;
  }

  async #findShared(place: CachePlace, key: string): Promise<CacheEntry | undefined> {
    const { shared, now, warn } = this.#options;
    if (!shared || this.#isResting()) return undefined;
    const epoch = this.#epoch;
    let sealed: Uint8Array<ArrayBuffer> | undefined;
    try {
      sealed = await inTime(shared.tier.find(place, key, now()), shared.timeoutMs);
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
    if (!sealed) return undefined;
    const entry = await shared.sealer.open(place, key, sealed);
    if (!entry) {
      warn("Cannot use a stored response: it does not open, or belongs to another request");
      this.remove(place, key);
      return undefined;
    }
    if (epoch === this.#epoch) this.#memory.store(place, entry);
    return entry;
  }

  #isResting(): boolean {
    return this.#options.monotonic() < this.#restUntil;
  }

  /** Notes that the shared tier failed: requests go on without it. */
  #fail(error: unknown): void {
    const now = this.#options.monotonic();
    this.#restUntil = now + restMs;
    if (now - this.#warnedAt < warnEveryMs) return;
    this.#warnedAt = now;
    this.#options.warn("Cannot use the shared cache of responses: processes use their memory alone", error);
  }

  /**
   * Stores a response.
   *
   * @param epoch `epoch` when the response was asked for.
   */
  store(place: CachePlace, entry: CacheEntry, epoch: number): void {
    if (epoch !== this.#epoch || entry.body.length > maxEntryBytes) return;
    this.#memory.store(place, entry);
    if (!this.#isResting()) this.#writes?.add(place, entry);
  }

  remove(place: CachePlace, key: string): void {
    this.#memory.remove(key);
    this.#writes?.drop(key);
    const { shared } = this.#options;
    if (shared && !this.#isResting()) shared.tier.remove(place, key).catch((error) => this.#fail(error));
  }

  /**
   * Removes entries of a tenant. The caller announces it to other processes.
   *
   * @param id Names the purge, so that this process does not follow it.
   * @throws If the shared tier does not answer.
   */
  async purge(scope: PurgeScope, id: string): Promise<void> {
    this.#own.set(id, true);
    await this.#purge(scope);
  }

  async #purge(scope: PurgeScope): Promise<void> {
    this.#epoch++;
    this.#memory.purge(scope);
    this.questions.purge(scope);
    this.#writes?.dropWithin(scope);
    await this.#writes?.settle();
    await Promise.all([this.#options.shared?.tier.purge(scope), this.questions.purgeStore(scope)]);
  }

  /** Follows a purge on another process: what this one has, or wrote meanwhile, goes too. */
  follow(scope: PurgeScope, id: string): void {
    if (this.#own.get(id)) return;
    this.#own.set(id, true);
    this.#purge(scope).catch((error) => this.#fail(error));
  }

  /** Forgets everything that is in memory. */
  clear(): void {
    this.#epoch++;
    this.#memory.clear();
    this.questions.clear();
  }

  /** Removes expired entries. */
  async cleanUp(): Promise<void> {
    await this.#options.shared?.tier.cleanUp(this.#options.now());
    await this.questions.cleanUp();
  }

  /** Writes what waits. */
  async close(): Promise<void> {
    await this.#writes?.close();
    this.#options.shared?.tier.close();
  }
}
