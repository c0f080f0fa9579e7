// The distinct strings of a column. Many strings are one text, in the order of a digest: as separate strings they take
// several times the memory, and one would be found by comparing all.

import { joinBytes } from "./bytes.ts";
import { fnv1a } from "./fnv.ts";
import type { Steps } from "./steps.ts";

/** Distinct strings, each with its place. */
export interface Dictionary {
  readonly size: number;
  /** Bytes in memory, roughly. */
  readonly bytes: number;
  /** The string in a place; empty where the dictionary has no string. */
  at(place: number): string;
  /** The digest of the string in a place, as `digestOf` computes it; the string itself is not made. */
  digestAt(place: number): number;
  /** Whether a part of a text is the string in a place. */
  isAt(place: number, text: string, start: number, end: number): boolean;
  /** The place of a string; -1 without it. */
  indexOf(text: string): number;
  /** Places of the strings that pass a test. */
  findAll(test: (text: string) => boolean): number[];
}

function findAll(dictionary: Dictionary, test: (text: string) => boolean): number[] {
  const places: number[] = [];
  for (let place = 0; place < dictionary.size; place++) if (test(dictionary.at(place))) places.push(place);
  return places;
}

/** A part of a text. */
interface TextPart {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Whether two parts are the same, without a string for each. */
function isSamePart(one: TextPart, other: TextPart): boolean {
  const length = one.end - one.start;
  if (length !== other.end - other.start) return false;
  for (let at = 0; at < length; at++) {
    if (one.text.charCodeAt(one.start + at) !== other.text.charCodeAt(other.start + at)) return false;
  }
  return true;
}

/** Few strings. */
class ListDictionary implements Dictionary {
  readonly #strings: readonly string[];
  readonly size: number;
  readonly bytes: number;

  constructor(strings: readonly string[]) {
    this.#strings = strings;
    this.size = strings.length;
    // at most two for each character, and their own object
    this.bytes = strings.reduce((sum, text) => sum + 2 * text.length + 24, 0);
  }

  at(place: number): string {
    return this.#strings[place] ?? "";
  }

  digestAt(place: number): number {
    return fnv1a(this.at(place));
  }

  isAt(place: number, text: string, start: number, end: number): boolean {
    const own = this.at(place);
    return isSamePart({ text: own, start: 0, end: own.length }, { text, start, end });
  }

  indexOf(text: string): number {
    return this.#strings.indexOf(text);
  }

  findAll(test: (text: string) => boolean): number[] {
    return findAll(this, test);
  }
}

/** Many strings as one text, in the order of their digests. */
class TextDictionary implements Dictionary {
  readonly whole: string;
  /** For each string where it ends. */
  readonly ends: Uint32Array;
  readonly size: number;
  readonly bytes: number;

  constructor(whole: string, ends: Uint32Array) {
    this.whole = whole;
    this.ends = ends;
    this.size = ends.length;
    this.bytes = whole.length * (/[^\0-\xff]/.test(whole) ? 2 : 1) + ends.byteLength;
  }

  #startOf(place: number): number {
    return place === 0 ? 0 : (this.ends[place - 1] ?? 0);
  }

  at(place: number): string {
    return this.whole.slice(this.#startOf(place), this.ends[place] ?? 0);
  }

  digestAt(place: number): number {
    return fnv1a(this.whole, undefined, this.#startOf(place), this.ends[place] ?? 0);
  }

  isAt(place: number, text: string, start: number, end: number): boolean {
    const own = { text: this.whole, start: this.#startOf(place), end: this.ends[place] ?? 0 };
    return isSamePart(own, { text, start, end });
  }

  indexOf(text: string): number {
    const digest = fnv1a(text);
    let [place, end] = [0, this.size];
    while (place < end) {
      const middle = (place + end) >> 1;
      if (fnv1a(this.at(middle)) < digest) place = middle + 1;
      else end = middle;
    }
    for (; place < this.size; place++) {
      const found = this.at(place);
      if (found === text) return place;
      if (fnv1a(found) !== digest) break;
    }
    return -1;
  }

  findAll(test: (text: string) => boolean): number[] {
    return findAll(this, test);
  }
}

/** Up to so many strings are a list. */
const maxListed = 512;
/** More strings than a column has. */
const beyondPlaces = 2 ** 21;

/** Steps for each string besides its characters. */
const stepsPerText = 8;

/** The numbers of strings in the order of their digests; undefined if a string cannot be encoded. */
function* sortByDigest(strings: readonly string[]): Steps<Uint32Array | undefined> {
  // both in one number, which typed arrays sort by themselves
  const keys = new Float64Array(strings.length);
  for (let index = 0; index < strings.length; index++) {
    const text = strings[index] ?? "";
    // half of a surrogate pair
    if (!text.isWellFormed()) return undefined;
    keys[index] = fnv1a(text) * beyondPlaces + index;
    yield text.length + stepsPerText;
  }
  keys.sort();
  yield keys.length * stepsPerText;
  const order = new Uint32Array(keys.length);
  for (let place = 0; place < keys.length; place++) order[place] = (keys[place] ?? 0) % beyondPlaces;
  return order;
}

/**
 * A dictionary of distinct strings.
 *
 * @returns Also the place of each string.
 */
export function* toDictionary(strings: readonly string[]): Steps<{ dictionary: Dictionary; places: Uint32Array }> {
  const places = Uint32Array.from(strings, (_, index) => index);
  const isLong = strings.length > maxListed && strings.length < beyondPlaces;
  const order = isLong ? yield* sortByDigest(strings) : undefined;
  if (!order) return { dictionary: new ListDictionary(strings), places };
  const ends = new Uint32Array(order.length);
  let [whole, end] = ["", 0];
  for (let place = 0; place < order.length; place++) {
    const index = order[place] ?? 0;
    const text = strings[index] ?? "";
    whole += text;
    end += text.length;
    ends[place] = end;
    places[index] = place;
    yield text.length + stepsPerText;
  }
  return { dictionary: new TextDictionary(whole, ends), places };
}

/** A dictionary without strings. */
export const noStrings: Dictionary = new ListDictionary([]);

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
/** First byte of the forms: a list as JSON; a text after its number of strings and where they end. */
const [listForm, textForm] = [0, 1];
const headBytes = 8;

/** A dictionary as bytes. */
export function encodeDictionary(dictionary: Dictionary): Uint8Array {
  if (!(dictionary instanceof TextDictionary)) {
    const strings = Array.from({ length: dictionary.size }, (_, place) => dictionary.at(place));
    return joinBytes([Uint8Array.of(listForm), encoder.encode(JSON.stringify(strings))]);
  }
  const { whole, ends } = dictionary;
  const head = new Uint8Array(headBytes);
  head[0] = textForm;
  new DataView(head.buffer).setUint32(4, ends.length, true);
  return joinBytes([head, new Uint8Array(ends.buffer, ends.byteOffset, ends.byteLength), encoder.encode(whole)]);
}

/**
 * Reads what `encodeDictionary` wrote.
 *
 * @throws {RangeError} If the bytes are not a dictionary.
 */
export function decodeDictionary(bytes: Uint8Array): Dictionary {
  if (bytes[0] === listForm) {
    // as `encodeDictionary` wrote it
    return new ListDictionary(JSON.parse(decoder.decode(bytes.subarray(1))) as string[]);
  }
  if (bytes[0] !== textForm) throw new RangeError("Cannot read a dictionary: its form is unknown");
  const size = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(4, true);
  const textStart = headBytes + size * Uint32Array.BYTES_PER_ELEMENT;
  // a copy is aligned
  const ends = new Uint32Array(bytes.slice(headBytes, textStart).buffer);
  const whole = decoder.decode(bytes.subarray(textStart));
  if ((ends.at(-1) ?? 0) !== whole.length) throw new RangeError("Cannot read a dictionary: it has another length");
  return new TextDictionary(whole, ends);
}
