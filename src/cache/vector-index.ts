import { createPause } from "../lib/pace.ts";
import type { CachePlace } from "./entry.ts";
import { isWithin, type PurgeScope } from "./shared-tier.ts";
import { bytesOf, toUnit, Vectors } from "./vectors.ts";

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

/** Most vectors of a partition in memory: a search compares all of them. */
const maxVectors = 100_000;
/** How often a partition looks for what other processes stored, and how far back: their clocks differ. */
const refreshEveryMs = 10_000;
const lookBackMs = 30_000;
/** Bytes of vectors that are read at a time: others use the database, and the event loop, in between. */
const pageBytes = 256 * 1024;

/** The vectors of a partition in memory. */
interface HeldPartition {
  readonly place: CachePlace;
  readonly vectors: Vectors;
  /** The store has more of them. */
  hasMore: boolean;
  refreshedAt: number;
  loading: Promise<void> | undefined;
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
    const found = await held.vectors.nearest(unit, least, now);
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
      this.#add(name, held, { key: row.key, unit, expiresAt: row.expiresAt });
      this.#makeRoom(name);
    }
    const { key, storedAt, expiresAt } = row;
    const vector = new Uint8Array(unit.buffer);
    await this.#options.store.storeVectors([{ place, key, partition: name, vector, storedAt, expiresAt }]);
  }

  /** Removes the question of a response that is gone. */
  async remove({ place, name }: Partition, key: string): Promise<void> {
    const held = this.#held.get(name);
    held?.vectors.remove(key);
    await this.#options.store.removeVector(place, key);
  }

  /** Removes expired questions. */
  async cleanUp(): Promise<void> {
    const now = this.#options.now();
    const pause = createPause();
    for (const held of [...this.#held.values()]) {
      held.vectors.removeExpired(now);
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

  /** Adds a vector to those in memory, if there is room. */
  #add(name: string, held: HeldPartition, row: { key: string; unit: Float32Array; expiresAt: number }): void {
    const { vectors } = held;
    const before = vectors.bytes;
    if (!vectors.add(row.key, row.unit, row.expiresAt)) held.hasMore = true;
    // it may have been forgotten while it was read
    if (this.#held.get(name) === held) this.#bytes += vectors.bytes - before;
  }

  #forget(name: string): void {
    this.#bytes -= this.#held.get(name)?.vectors.bytes ?? 0;
    this.#held.delete(name);
  }

  /** The partition in memory, with what other processes stored. */
  async #load(place: CachePlace, name: string, dimensions: number): Promise<HeldPartition> {
    const held = this.#held.get(name) ?? this.#open(place, dimensions);
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

  #open(place: CachePlace, dimensions: number): HeldPartition {
    // one partition may take half of the memory
    const most = Math.min(maxVectors, Math.max(1, Math.floor(this.#options.bytes / 2 / bytesOf(1, dimensions))));
    return {
      place,
      vectors: new Vectors(dimensions, most),
      hasMore: false,
      refreshedAt: Number.NEGATIVE_INFINITY,
      loading: undefined,
    };
  }

  /** Reads what was stored since the last time, the newest first, a page at a time. */
  async #read(held: HeldPartition, name: string, now: number): Promise<void> {
    const { dimensions } = held.vectors;
    const since = Math.max(0, held.refreshedAt - lookBackMs);
    const limit = Math.ceil(pageBytes / (dimensions * 4));
    const pause = createPause();
    let after: { key: string; storedAt: number } | undefined;
    for (let hasNext = true; hasNext; ) {
      const rows = await this.#options.store.vectors(held.place, name, { now, since, limit, after });
      for (const { key, vector, expiresAt } of rows) {
        const unit = toFloats(vector);
        if (unit.length === dimensions) this.#add(name, held, { key, unit, expiresAt });
        await pause();
      }
      hasNext = rows.length === limit && !held.hasMore;
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
