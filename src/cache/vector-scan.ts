import { createPause } from "../lib/pace.ts";
import { type DotKernel, widthOf } from "./dot-kernel.ts";
import { CodedQuery, toCodes } from "./vector-codes.ts";

/** Vectors that are stored together: memory grows by so many, and none is copied. */
const blockSize = 8;
/** Time of a search before other work runs, in milliseconds. */
const sliceMs = 2;
/** Blocks after which the time is read. */
const blocksPerCheck = 16;
/** Searches that are repeated because vectors were removed meanwhile. */
const maxRepeats = 3;

/** Vectors with their codes, one after the other. */
interface Block {
  /** Place of the first one. */
  readonly start: number;
  readonly values: Float32Array<ArrayBuffer>;
  readonly coarse: Int8Array<ArrayBuffer>;
  readonly fine: Int8Array<ArrayBuffer>;
  /** For each vector its coarse scale and rest, and its fine scale and rest. Those of a free place are negative. */
  readonly facts: Float64Array<ArrayBuffer>;
}

const factsPerVector = 4;

function createBlock(start: number, { dimensions, width }: { dimensions: number; width: number }): Block {
  return {
    start,
    values: new Float32Array(blockSize * dimensions),
    coarse: new Int8Array(blockSize * width),
    fine: new Int8Array(blockSize * width),
    facts: new Float64Array(blockSize * factsPerVector).fill(-1),
  };
}

/** What a scan found. */
interface Nearest {
  /** Place of the vector. */
  readonly index: number;
  readonly similarity: number;
}

/** A search that runs. */
interface Search {
  readonly unit: Float32Array;
  readonly query: CodedQuery;
  readonly pause: () => Promise<void> | undefined;
  /** What the codes say about each place so far. */
  readonly estimates: Float64Array;
}

/** Places of vectors that may be the nearest: their cosines are only known up to an error. */
class Candidates {
  readonly #isUsable: (index: number) => boolean;
  /** No vector below it is the nearest. */
  #floor: number;
  #indexes: number[] = [];
  #uppers: number[] = [];

  constructor(floor: number, isUsable: (index: number) => boolean) {
    this.#floor = floor;
    this.#isUsable = isUsable;
  }

  offer(index: number, estimate: number, error: number): void {
    const upper = estimate + error;
    if (upper < this.#floor || !this.#isUsable(index)) return;
    this.#indexes.push(index);
    this.#uppers.push(upper);
    this.#floor = Math.max(this.#floor, estimate - error);
  }

  /** Those that are left, in ascending order, to be offered again with smaller errors. */
  take(): number[] {
    const uppers = this.#uppers;
    const left = this.#indexes.filter((_, place) => (uppers[place] ?? 0) >= this.#floor);
    this.#indexes = [];
    this.#uppers = [];
    return left;
  }
}

/** The cosine of two vectors of length 1, the first of which starts at an offset. */
function cosineOf(values: Float32Array, offset: number, unit: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < unit.length; index++) {
    sum += (values[offset + index] as number) * (unit[index] as number); // within both arrays
  }
  return sum;
}

/** Vectors of length 1, packed. The place of a vector never changes. */
export class PackedVectors {
  readonly dimensions: number;
  readonly #width: number;
  readonly #kernel: DotKernel;
  readonly #blocks: Block[] = [];
  readonly #free: number[] = [];
  /** Places that were used, free ones included. */
  #places = 0;
  /** Incremented when a vector is removed. */
  #version = 0;

  constructor(dimensions: number, kernel: DotKernel) {
    this.dimensions = dimensions;
    this.#kernel = kernel;
    this.#width = widthOf(dimensions);
  }

  get count(): number {
    return this.#places - this.#free.length;
  }

  get bytes(): number {
    return this.#blocks.length * blockSize * (this.dimensions * 4 + this.#width * 2 + factsPerVector * 8);
  }

  /** Adds a vector of length 1; the result is its place. */
  add(unit: Float32Array): number {
    const index = this.#free.pop() ?? this.#places++;
    const { dimensions } = this;
    const width = this.#width;
    if (index % blockSize === 0 && index / blockSize === this.#blocks.length) {
      this.#blocks.push(createBlock(index, { dimensions, width }));
    }
    const block = this.#blockOf(index);
    const row = index - block.start;
    const { coarse, fine, coarseScale, coarseRest, fineScale, fineRest } = toCodes(unit);
    block.values.set(unit, row * dimensions);
    block.coarse.set(coarse, row * width);
    block.fine.set(fine, row * width);
    block.facts.set([coarseScale, coarseRest, fineScale, fineRest], row * factsPerVector);
    return index;
  }

  #blockOf(index: number): Block {
    const block = this.#blocks[Math.floor(index / blockSize)];
    if (!block) throw new TypeError("Cannot use a vector: it is not there");
    return block;
  }

  /** Removes a vector: another one takes its place later. */
  remove(index: number): void {
    const { facts, start } = this.#blockOf(index);
    const row = index - start;
    facts.fill(-1, row * factsPerVector, (row + 1) * factsPerVector);
    this.#free.push(index);
    this.#version++;
  }

  /**
   * The vector with the largest cosine, exactly; undefined where none reaches `least`. Long searches yield.
   *
   * @param isUsable Whether the vector at a place counts.
   */
  async nearest(unit: Float32Array, least: number, isUsable: (index: number) => boolean): Promise<Nearest | undefined> {
    for (let repeats = 0; ; repeats++) {
      const version = this.#version;
      const found = await this.#search(unit, new Candidates(least, isUsable), least);
      // a vector that was removed may have ruled out others
      if (version === this.#version || repeats === maxRepeats) return found;
    }
  }

  async #search(unit: Float32Array, candidates: Candidates, least: number): Promise<Nearest | undefined> {
    const places = this.#places;
    const estimates = new Float64Array(places);
    const search = { unit, query: new CodedQuery(unit), pause: createPause(sliceMs), estimates };
    const all = new Int32Array(places);
    for (let index = 0; index < places; index++) all[index] = index;
    await this.#narrow(search, candidates, { codes: "coarse", indexes: all });
    await this.#narrow(search, candidates, { codes: "fine", indexes: candidates.take() });
    return this.#compare(search, candidates.take(), least);
  }

  /** Offers vectors in ascending order, by what their codes say. */
  async #narrow(
    { query, pause, estimates }: Search,
    candidates: Candidates,
    { codes, indexes }: { codes: "coarse" | "fine"; indexes: ArrayLike<number> },
  ): Promise<void> {
    const kernel = this.#kernel;
    const fact = codes === "coarse" ? 0 : 2;
    kernel.load(query.codes);
    for (let [at, blocks] = [0, 1]; at < indexes.length; blocks++) {
      const block = this.#blockOf(indexes[at] ?? 0);
      const dots = kernel.dots(block[codes]);
      for (; at < indexes.length && (indexes[at] ?? 0) < block.start + blockSize; at++) {
        const index = indexes[at] ?? 0;
        const row = index - block.start;
        const rest = block.facts[row * factsPerVector + fact + 1] ?? 0;
        if (rest < 0) continue;
        const scale = (block.facts[row * factsPerVector + fact] ?? 0) * query.scale;
        const estimate = (estimates[index] ?? 0) + (dots[row] ?? 0) * scale;
        estimates[index] = estimate;
        candidates.offer(index, estimate, query.errorOf(rest));
      }
      const turn = blocks % blocksPerCheck === 0 ? pause() : undefined;
      if (!turn) continue;
      await turn;
      // other searches use the kernel too
      kernel.load(query.codes);
    }
  }

  /** The nearest of a few vectors. */
  async #compare({ unit, pause }: Search, indexes: readonly number[], least: number): Promise<Nearest | undefined> {
    let best: Nearest | undefined;
    for (const index of indexes) {
      const { values, start } = this.#blockOf(index);
      const similarity = cosineOf(values, (index - start) * this.dimensions, unit);
      if (similarity >= (best?.similarity ?? least)) best = { index, similarity };
      await pause();
    }
    return best;
  }
}
