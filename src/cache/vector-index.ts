import { createPause } from "../lib/pace.ts";
import { createDotKernel, type DotKernel } from "./dot-kernel.ts";
import type { CachePlace } from "./entry.ts";
import { isWithin, type PurgeScope } from "./shared-tier.ts";
import { toUnit } from "./vector-codes.ts";
import { PackedVectors } from "./vector-scan.ts";

/** A vector as it is stored. Times in Unix milliseconds. */
interface StoredVector {
  readonly place: CachePlace;
  readonly key: string;
  readonly partition: string;
  /** 32-bit floats, little-endian. */
  readonly vector: Uint8Array<ArrayBuffer>;
  readonly storedAt: number;
  readonly expiresAt: number;
}

/** Where vectors outlive the process. */
interface VectorStore {
  removeExpiredVectors(now: number): Promise<void>;
  storeVectors(rows: readonly StoredVector[]): Promise<void>;
  removeVector(place: CachePlace, key: string): Promise<void>;
  /** The newest vectors of a partition that were stored at a time or later, from the one after `after` on. */
  vectors(
    place: CachePlace,
    partition: string,
    options: { now: number; since: number; limit: number; after: { key: string; storedAt: number } | undefined },
  ): Promise<readonly Pick<StoredVector, "key" | "vector" | "storedAt" | "expiresAt">[]>;
  /** The nearest vector of all. */
  nearest(
    place: CachePlace,
    partition: string,
    options: { now: number; vector: Uint8Array<ArrayBuffer> },
  ): Promise<{ key: string; similarity: number } | undefined>;
  purgeVectors(scope: PurgeScope): Promise<void>;
}

/** What an index is made from. */
interface VectorIndexOptions {
  readonly store: VectorStore;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Bytes of vectors in memory. */
  readonly bytes: number;
}

/** A part of the questions, among which similar ones are looked for. */
export interface Partition {
  readonly place: CachePlace;
  /** Digest of all that must be equal. */
  readonly name: string;
}

/** Bytes of a number of a vector: as it is, and in two codes. */
const bytesPerNumber = 6;
/** Bytes of a vector besides its numbers: its key and its places in lists. */
const vectorOverhead = 300;
/** How often a partition looks for what other processes stored, and how far back: their clocks differ. */
const refreshEveryMs = 10_000;
const lookBackMs = 30_000;
/** Bytes of vectors that are read at a time: others use the database, and the event loop, in between. */
const pageBytes = 256 * 1024;

/** The vectors of a partition in memory. */
class HeldPartition {
  readonly place: CachePlace;
  readonly vectors: PackedVectors;
  /** By place of the vector; undefined for free places. */
  readonly #rows: ({ key: string; expiresAt: number } | undefined)[] = [];
  readonly #indexes = new Map<string, number>();
  /** The store has more of them. */
  hasMore = false;
  refreshedAt = Number.NEGATIVE_INFINITY;
  loading: Promise<void> | undefined;

  constructor(place: CachePlace, dimensions: number, kernel: DotKernel) {
    this.place = place;
    this.vectors = new PackedVectors(dimensions, kernel);
  }

  get bytes(): number {
    return this.vectors.bytes + this.#rows.length * vectorOverhead;
  }

  get count(): number {
    return this.#indexes.size;
  }

  add(key: string, unit: Float32Array, expiresAt: number): void {
    this.remove(key);
    const index = this.vectors.add(unit);
    this.#indexes.set(key, index);
    this.#rows[index] = { key, expiresAt };
  }

  remove(key: string): void {
    const index = this.#indexes.get(key);
    if (index === undefined) return;
    this.vectors.remove(index);
    this.#indexes.delete(key);
    this.#rows[index] = undefined;
  }

  removeExpired(now: number): void {
    for (const row of this.#rows) if (row && row.expiresAt <= now) this.remove(row.key);
  }

  async nearest(unit: Float32Array, least: number, now: number) {
    const found = await this.vectors.nearest(unit, least, (index) => (this.#rows[index]?.expiresAt ?? 0) > now);
    const row = found && this.#rows[found.index];
    return row && { key: row.key, similarity: found.similarity };
  }
}

function toFloats(bytes: Uint8Array<ArrayBuffer>): Float32Array {
  return new Float32Array(bytes.slice().buffer, 0, Math.floor(bytes.length / 4));
}

/** Vectors of questions, in memory up to a limit of bytes and in the database. */
export class VectorIndex {
  readonly #options: VectorIndexOptions;
  /** By name; the one that was used last is the last. */
  readonly #held = new Map<string, HeldPartition>();
  readonly #kernel = createDotKernel();
  #bytes = 0;

  constructor(options: VectorIndexOptions) {
    this.#options = options;
  }

  /** Bytes of vectors in memory, roughly. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The question nearest to another one; undefined where none is similar enough.
   *
   * @param least Smallest cosine.
   */
  async nearest(
    { place, name }: Partition,
    vector: Float32Array,
    least: number,
  ): Promise<{ key: string; similarity: number } | undefined> {
    const unit = toUnit(vector);
    if (!unit) return undefined;
    const held = await this.#load(place, name, unit.length);
    if (held.vectors.dimensions !== unit.length) return undefined;
    const now = this.#options.now();
    const found = await held.nearest(unit, least, now);
    if (!held.hasMore) return found;
    const bytes = new Uint8Array(unit.buffer);
    const stored = await this.#options.store.nearest(place, name, { now, vector: bytes });
    if (!stored || stored.similarity < least) return found;
    return found && found.similarity >= stored.similarity ? found : stored;
  }

  /** Adds the question of a response. */
  async add(
    { place, name }: Partition,
    row: { key: string; vector: Float32Array; storedAt: number; expiresAt: number },
  ) {
    const unit = toUnit(row.vector);
    if (!unit) return;
    const held = this.#held.get(name);
    if (held && held.vectors.dimensions === unit.length) {
      this.#change(held, () => held.add(row.key, unit, row.expiresAt));
      this.#makeRoom(name);
    }
    const { key, storedAt, expiresAt } = row;
    const vector = new Uint8Array(unit.buffer);
    await this.#options.store.storeVectors([{ place, key, partition: name, vector, storedAt, expiresAt }]);
  }

  /** Removes the question of a response that is gone. */
  async remove({ place, name }: Partition, key: string): Promise<void> {
    const held = this.#held.get(name);
    if (held) this.#change(held, () => held.remove(key));
    await this.#options.store.removeVector(place, key);
  }

  /** Removes expired questions. */
  async cleanUp(): Promise<void> {
    const now = this.#options.now();
    const pause = createPause();
    for (const held of [...this.#held.values()]) {
      held.removeExpired(now);
      await pause();
    }
    await this.#options.store.removeExpiredVectors(now);
  }

  /** Removes the questions of a scope from the database. */
  purgeStore(scope: PurgeScope): Promise<void> {
    return this.#options.store.purgeVectors(scope);
  }

  /** Forgets the partitions of a scope. */
  purge(scope: PurgeScope): void {
    for (const [name, { place }] of [...this.#held]) if (isWithin(place, scope)) this.#forget(name);
  }

  clear(): void {
    this.#held.clear();
    this.#bytes = 0;
  }

  #change(held: HeldPartition, change: () => void): void {
    const before = held.bytes;
    change();
    this.#bytes += held.bytes - before;
  }

  #forget(name: string): void {
    this.#bytes -= this.#held.get(name)?.bytes ?? 0;
    this.#held.delete(name);
  }

  /** The partition in memory, with what other processes stored. */
  async #load(place: CachePlace, name: string, dimensions: number): Promise<HeldPartition> {
    const held = this.#held.get(name) ?? new HeldPartition(place, dimensions, this.#kernel);
    if (!this.#held.has(name)) this.#bytes += held.bytes;
    // the last one is the one that was used last
    this.#held.delete(name);
    this.#held.set(name, held);
    const now = this.#options.now();
    if (now - held.refreshedAt >= refreshEveryMs) {
      held.loading ??= this.#read(held, name, now).finally(() => {
        held.loading = undefined;
      });
    }
    if (held.loading) await held.loading;
    return held;
  }

  /** Reads what was stored since the last time, the newest first, a page at a time. */
  async #read(held: HeldPartition, name: string, now: number): Promise<void> {
    const { store, bytes } = this.#options;
    const { dimensions } = held.vectors;
    // one partition may take half of the memory
    const limit = Math.max(1, Math.floor(bytes / 2 / (dimensions * bytesPerNumber + vectorOverhead)));
    const since = Math.max(0, held.refreshedAt - lookBackMs);
    const page = Math.ceil(pageBytes / (dimensions * 4));
    const pause = createPause();
    let after: { key: string; storedAt: number } | undefined;
    for (let [room, hasNext] = [limit, true]; hasNext; ) {
      // one more than fits says that the store has more
      const wanted = Math.min(page, room + 1);
      const rows = await store.vectors(held.place, name, { now, since, limit: wanted, after });
      if (rows.length > room) held.hasMore = true;
      hasNext = rows.length === wanted && rows.length <= room;
      for (const { key, vector, expiresAt } of rows.slice(0, room)) {
        const unit = toFloats(vector);
        if (unit.length === dimensions) this.#change(held, () => held.add(key, unit, expiresAt));
        await pause();
      }
      room -= rows.length;
      after = rows.at(-1);
    }
    held.refreshedAt = now;
    this.#makeRoom(name);
  }

  /** Forgets partitions that were not used lately while too much is held. One that fills the memory goes to the database. */
  #makeRoom(current: string): void {
    for (const name of [...this.#held.keys()]) {
      if (this.#bytes <= this.#options.bytes) return;
      if (name !== current) this.#forget(name);
    }
    if (this.#bytes > this.#options.bytes) this.#forget(current);
  }
}
