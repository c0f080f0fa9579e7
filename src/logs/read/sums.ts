import type { CacheStatus } from "../../schemas/logs.ts";
import { meanOf } from "../index/measures.ts";
import type { RowBlock } from "../index/row-block.ts";

/** For each row of a block the place of what it counts for: a point of a graph, or a group. */
export type Places = Uint32Array;

/** A sum for each place, 0 at first; grows as places are added. */
export class Sums {
  #values: Float64Array;

  /** @param places Places to start with. */
  constructor(places = 64) {
    this.#values = new Float64Array(Math.max(1, places));
  }

  /** Makes room for a number of places. */
  reserve(places: number): void {
    if (places <= this.#values.length) return;
    const larger = new Float64Array(Math.max(places, this.#values.length * 2));
    larger.set(this.#values);
    this.#values = larger;
  }

  at(place: number): number {
    return this.#values[place] ?? 0;
  }

  add(place: number, value: number): void {
    this.#values[place] = (this.#values[place] ?? 0) + value;
  }

  /** Counts rows; with `which` those that have a 1 there. */
  countRows(places: Places, which?: Uint8Array): void {
    const values = this.#values;
    for (let row = 0; row < places.length; row++) {
      const place = places[row] ?? 0;
      values[place] = (values[place] ?? 0) + (which === undefined ? 1 : (which[row] ?? 0));
    }
  }

  /** Adds a number of each row; with `which` of those that have a 1 there. Rows with NaN have no number. */
  addRows(places: Places, added: Float64Array, which?: Uint8Array): void {
    const values = this.#values;
    for (let row = 0; row < places.length; row++) {
      if (which && which[row] !== 1) continue;
      const value = added[row] ?? 0;
      const place = places[row] ?? 0;
      if (!Number.isNaN(value)) values[place] = (values[place] ?? 0) + value;
    }
  }

  /** Has the least number of the rows in each place, above 0. */
  keepLeast(places: Places, numbers: Float64Array): void {
    const values = this.#values;
    for (let row = 0; row < places.length; row++) {
      const place = places[row] ?? 0;
      const known = values[place] ?? 0;
      const number = numbers[row] ?? 0;
      if (known === 0 || number < known) values[place] = number;
    }
  }

  /** Has the greatest number of the rows in each place, above 0. */
  keepMost(places: Places, numbers: Float64Array): void {
    const values = this.#values;
    for (let row = 0; row < places.length; row++) {
      const place = places[row] ?? 0;
      const number = numbers[row] ?? 0;
      if (number > (values[place] ?? 0)) values[place] = number;
    }
  }

  total(): number {
    return this.#values.reduce((sum, value) => sum + value, 0);
  }
}

/** US cents without the noise of sums of fractions: costs are whole nano-dollars. */
export const toCents = (cost: number): number => Math.round(cost * 1e7) / 1e7;

/** Percent. */
export const rateOf = (part: number, all: number): number => 100 * meanOf(part, all);

/** Calls for a block with the rows that are requests, and with those that are parts of other rows. */
export function visitParts(block: RowBlock, visit: (block: RowBlock, isPart: boolean) => void): void {
  const parts = block.numbers("part");
  const isPart = (place: number) => parts[place] === 1;
  if (!parts.includes(1)) {
    visit(block, false);
    return;
  }
  visit(block.pick(isPart), true);
  const requests = block.pick((place) => !isPart(place));
  if (requests.length > 0) visit(requests, false);
}

/** Status of an open realtime session, which is a success. */
const sessionOpened = 101;

/** Rows of a block that failed: 1 for those whose status is neither 2xx nor that of a session. */
export function failuresOf(block: RowBlock): Uint8Array {
  const statuses = block.numbers("status");
  const failed = new Uint8Array(statuses.length);
  for (let row = 0; row < statuses.length; row++) {
    const status = statuses[row] ?? 0;
    failed[row] = (status >= 200 && status <= 299) || status === sessionOpened ? 0 : 1;
  }
  return failed;
}

/** Rows of a block whose response came from the cache. Reads the field `cacheStatus`. */
export function cacheHitsOf(block: RowBlock): { simple: Uint8Array; semantic: Uint8Array; any: Uint8Array } {
  const { codes, values } = block.strings("cacheStatus");
  const rowsWith = (status: CacheStatus): Uint8Array => {
    const code = values.indexOf(status) + 1;
    return code === 0 ? new Uint8Array(codes.length) : Uint8Array.from(codes, (one) => Number(one === code));
  };
  const [simple, semantic] = [rowsWith("HIT"), rowsWith("SEMANTIC HIT")];
  return { simple, semantic, any: simple.map((isHit, row) => isHit | (semantic[row] ?? 0)) };
}

/** Sets of small whole numbers, one for each place. */
export class NumberSets {
  readonly #bits: Uint32Array[] = [];
  readonly #sizes: number[] = [];

  add(place: number, member: number): void {
    const word = member >>> 5;
    let bits = this.#bits[place];
    if (!bits || word >= bits.length) {
      const larger = new Uint32Array(Math.max(word + 1, 2 * (bits?.length ?? 4)));
      if (bits) larger.set(bits);
      this.#bits[place] = larger;
      bits = larger;
    }
    const bit = 1 << (member & 31);
    const before = bits[word] ?? 0;
    if ((before & bit) !== 0) return;
    bits[word] = before | bit;
    this.#sizes[place] = (this.#sizes[place] ?? 0) + 1;
  }

  sizeOf(place: number): number {
    return this.#sizes[place] ?? 0;
  }
}

/** Counts by place and number. */
export class CountsByNumber {
  readonly #counts: (Map<number, number> | undefined)[] = [];
  readonly total = new Map<number, number>();

  add(place: number, number: number): void {
    const counts = this.#counts[place] ?? new Map<number, number>();
    this.#counts[place] = counts;
    counts.set(number, (counts.get(number) ?? 0) + 1);
    this.total.set(number, (this.total.get(number) ?? 0) + 1);
  }

  /** Numbers of a place with their counts, ascending. */
  at(place: number): [number: number, count: number][] {
    return [...(this.#counts[place] ?? [])].sort(([a], [b]) => a - b);
  }
}
