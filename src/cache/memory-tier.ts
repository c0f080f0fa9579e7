import { BlockMemory, takenBytes } from "../lib/block-memory.ts";
import { fnv1a } from "../lib/fnv.ts";
import { NumberList, NumberLists } from "../lib/number-lists.ts";
import type { CacheEntry, CachePlace } from "./entry.ts";
import { isWithin, type PurgeScope } from "./shared-tier.ts";

/** Bytes of an entry besides its blocks: its places in the tables. */
const entryOverhead = 256;
/**
 * The process grows by this many times the bytes of its entries, as measured by `bench/cache.ts`: the more memory is in
 * use, the more garbage its runtime lets gather.
 */
const collectionShare = 8;
/** An entry takes at most this share of the memory. */
const largestShare = 1 / 4;

const encoder = new TextEncoder();

/** The entries of an organisation: those that were stored or spared longest ago come first. */
interface Owner {
  readonly entries: NumberList;
  bytes: number;
}

/** A place that has entries. */
interface UsedPlace {
  readonly place: CachePlace;
  readonly name: string;
  readonly owner: Owner;
  entries: number;
}

/** A key and a body as one. */
function pack(key: string, body: Uint8Array): Uint8Array {
  const packed = new Uint8Array(key.length + body.length);
  encoder.encodeInto(key, packed);
  packed.set(body, key.length);
  return packed;
}

/** Whether bytes begin with a key. */
function beginsWith(packed: Uint8Array, key: string): boolean {
  for (let index = 0; index < key.length; index++) if (packed[index] !== key.charCodeAt(index)) return false;
  return true;
}

/** Bytes by which a packed entry of a length lets the process grow. */
const weightOf = (length: number): number => collectionShare * (takenBytes(length) + entryOverhead);

/** Digest of a key, below 2^53. Keys that share one by chance replace each other. */
const digestOf = (key: string): number => (fnv1a(key, 1) >>> 11) * 2 ** 32 + fnv1a(key);

/**
 * Entries in the memory of this process, limited by bytes. When it is full, the organisation with the most bytes loses
 * entries it did not use recently.
 *
 * An entry is known by its first block and by the digest of its key, which are numbers. It has neither objects nor strings:
 * those that live until they are evicted are garbage that is collected late, and let the process grow by half as much again.
 */
export class MemoryTier {
  readonly #limit: number;
  #bytes = 0;
  #packed = new BlockMemory();
  /** Entries by the digest of their key. */
  readonly #entries = new Map<number, number>();
  readonly #owners = new Map<string, Owner>();
  readonly #places = new Map<string, UsedPlace>();
  readonly #lists = new NumberLists();
  // by entry
  readonly #digests: number[] = [];
  readonly #placeOf: UsedPlace[] = [];
  readonly #dropped: CacheEntry["dropped"][] = [];
  readonly #costs: CacheEntry["cost"][] = [];
  readonly #tokens: number[] = [];
  readonly #storedAt: number[] = [];
  readonly #expiresAt: number[] = [];
  /** It was read since it was stored or last spared. */
  readonly #isUsed: boolean[] = [];

  constructor(bytes: number) {
    this.#limit = bytes;
  }

  /** Bytes in use, roughly. */
  get bytes(): number {
    return this.#bytes;
  }

  find(key: string): CacheEntry | undefined {
    const block = this.#entries.get(digestOf(key));
    const packed = block === undefined ? undefined : this.#packed.read(block);
    if (block === undefined || !packed || !beginsWith(packed, key)) return undefined;
    this.#isUsed[block] = true;
    return {
      key,
      body: packed.subarray(key.length),
      dropped: this.#dropped[block] ?? null,
      cost: this.#costs[block] ?? null,
      tokens: this.#tokens[block] ?? 0,
      storedAt: this.#storedAt[block] ?? 0,
      expiresAt: this.#expiresAt[block] ?? 0,
    };
  }

  /** Stores an entry. Its key is a digest: ASCII characters, as many as in any other key. */
  store(place: CachePlace, entry: CacheEntry): void {
    this.remove(entry.key);
    const packed = pack(entry.key, entry.body);
    const bytes = weightOf(packed.length);
    if (bytes > this.#limit * largestShare) return;
    while (this.#bytes + bytes > this.#limit) this.#evict();
    const used = this.#use(place);
    const digest = digestOf(entry.key);
    const block = this.#packed.store(packed);
    this.#entries.set(digest, block);
    this.#digests[block] = digest;
    this.#placeOf[block] = used;
    this.#dropped[block] = entry.dropped;
    this.#costs[block] = entry.cost;
    this.#tokens[block] = entry.tokens;
    this.#storedAt[block] = entry.storedAt;
    this.#expiresAt[block] = entry.expiresAt;
    this.#isUsed[block] = false;
    this.#lists.append(used.owner.entries, block);
    used.entries++;
    used.owner.bytes += bytes;
    this.#bytes += bytes;
  }

  remove(key: string): void {
    const block = this.#entries.get(digestOf(key));
    if (block !== undefined) this.#drop(block);
  }

  purge(scope: PurgeScope): void {
    const owner = this.#owners.get(scope.organisationId);
    if (!owner) return;
    for (const block of this.#lists.of(owner.entries)) {
      const used = this.#placeOf[block];
      if (used && isWithin(used.place, scope)) this.#drop(block);
    }
  }

  clear(): void {
    for (const block of [...this.#entries.values()]) this.#drop(block);
    this.#packed = new BlockMemory();
  }

  /** The place of a new entry. */
  #use(place: CachePlace): UsedPlace {
    const { organisationId, workspaceId, namespace } = place;
    const name = JSON.stringify([organisationId, workspaceId, namespace]);
    const known = this.#places.get(name);
    if (known) return known;
    const owner = this.#owners.get(organisationId) ?? { entries: new NumberList(), bytes: 0 };
    this.#owners.set(organisationId, owner);
    const used: UsedPlace = { place, name, owner, entries: 0 };
    this.#places.set(name, used);
    return used;
  }

  /** Drops the heaviest owner's oldest unused entry; used ones are spared once. */
  #evict(): void {
    let heaviest: Owner | undefined;
    for (const owner of this.#owners.values()) if (owner.bytes > (heaviest?.bytes ?? -1)) heaviest = owner;
    if (!heaviest) return;
    for (const block of this.#lists.of(heaviest.entries)) {
      if (!this.#isUsed[block]) {
        this.#drop(block);
        return;
      }
      this.#isUsed[block] = false;
      this.#lists.remove(heaviest.entries, block);
      this.#lists.append(heaviest.entries, block);
    }
    // the only one was in use
    this.#drop(heaviest.entries.first);
  }

  #drop(block: number): void {
    const used = this.#placeOf[block];
    if (!used) return;
    const { owner, name, place } = used;
    const bytes = weightOf(this.#packed.lengthOf(block));
    this.#entries.delete(this.#digests[block] ?? 0);
    this.#lists.remove(owner.entries, block);
    this.#packed.release(block);
    owner.bytes -= bytes;
    this.#bytes -= bytes;
    used.entries--;
    if (used.entries === 0) this.#places.delete(name);
    if (owner.entries.isEmpty) this.#owners.delete(place.organisationId);
  }
}
