import type { CachePlace } from "./entry.ts";
import { isWithin, type PurgeScope } from "./shared-tier.ts";
import { PackedVectors, toUnit } from "./vector-scan.ts";

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
  /** The newest vectors of a partition that were stored at a time or later. */
  vectors(
    place: CachePlace,
    partition: string,
    options: { now: number; since: number; limit: number },
  ): Promise<readonly Pick<StoredVector, "key" | "vector" | "expiresAt">[]>;
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

/** Bytes of a vector besides its numbers: its key and its places in lists. */
const vectorOverhead = 300;
/** How often a partition looks for what other processes stored, and how far back: their clocks differ. */
const refreshEveryMs = 10_000;
const lookBackMs = 30_000;

/** The vectors of a partition in memory. */
class HeldPartition {
  readonly place: CachePlace;
  readonly vectors: PackedVectors;
  readonly #keys: string[] = [];
  readonly #ends: number[] = [];
  readonly #indexes = new Map<string, number>();
  /** The store has more of them. */
  hasMore = false;
  refreshedAt = Number.NEGATIVE_INFINITY;
  loading: Promise<void> | undefined;

  constructor(place: CachePlace, dimensions: number) {
    this.place = place;
    this.vectors = new PackedVectors(dimensions);
  }

  get bytes(): number {
    return this.vectors.bytes + this.#keys.length * vectorOverhead;
  }

  add(key: string, unit: Float32Array, expiresAt: number): void {
    const known = this.#indexes.get(key);
    if (known !== undefined) this.remove(key);
    this.#indexes.set(key, this.vectors.add(unit));
    this.#keys.push(key);
    this.#ends.push(expiresAt);
  }

  remove(key: string): void {
    const index = this.#indexes.get(key);
    if (index === undefined) return;
    this.vectors.remove(index);
    const [last, end] = [this.#keys.pop() ?? "", this.#ends.pop() ?? 0];
    this.#indexes.delete(key);
    if (last === key) return;
    this.#keys[index] = last;
    this.#ends[index] = end;
    this.#indexes.set(last, index);
  }

  async nearest(unit: Float32Array, least: number, now: number) {
    const found = await this.vectors.nearest(unit, least, (index) => (this.#ends[index] ?? 0) > now);
    const key = found && this.#keys[found.index];
    return key === undefined ? undefined : { key, similarity: found?.similarity ?? 0 };
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

  /** Removes expired questions from the database. */
  cleanUp(): Promise<void> {
    return this.#options.store.removeExpiredVectors(this.#options.now());
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
    const held = this.#held.get(name) ?? new HeldPartition(place, dimensions);
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

  async #read(held: HeldPartition, name: string, now: number): Promise<void> {
    const { store, bytes } = this.#options;
    const { dimensions } = held.vectors;
    // one partition may take half of the memory
    const limit = Math.max(1, Math.floor(bytes / 2 / (dimensions * 6 + vectorOverhead)));
    const since = Math.max(0, held.refreshedAt - lookBackMs);
    const rows = await store.vectors(held.place, name, { now, since, limit: limit + 1 });
    held.hasMore ||= rows.length > limit;
    for (const { key, vector, expiresAt } of rows.slice(0, limit)) {
      const unit = toFloats(vector);
      if (unit.length === dimensions) this.#change(held, () => held.add(key, unit, expiresAt));
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
