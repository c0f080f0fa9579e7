import { type Dictionary, digestOf } from "../../lib/dictionary.ts";
import type { RowBlock } from "../../log-index/row-block.ts";
import type { Places } from "./sums.ts";

/** Slots at first: a power of two. */
const firstSlots = 1_024;
/** Slots that are tried for a string. Strings whose digests were made to be the same go elsewhere. */
const maxProbes = 32;

/**
 * Numbers of strings, in the order in which they were first seen. Strings of dictionaries are found by their digests: of
 * a million rows hardly any string is made that was seen before.
 */
export class Interned {
  readonly values: string[] = [];
  /** Digest of each value. */
  readonly #digests: number[] = [];
  /** One more than the place of a value, at the first free slot from its digest on; 0 where none is. */
  #slots = new Uint32Array(firstSlots);
  /** Values that found no free slot. */
  readonly #others = new Map<string, number>();

  placeOf(value: string): number {
    return this.#find(value, digestOf(value)) ?? this.#add(value, digestOf(value));
  }

  /** For each row the place of its number as a string. */
  placesOfNumbers(numbers: Float64Array): Places {
    const places = new Uint32Array(numbers.length);
    const known = new Map<number, number>();
    for (let row = 0; row < numbers.length; row++) {
      const number = numbers[row] ?? 0;
      let place = known.get(number);
      if (place === undefined) {
        place = this.placeOf(String(number));
        known.set(number, place);
      }
      places[row] = place;
    }
    return places;
  }

  /** For each row the place of its string; rows without one have that of "". */
  placesOf({ codes, values }: ReturnType<RowBlock["strings"]>): Places {
    const places = new Uint32Array(codes.length);
    const known = new Int32Array(values.size + 1).fill(-1);
    for (let row = 0; row < codes.length; row++) {
      const code = codes[row] ?? 0;
      let place = known[code] ?? -1;
      if (place < 0) {
        place = code === 0 ? this.placeOf("") : this.#placeIn(values, code - 1);
        known[code] = place;
      }
      places[row] = place;
    }
    return places;
  }

  #placeIn(dictionary: Dictionary, at: number): number {
    const digest = dictionary.digestAt(at);
    const mask = this.#slots.length - 1;
    for (let probe = 0; probe < maxProbes; probe++) {
      const found = this.#slots[(digest + probe) & mask] ?? 0;
      if (found === 0) break;
      const place = found - 1;
      if (this.#digests[place] === digest && dictionary.isAt(at, this.values[place] ?? "")) return place;
    }
    const value = dictionary.at(at);
    return this.#others.get(value) ?? this.#add(value, digest);
  }

  #find(value: string, digest: number): number | undefined {
    const mask = this.#slots.length - 1;
    for (let probe = 0; probe < maxProbes; probe++) {
      const found = this.#slots[(digest + probe) & mask] ?? 0;
      if (found === 0) break;
      if (this.values[found - 1] === value) return found - 1;
    }
    return this.#others.get(value);
  }

  /** Adds a string that is not there yet. */
  #add(value: string, digest: number): number {
    const place = this.values.push(value) - 1;
    this.#digests.push(digest);
    if (this.values.length * 2 > this.#slots.length) this.#grow();
    else if (!this.#take(place, digest)) this.#others.set(value, place);
    return place;
  }

  /** Puts a place into the first free slot. */
  #take(place: number, digest: number): boolean {
    const mask = this.#slots.length - 1;
    for (let probe = 0; probe < maxProbes; probe++) {
      const slot = (digest + probe) & mask;
      if (this.#slots[slot] !== 0) continue;
      this.#slots[slot] = place + 1;
      return true;
    }
    return false;
  }

  #grow(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    for (const [place, value] of this.values.entries()) {
      if (this.#others.has(value)) continue;
      if (!this.#take(place, this.#digests[place] ?? 0)) this.#others.set(value, place);
    }
  }
}
