import { widthOf } from "./dot-kernel.ts";

// A vector is stored a second time in 8 bits a number: v = scale * codes + rest. From the products of the codes follows
// the cosine with a query, but for an error that the lengths of the rests bound (Cauchy and Schwarz). What is left of v
// is coded the same way once more, which bounds the error more closely.

const maxCode = 127;
/** More than what rounding adds to a bound. */
const slack = 1e-6;

/** The vector of length 1 in the same direction; undefined for one without a direction. */
export function toUnit(vector: Float32Array): Float32Array<ArrayBuffer> | undefined {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  if (!(length > 0) || !Number.isFinite(length)) return undefined;
  return new Float32Array(vector).map((value) => value / length);
}

function largestOf(values: Float64Array): number {
  let largest = 0;
  for (let index = 0; index < values.length; index++) {
    largest = Math.max(largest, Math.abs(values[index] as number)); // within the array
  }
  return largest;
}

/**
 * Codes the values. What the codes leave takes their place.
 *
 * @param largestCode Magnitude of the largest code.
 * @returns What the codes are multiplied with, and the length of what is left.
 */
function encode(
  values: Float64Array,
  codes: Int8Array | Int16Array,
  largestCode: number,
): { scale: number; rest: number } {
  const scale = largestOf(values) / largestCode;
  const factor = scale > 0 ? 1 / scale : 0;
  let sum = 0;
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as number; // within the array
    // the nearest code, or the one beside it: the rest says what is left
    const code = Math.floor(value * factor + 0.5);
    const rest = value - scale * code;
    codes[index] = code;
    values[index] = rest;
    sum += rest * rest;
  }
  return { scale, rest: Math.sqrt(sum) };
}

/** Codes of a vector, and what is needed to use them. */
interface CodedVector {
  readonly coarse: Int8Array<ArrayBuffer>;
  readonly coarseScale: number;
  /** Length of what the coarse codes leave. */
  readonly coarseRest: number;
  readonly fine: Int8Array<ArrayBuffer>;
  readonly fineScale: number;
  /** Length of what both leave. */
  readonly fineRest: number;
}

/** Codes a vector of length 1. */
export function toCodes(unit: Float32Array): CodedVector {
  const values = new Float64Array(unit);
  const [coarse, fine] = [new Int8Array(widthOf(unit.length)), new Int8Array(widthOf(unit.length))];
  const { scale: coarseScale, rest: coarseRest } = encode(values, coarse, maxCode);
  const { scale: fineScale, rest: fineRest } = encode(values, fine, maxCode);
  return { coarse, coarseScale, coarseRest, fine, fineScale, fineRest };
}

/** A query in 16 bits a number. */
export class CodedQuery {
  readonly codes: Int16Array<ArrayBuffer>;
  readonly scale: number;
  readonly #rest: number;

  /** @param unit Has the length 1. */
  constructor(unit: Float32Array) {
    const width = widthOf(unit.length);
    this.codes = new Int16Array(width);
    // no sum of products with codes of 8 bits exceeds 32 bits
    const largestCode = Math.min(32_767, Math.floor((2 ** 31 - 1) / (maxCode * width)));
    const { scale, rest } = encode(new Float64Array(unit), this.codes, largestCode);
    this.scale = scale;
    this.#rest = rest;
  }

  /** By how much a cosine may differ from what the codes say, for a vector of which they leave a rest of this length. */
  errorOf(rest: number): number {
    return rest + (1 + rest) * this.#rest + slack;
  }
}
