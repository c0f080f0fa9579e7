import type { Dictionary } from "../../lib/dictionary.ts";
import { fnv1a } from "../../lib/fnv.ts";
import { WeightedCache } from "../../lib/weighted-cache.ts";

/** Slots at first: a power of two. */
const firstSlots = 1_024;
/** Slots that are tried for a string. Strings whose digests were made to be the same go elsewhere. */
const maxProbes = 32;
/** Numbers that are stored of a string: its text, where it starts and ends there, and its digest. */
const entrySize = 4;

/**
 * Numbers of distinct strings, in the order in which they were first seen. Strings of dictionaries are found by their
 * digests, and once for each dictionary: the rows of a column that was seen before need no string at all.
 */
export class Vocabulary {
  /** Joined strings: one object for each would take several times the memory. */
  readonly #strings: string[] = [];
  #characters = 0;
  #entries = new Uint32Array((firstSlots / 2) * entrySize);
  #size = 0;
  /** One more than the number of each string, at the first free slot from its digest on; 0 where none is. */
  #slots = new Uint32Array(firstSlots);
  /** Strings that found no free slot. */
  readonly #others = new Map<string, number>();
  /** The number of each string of a dictionary. */
  readonly #numbersOf = new WeakMap<Dictionary, Uint32Array>();

  get size(): number {
    return this.#size;
  }

  /** Bytes in memory, roughly. */
  get bytes(): number {
    return 2 * this.#characters + this.#entries.byteLength + this.#slots.byteLength + 128 * this.#others.size;
  }

  /** The string with a number. */
  at(number: number): string {
    const at = number * entrySize;
    return (this.#strings[this.#entries[at] ?? 0] ?? "").slice(this.#entries[at + 1], this.#entries[at + 2]);
  }

  /** The number of a string, which is added if it is new. */
  numberOf(text: string): number {
    const digest = fnv1a(text);
    const isSame = (whole: string, start: number, end: number) =>
      end - start === text.length && whole.startsWith(text, start);
    return this.#find(digest, isSame) ?? this.#others.get(text) ?? this.#addAll([text], [digest]);
  }

  /** The number of each string of a dictionary; new strings are added. */
  numbersOf(dictionary: Dictionary): Uint32Array {
    const known = this.#numbersOf.get(dictionary);
    if (known) return known;
    const numbers = new Uint32Array(dictionary.size);
    const added: { strings: string[]; digests: number[]; places: number[] } = { strings: [], digests: [], places: [] };
    let place = 0;
    const isSame = (whole: string, start: number, end: number) => dictionary.isAt(place, whole, start, end);
    for (; place < numbers.length; place++) {
      const digest = dictionary.digestAt(place);
      const found = this.#find(digest, isSame) ?? this.#findOther(dictionary, place);
      if (found !== undefined) numbers[place] = found;
      else {
        added.strings.push(dictionary.at(place));
        added.digests.push(digest);
        added.places.push(place);
      }
    }
    // the strings of a dictionary differ, so none of these is found in the others
    const first = this.#addAll(added.strings, added.digests);
    for (const [index, of] of added.places.entries()) numbers[of] = first + index;
    this.#numbersOf.set(dictionary, numbers);
    return numbers;
  }

  #findOther(dictionary: Dictionary, place: number): number | undefined {
    return this.#others.size === 0 ? undefined : this.#others.get(dictionary.at(place));
  }

  #find(digest: number, isSame: (whole: string, start: number, end: number) => boolean): number | undefined {
    const [slots, entries] = [this.#slots, this.#entries];
    const mask = slots.length - 1;
    for (let probe = 0; probe < maxProbes; probe++) {
      const found = slots[(digest + probe) & mask] ?? 0;
      if (found === 0) return undefined;
      const at = (found - 1) * entrySize;
      if (entries[at + 3] !== digest) continue;
      if (isSame(this.#strings[entries[at] ?? 0] ?? "", entries[at + 1] ?? 0, entries[at + 2] ?? 0)) return found - 1;
    }
    return undefined;
  }

  /** Adds strings that are not there yet; returns the number of the first. */
  #addAll(strings: readonly string[], digests: readonly number[]): number {
    const first = this.#size;
    if (strings.length === 0) return first;
    // a copy: a part of another text would hold all of it in memory
    const whole = strings.join("");
    const text = this.#strings.push(whole) - 1;
    this.#characters += whole.length;
    this.#reserve(first + strings.length);
    let start = 0;
    for (const [index, { length }] of strings.entries()) {
      const digest = digests[index] ?? 0;
      this.#entries.set([text, start, start + length, digest], this.#size * entrySize);
      if (!this.#take(this.#size, digest)) this.#others.set(strings[index] ?? "", this.#size);
      this.#size++;
      start += length;
    }
    return first;
  }

  /** Puts a number into the first free slot. */
  #take(number: number, digest: number): boolean {
    const mask = this.#slots.length - 1;
    for (let probe = 0; probe < maxProbes; probe++) {
      const slot = (digest + probe) & mask;
      if (this.#slots[slot] !== 0) continue;
      this.#slots[slot] = number + 1;
      return true;
    }
    return false;
  }

  /** Makes room for a number of strings. */
  #reserve(size: number): void {
    let slots = this.#slots.length;
    while (size * 2 > slots) slots *= 2;
    if (slots === this.#slots.length) return;
    const entries = new Uint32Array((slots / 2) * entrySize);
    entries.set(this.#entries);
    this.#entries = entries;
    this.#slots = new Uint32Array(slots);
    const others = new Set(this.#others.values());
    for (let number = 0; number < this.#size; number++) {
      if (others.has(number)) continue;
      if (!this.#take(number, entries[number * entrySize + 3] ?? 0)) this.#others.set(this.at(number), number);
    }
  }
}

/** Vocabularies that were used, by organisation and field. */
export class Vocabularies {
  readonly #known: WeightedCache<Vocabulary>;

  /** @param maxBytes Most bytes of all; one with more than a quarter is made anew for each question. */
  constructor(maxBytes: number) {
    this.#known = new WeightedCache(maxBytes);
  }

  /** Answers a question with the vocabularies of an organisation's fields. */
  async use<Value>(owner: string, answer: (of: (field: string) => Vocabulary) => Promise<Value>): Promise<Value> {
    const used = new Map<string, Vocabulary>();
    try {
      return await answer((field) => {
        const key = JSON.stringify([owner, field]);
        const vocabulary = used.get(key) ?? this.#known.get(key) ?? new Vocabulary();
        used.set(key, vocabulary);
        return vocabulary;
      });
    } finally {
      for (const [key, vocabulary] of used) this.#known.set(key, vocabulary, { owner, weight: vocabulary.bytes });
    }
  }
}
