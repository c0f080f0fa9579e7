import { turns } from "../lib/turns.ts";

/** Vectors that are stored together: memory grows by so many, and none is copied. */
const blockSize = 8;
/** Numbers that are multiplied before the clock is read: about a tenth of a millisecond. */
const numbersPerCheck = 65_536;
/** Bytes of a vector besides its numbers: its key and its places in lists. */
const overhead = 300;

/** Bytes of so many vectors in memory, roughly. */
export const bytesOf = (vectors: number, dimensions: number) => vectors * (dimensions * 4 + overhead);

/** The vector of length 1 in the same direction; undefined for one without a direction. */
export function toUnit(vector: Float32Array): Float32Array<ArrayBuffer> | undefined {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  if (!(length > 0) || !Number.isFinite(length)) return undefined;
  return new Float32Array(vector).map((value) => value / length);
}

/** The cosine of two vectors of length 1, the first of which starts at an offset. Two sums take less time than one. */
export function cosineOf(values: Float32Array, offset: number, unit: Float32Array): number {
  let even = 0;
  let odd = 0;
  let index = 0;
  // all indexes are within both arrays
  for (; index + 1 < unit.length; index += 2) {
    even += (values[offset + index] as number) * (unit[index] as number);
    odd += (values[offset + index + 1] as number) * (unit[index + 1] as number);
  }
  if (index < unit.length) even += (values[offset + index] as number) * (unit[index] as number);
  return even + odd;
}

/** What a vector belongs to. */
interface Row {
  readonly key: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** Vectors of length 1 in memory, and the search among them. */
export class Vectors {
  readonly dimensions: number;
  readonly #most: number;
  /** Numbers of the vectors, in the order of their places. */
  readonly #blocks: Float32Array[] = [];
  /** By place; undefined for free places. */
  readonly #rows: (Row | undefined)[] = [];
  readonly #places = new Map<string, number>();
  readonly #free: number[] = [];

  /** @param most Vectors that there is room for. */
  constructor(dimensions: number, most: number) {
    this.dimensions = dimensions;
    this.#most = most;
  }

  get bytes(): number {
    return bytesOf(this.#blocks.length * blockSize, this.dimensions);
  }

  /** Adds a vector, or replaces the one with its key. False, if there is no room. */
  add(key: string, unit: Float32Array, expiresAt: number): boolean {
    this.remove(key);
    if (this.#places.size >= this.#most) return false;
    const place = this.#free.pop() ?? this.#rows.length;
    const index = Math.floor(place / blockSize);
    const block = this.#blocks[index] ?? new Float32Array(blockSize * this.dimensions);
    this.#blocks[index] = block;
    block.set(unit, (place % blockSize) * this.dimensions);
    this.#rows[place] = { key, expiresAt };
    this.#places.set(key, place);
    return true;
  }

  remove(key: string): void {
    const place = this.#places.get(key);
    if (place === undefined) return;
    this.#places.delete(key);
    this.#rows[place] = undefined;
    this.#free.push(place);
  }

  removeExpired(now: number): void {
    for (const row of this.#rows) if (row && row.expiresAt <= now) this.remove(row.key);
  }

  /** The vector with the largest cosine; undefined where none reaches `least`. Long searches take turns with other work. */
  async nearest(
    unit: Float32Array,
    least: number,
    now: number,
  ): Promise<{ key: string; similarity: number } | undefined> {
    let best: { place: number; row: Row; similarity: number } | undefined;
    const perCheck = Math.ceil(numbersPerCheck / this.dimensions);
    let startedAt = performance.now();
    for (let place = 0; place < this.#rows.length; place++) {
      const row = this.#rows[place];
      const block = this.#blocks[Math.floor(place / blockSize)];
      if (row && block && row.expiresAt > now) {
        const similarity = cosineOf(block, (place % blockSize) * this.dimensions, unit);
        if (similarity >= (best?.similarity ?? least)) best = { place, row, similarity };
      }
      if (place % perCheck !== perCheck - 1) continue;
      turns.spend(performance.now() - startedAt);
      if (turns.isOver) await turns.untilFree(() => false);
      startedAt = performance.now();
    }
    turns.spend(performance.now() - startedAt);
    if (!best) return undefined;
    // it may have been removed while others had their turn, and the next best is not known
    if (this.#rows[best.place] !== best.row) return this.nearest(unit, least, now);
    return { key: best.row.key, similarity: best.similarity };
  }
}
