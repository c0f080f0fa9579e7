import { BlockMemory, takenBytes } from "../lib/block-memory.ts";
import { NumberList, NumberLists } from "../lib/number-lists.ts";
import type { CacheEntry, CachePlace } from "./entry.ts";
import { packEntry, readPackedEntry } from "./packed-entry.ts";
import { isWithin, type PurgeScope } from "./shared-tier.ts";

/** Bytes of an entry besides its blocks: its places in the tables. */
const entryOverhead = 256;
/**
 * The process grows by this many times the bytes of its entries, as measured by `bench/cache.ts`: the more memory is in
 * use, the more garbage its runtime lets gather.
 */
const collectionShare = 6;
/** An entry takes at most this share of the memory. */
const largestShare = 1 / 4;

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

/** Bytes by which a packed entry of a length lets the process grow. */
const weightOf = (length: number): number => collectionShare * (takenBytes(length) + entryOverhead);

/** Digest of a key, below 2^53. Keys that share one by chance replace each other. */
function digestOf(key: string): number {
  let [high, low] = [0x811c9dc5, 0x9dc5811c];
  for (let index = 0; index < key.length; index++) {
    const code = key.charCodeAt(index);
    high = Math.imul(high ^ code, 0x01000193);
    low = Math.imul(low ^ code, 0x5bd1e995);
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}

/**
 * Entries in the memory of this process, limited by bytes. When it is full, the organisation with the most bytes loses
 * entries it did not use recently.
 *
 * An entry is known by its first block, a number, and has no separate objects: entries that live long enough to be
 * evicted would be garbage that is collected late, and let the process grow by a multiple of the limit.
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
    const entry = block === undefined ? undefined : readPackedEntry(this.#packed.read(block));
    if (block === undefined || entry?.key !== key) return undefined;
    this.#isUsed[block] = true;
    return entry;
  }

  store(place: CachePlace, entry: CacheEntry): void {
    this.remove(entry.key);
    const packed = packEntry(entry);
    const bytes = weightOf(packed.length);
    if (bytes > this.#limit * largestShare) return;
    while (this.#bytes + bytes > this.#limit) this.#evict();
    const used = this.#use(place);
    const digest = digestOf(entry.key);
    const block = this.#packed.store(packed);
    this.#entries.set(digest, block);
    this.#digests[block] = digest;
    this.#placeOf[block] = used;
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
