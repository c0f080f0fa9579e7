import { giveWay } from "../lib/pace.ts";

/** Parts of a vector after which it is decided whether the rest can still reach what is looked for. */
const checkpoints = [1 / 16, 1 / 8, 1 / 4, 1 / 2];
/** Multiplications in one go: a few milliseconds. */
const sliceWork = 3_000_000;
/** Rounding of 32-bit sums. */
const slack = 1e-5;

/** The vector of length 1 in the same direction; undefined for one without a direction. */
export function toUnit(vector: Float32Array): Float32Array<ArrayBuffer> | undefined {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  if (!(length > 0) || !Number.isFinite(length)) return undefined;
  return new Float32Array(vector).map((value) => value / length);
}

/** Length of the part of a vector that starts at an index. */
function restLength(vector: Float32Array, start: number): number {
  let sum = 0;
  for (let index = start; index < vector.length; index++) {
    const value = vector[index] ?? 0;
    sum += value * value;
  }
  return Math.sqrt(sum);
}

/** What a scan found. */
interface Nearest {
  readonly index: number;
  readonly similarity: number;
}

/** Vectors of length 1, packed. */
export class PackedVectors {
  readonly dimensions: number;
  readonly #ends: readonly number[];
  #values: Float32Array<ArrayBuffer>;
  /** For each vector, the lengths of what follows each checkpoint. */
  #rests: Float32Array<ArrayBuffer>;
  #count = 0;

  constructor(dimensions: number) {
    this.dimensions = dimensions;
    this.#ends = checkpoints.map((part) => Math.floor(dimensions * part));
    this.#values = new Float32Array(dimensions * 4);
    this.#rests = new Float32Array(checkpoints.length * 4);
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#values.byteLength + this.#rests.byteLength;
  }

  /** Adds a vector of length 1; the result is its index. */
  add(unit: Float32Array): number {
    const index = this.#count;
    this.#grow(index + 1);
    this.#write(index, unit);
    this.#count++;
    return index;
  }

  #write(index: number, unit: Float32Array): void {
    this.#values.set(unit, index * this.dimensions);
    for (const [place, end] of this.#ends.entries()) {
      this.#rests[index * checkpoints.length + place] = restLength(unit, end);
    }
  }

  #grow(count: number): void {
    if (count * this.dimensions <= this.#values.length) return;
    const room = Math.ceil(count * 1.5);
    const values = new Float32Array(room * this.dimensions);
    values.set(this.#values);
    const rests = new Float32Array(room * checkpoints.length);
    rests.set(this.#rests);
    this.#values = values;
    this.#rests = rests;
  }

  /** Removes a vector: the last one takes its index. */
  remove(index: number): void {
    const last = this.#count - 1;
    const { dimensions } = this;
    this.#values.copyWithin(index * dimensions, last * dimensions, (last + 1) * dimensions);
    this.#rests.copyWithin(index * checkpoints.length, last * checkpoints.length, (last + 1) * checkpoints.length);
    this.#count = last;
  }

  /**
   * The vector with the largest cosine, exactly; undefined where none reaches `least`. Long scans yield.
   *
   * @param isUsable Whether a vector counts.
   */
  async nearest(unit: Float32Array, least: number, isUsable: (index: number) => boolean): Promise<Nearest | undefined> {
    const rests = this.#ends.map((end) => restLength(unit, end));
    let best: Nearest | undefined;
    let start = 0;
    while (start < this.#count) {
      const scanned = this.#scan(unit, rests, { start, least: best?.similarity ?? least, isUsable });
      best = scanned.best ?? best;
      start = scanned.end;
      if (start < this.#count) await giveWay();
    }
    return best;
  }

  /** Scans vectors until so much was multiplied. */
  #scan(
    unit: Float32Array,
    rests: readonly number[],
    { start, least, isUsable }: { start: number; least: number; isUsable: (index: number) => boolean },
  ): { best: Nearest | undefined; end: number } {
    let best: Nearest | undefined;
    let wanted = least;
    let work = 0;
    let index = start;
    for (; index < this.#count && work < sliceWork; index++) {
      const similarity = this.#compare(index, unit, rests, wanted - slack);
      work += similarity.multiplied;
      if (similarity.cosine < wanted || !isUsable(index)) continue;
      best = { index, similarity: similarity.cosine };
      wanted = similarity.cosine;
    }
    return { best, end: index };
  }

  readonly #compared = { cosine: 0, multiplied: 0 };

  /**
   * The cosine of a vector, or -1 as soon as it cannot reach `least`: what is left of a sum of products is at most the
   * product of the lengths of what is left of both vectors (Cauchy and Schwarz).
   */
  #compare(index: number, unit: Float32Array, rests: readonly number[], least: number) {
    const { dimensions } = this;
    const compared = this.#compared;
    const offset = index * dimensions;
    const restOffset = index * checkpoints.length;
    let sum = 0;
    let from = 0;
    for (let place = 0; place <= rests.length; place++) {
      const end = place < rests.length ? (this.#ends[place] ?? 0) : dimensions;
      sum += this.#dot(offset, unit, from, end);
      from = end;
      const rest = place < rests.length ? (rests[place] ?? 0) * (this.#rests[restOffset + place] ?? 0) : 0;
      if (sum + rest < least) {
        compared.cosine = -1;
        compared.multiplied = from + 16;
        return compared;
      }
    }
    compared.cosine = sum;
    compared.multiplied = dimensions;
    return compared;
  }

  /** Sum of the products of a part of a vector, which starts at an offset, and the same part of another one. */
  #dot(offset: number, unit: Float32Array, start: number, end: number): number {
    const values = this.#values;
    let [one, two, three, four] = [0, 0, 0, 0];
    let index = start;
    // four sums at once: each addition need not wait for the one before it
    for (; index + 3 < end; index += 4) {
      const at = offset + index;
      one += (values[at] as number) * (unit[index] as number); // within both arrays
      two += (values[at + 1] as number) * (unit[index + 1] as number); // within both arrays
      three += (values[at + 2] as number) * (unit[index + 2] as number); // within both arrays
      four += (values[at + 3] as number) * (unit[index + 3] as number); // within both arrays
    }
    for (; index < end; index++) one += (values[offset + index] ?? 0) * (unit[index] ?? 0);
    return one + two + three + four;
  }
}
