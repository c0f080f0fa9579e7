// Columns of many rows in few bytes: numbers in the narrowest array that holds them, strings as numbers of a dictionary.

import { type Dictionary, decodeDictionary, encodeDictionary, toDictionary } from "./dictionary.ts";
import { packedIdBytes, packId, unpackId } from "./ids.ts";
import { runNow, type Steps } from "./steps.ts";

/** Numbers of a column. */
type NumberArray = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** A column of numbers. A row without a value has 0 in `codes`, or NaN where they are the values themselves. */
export interface NumberColumn {
  readonly kind: "numbers";
  /** The values; where there is a base, a value is `(code + base) / scale`. */
  readonly codes: NumberArray;
  /** Undefined where `codes` are the values. */
  readonly base: number | undefined;
  /** 1 for whole numbers, else a power of ten. */
  readonly scale: number;
}

/** A column of strings. A row without one has the code 0. */
export interface StringColumn {
  readonly kind: "strings";
  /** One more than the index into `values`. */
  readonly codes: NumberArray;
  /** Each string once. */
  readonly values: Dictionary;
}

/** A column of ids (ULID), in their packed form. */
interface IdColumn {
  readonly kind: "ids";
  readonly bytes: Uint8Array;
}

/** Values of one field in the order of their rows. */
export type Column = NumberColumn | StringColumn | IdColumn;

const arrays = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: Float64Array } as const;
type Width = keyof typeof arrays;
/** Largest code. */
const largestCode = 0xffff_ffff;

/** The narrowest width for whole numbers up to `most`. */
function widthFor(most: number): 1 | 2 | 4 {
  if (most <= 0xff) return 1;
  return most <= 0xffff ? 2 : 4;
}

/** Rows that a collection has room for at first. */
const firstRoom = 64;

/** Room for at least so many rows, or more: it doubles. */
function roomFor(rows: number, room: number): number {
  return Math.max(rows, room * 2, firstRoom);
}

/** Collects the numbers of rows. */
export class NumberCollector {
  #values = new Float64Array(0);
  #isEmpty = true;

  /** @param value Null, or NaN, for none. */
  set(row: number, value: number | null): void {
    if (value === null || Number.isNaN(value)) return;
    if (row >= this.#values.length) {
      const larger = new Float64Array(roomFor(row + 1, this.#values.length)).fill(Number.NaN, this.#values.length);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[row] = value;
    this.#isEmpty = false;
  }

  /** The numbers of some rows in this order; undefined if no row has one. */
  column(order: Uint32Array): NumberColumn | undefined {
    if (this.#isEmpty) return undefined;
    const values = new Float64Array(order.length);
    for (let index = 0; index < order.length; index++) values[index] = this.#values[order[index] ?? 0] ?? Number.NaN;
    return toNumberColumn(values);
  }
}

/** Decimals that numbers are tried with: none, hundredths, and nano-dollars in US cents. */
const scales = [1, 100, 10_000_000] as const;

/** Smallest and largest of the numbers as multiples of `1 / scale`; undefined if one is no such multiple. */
function boundsOf(values: Float64Array, scale: number): { least: number; most: number } | undefined {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as number; // the index is in range
    if (Number.isNaN(value)) continue;
    const whole = Math.round(value * scale);
    if (!(Math.abs(whole) <= Number.MAX_SAFE_INTEGER) || whole / scale !== value) return undefined;
    if (whole < least) least = whole;
    if (whole > most) most = whole;
  }
  return { least, most };
}

/** A column of the numbers of some rows, NaN where a row has none. */
function toNumberColumn(values: Float64Array): NumberColumn {
  for (const scale of scales) {
    const bounds = boundsOf(values, scale);
    if (!bounds) continue;
    // codes begin at 1
    const base = bounds.least - 1;
    if (!(Number.isSafeInteger(base) && bounds.most - base <= largestCode)) break;
    const codes = new arrays[widthFor(bounds.most - base)](values.length);
    for (let index = 0; index < values.length; index++) {
      const value = values[index] as number; // the index is in range
      codes[index] = Number.isNaN(value) ? 0 : Math.round(value * scale) - base;
    }
    return { kind: "numbers", codes, base, scale };
  }
  return { kind: "numbers", codes: values, base: undefined, scale: 1 };
}

/** Collects the strings of rows. */
export class StringCollector {
  readonly #codeOf = new Map<string, number>();
  #codes = new Uint32Array(0);

  /** @param text Null for none. */
  set(row: number, text: string | null): void {
    if (text === null) return;
    let code = this.#codeOf.get(text);
    if (code === undefined) {
      code = this.#codeOf.size + 1;
      this.#codeOf.set(text, code);
    }
    if (row >= this.#codes.length) {
      const larger = new Uint32Array(roomFor(row + 1, this.#codes.length));
      larger.set(this.#codes);
      this.#codes = larger;
    }
    this.#codes[row] = code;
  }

  /** The strings of some rows in this order; undefined if no row has one. */
  column(order: Uint32Array): StringColumn | undefined {
    return runNow(this.columnInSteps(order), Number.POSITIVE_INFINITY);
  }

  /** The same, with pauses: thousands of different strings take a while. */
  *columnInSteps(order: Uint32Array): Steps<StringColumn | undefined> {
    if (this.#codeOf.size === 0) return undefined;
    const { dictionary, places } = yield* toDictionary([...this.#codeOf.keys()]);
    const codes = new arrays[widthFor(this.#codeOf.size)](order.length);
    for (let index = 0; index < order.length; index++) {
      const code = this.#codes[order[index] ?? 0] ?? 0;
      codes[index] = code === 0 ? 0 : (places[code - 1] ?? 0) + 1;
    }
    return { kind: "strings", codes, values: dictionary };
  }
}

/** Collects the ids (ULID) of rows: each row has one. */
export class IdCollector {
  #bytes = new Uint8Array(0);

  set(row: number, id: string): void {
    const start = row * packedIdBytes;
    if (start >= this.#bytes.length) {
      const larger = new Uint8Array(roomFor(row + 1, this.#bytes.length / packedIdBytes) * packedIdBytes);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    packId(id, this.#bytes, start);
  }

  at(row: number): string {
    return unpackId(this.#bytes, row * packedIdBytes);
  }

  /** Negative if the id of one row lies before that of another, 0 if they are the same. */
  compare(one: number, other: number): number {
    const bytes = this.#bytes;
    const [start, otherStart] = [one * packedIdBytes, other * packedIdBytes];
    for (let index = 0; index < packedIdBytes; index++) {
      const difference = (bytes[start + index] ?? 0) - (bytes[otherStart + index] ?? 0);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  /** The ids of some rows in this order. */
  column(order: Uint32Array): IdColumn {
    const bytes = new Uint8Array(order.length * packedIdBytes);
    for (let index = 0; index < order.length; index++) {
      const start = (order[index] ?? 0) * packedIdBytes;
      bytes.set(this.#bytes.subarray(start, start + packedIdBytes), index * packedIdBytes);
    }
    return { kind: "ids", bytes };
  }
}

const kinds = ["numbers", "strings", "ids"] as const;
/** The only form so far. */
const formVersion = 1;
/** Bytes of the head of an encoded column: kind, width, version, rows, bytes of the dictionary, base and scale. */
const headBytes = 28;
const noBytes = new Uint8Array();

/** The codes of a column as bytes, and their width. */
function codesOf(column: Column): { bytes: Uint8Array; width: number } {
  if (column.kind === "ids") return { bytes: column.bytes, width: packedIdBytes };
  const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT: width } = column.codes;
  return { bytes: new Uint8Array(buffer, byteOffset, byteLength), width };
}

/** A column as bytes: a head, the codes, and the dictionary. */
export function encodeColumn(column: Column): Uint8Array {
  const codes = codesOf(column);
  const dictionary = column.kind === "strings" ? encodeDictionary(column.values) : noBytes;
  const bytes = new Uint8Array(headBytes + codes.bytes.length + dictionary.length);
  const head = new DataView(bytes.buffer);
  head.setUint8(0, kinds.indexOf(column.kind));
  head.setUint8(1, codes.width);
  head.setUint8(2, formVersion);
  head.setUint32(4, codes.bytes.length / codes.width, true);
  head.setUint32(8, dictionary.length, true);
  if (column.kind === "numbers") {
    head.setFloat64(12, column.base ?? Number.NaN, true);
    head.setFloat64(20, column.scale, true);
  }
  bytes.set(codes.bytes, headBytes);
  bytes.set(dictionary, headBytes + codes.bytes.length);
  return bytes;
}

function isWidth(width: number): width is Width {
  return width in arrays;
}

/**
 * Reads what `encodeColumn` wrote. Machines with the other byte order are not supported, as no runtime has one.
 *
 * @throws {RangeError} If the bytes are not a column.
 */
export function decodeColumn(bytes: Uint8Array): Column {
  const head = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kind = kinds[head.getUint8(0)];
  const width = head.getUint8(1);
  const rows = head.getUint32(4, true);
  const dictionaryBytes = head.getUint32(8, true);
  const end = headBytes + rows * width;
  const isWhole = head.getUint8(2) === formVersion && end + dictionaryBytes === bytes.length;
  if (!isWhole) throw new RangeError("Cannot read a column: it has another form or length");
  // a copy is aligned for its width
  const codeBytes = bytes.slice(headBytes, end);
  if (kind === "ids" && width === packedIdBytes) return { kind, bytes: codeBytes };
  if (kind === "ids" || kind === undefined || !isWidth(width)) {
    throw new RangeError("Cannot read a column: its kind is unknown");
  }
  const codes = new arrays[width](codeBytes.buffer);
  if (kind === "strings") return { kind, codes, values: decodeDictionary(bytes.subarray(end)) };
  const base = head.getFloat64(12, true);
  return { kind, codes, base: Number.isNaN(base) ? undefined : base, scale: head.getFloat64(20, true) };
}
