import type { RowBlock } from "../index/row-block.ts";
import type { Places } from "./sums.ts";
import { Vocabulary } from "./vocabulary.ts";

/** Places of strings, in the order in which they were first seen. */
export class Interned {
  readonly #vocabulary: Vocabulary;
  /** One more than the place of each string of the vocabulary; 0 for those that were not seen. */
  #placeOf: Uint32Array;
  /** The string in each place, by its number in the vocabulary. */
  readonly #numbers: number[] = [];

  /** @param vocabulary May have been used for the same strings before. */
  constructor(vocabulary = new Vocabulary()) {
    this.#vocabulary = vocabulary;
    this.#placeOf = new Uint32Array(Math.max(64, vocabulary.size));
  }

  /** How many strings were seen. */
  get size(): number {
    return this.#numbers.length;
  }

  /** The string in a place. */
  at(place: number): string {
    return this.#vocabulary.at(this.#numbers[place] ?? 0);
  }

  placeOf(text: string): number {
    const number = this.#vocabulary.numberOf(text);
    this.#reserve();
    return this.#placeOfNumber(number);
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
    const empty = this.#vocabulary.numberOf("");
    const numbers = this.#vocabulary.numbersOf(values);
    this.#reserve();
    for (let row = 0; row < codes.length; row++) {
      const code = codes[row] ?? 0;
      const number = code === 0 ? empty : (numbers[code - 1] ?? 0);
      const known = this.#placeOf[number] ?? 0;
      places[row] = known === 0 ? this.#placeOfNumber(number) : known - 1;
    }
    return places;
  }

  #placeOfNumber(number: number): number {
    const known = this.#placeOf[number] ?? 0;
    if (known > 0) return known - 1;
    const place = this.#numbers.push(number) - 1;
    this.#placeOf[number] = place + 1;
    return place;
  }

  /** Makes room for all strings of the vocabulary, which others may add to as well. */
  #reserve(): void {
    if (this.#vocabulary.size <= this.#placeOf.length) return;
    const larger = new Uint32Array(2 * this.#vocabulary.size);
    larger.set(this.#placeOf);
    this.#placeOf = larger;
  }
}
