import type { Steps } from "./steps.ts";

const encoder = new TextEncoder();

/** Byte strings that are searched for in one pass, without decoding. */
interface SoughtStrings {
  /** Length of the window, which is compared with the ends of the strings: that of the shortest one. */
  readonly windowLength: number;
  /**
   * How far the window advances by its last byte (Horspool, for several strings). Most bytes occur in none of the strings
   * and are skipped.
   */
  readonly shifts: Uint8Array;
}

/** Prepares a search for strings of less than 256 bytes. */
function seek(strings: readonly Uint8Array[]): SoughtStrings {
  const windowLength = Math.min(...strings.map(({ length }) => length));
  const shifts = new Uint8Array(256).fill(windowLength);
  for (const text of strings) {
    for (const [index, byte] of text.subarray(-windowLength).entries()) {
      const distance = windowLength - 1 - index;
      if (distance > 0) shifts[byte] = Math.min(shifts[byte] ?? windowLength, distance);
    }
  }
  return { windowLength, shifts };
}

/** Whether `text` ends at `end`. */
function endsWith(bytes: Uint8Array, end: number, text: Uint8Array): boolean {
  const start = end - text.length;
  if (start < 0) return false;
  for (let index = 0; index < text.length; index++) if (bytes[start + index] !== text[index]) return false;
  return true;
}

/** Creates a test whether bytes contain one of several strings of 2 to 255 bytes, all with the same last character. */
export function createTextFinder(strings: readonly string[]): (bytes: Uint8Array) => boolean {
  const sought = strings.map((text) => encoder.encode(text));
  const { windowLength, shifts } = seek(sought);
  const last = sought[0]?.at(-1);
  /** 1 for the bytes that precede the last one of a string: the last one alone is too common for comparing all strings. */
  const before = new Uint8Array(256);
  for (const text of sought) before[text.at(-2) ?? 0] = 1;
  return (bytes) => {
    for (let index = windowLength - 1; index < bytes.length; index += shifts[bytes[index] ?? 0] ?? 1) {
      if (bytes[index] !== last || before[bytes[index - 1] ?? 0] !== 1) continue;
      for (const text of sought) if (endsWith(bytes, index + 1, text)) return true;
    }
    return false;
  };
}

/** Longest word for the engine's own search, whose worst case is the product of both lengths. */
const maxNativeWord = 32;
/** Characters that the engine searches at a time. */
const nativePiece = 64 * 1024;

/** Length of the border of each prefix of a word (Knuth, Morris and Pratt). */
function* findBorders(word: string): Steps<Int32Array> {
  const borders = new Int32Array(word.length);
  for (let index = 1, border = 0; index < word.length; index++) {
    const code = word.charCodeAt(index);
    while (border > 0 && code !== word.charCodeAt(border)) border = borders[border - 1] ?? 0;
    if (code === word.charCodeAt(border)) border++;
    borders[index] = border;
    if (index % nativePiece === nativePiece - 1) yield nativePiece >> 1;
  }
  return borders;
}

function* indexOfLong(text: string, word: string, from: number): Steps<number> {
  const borders = yield* findBorders(word);
  for (let index = from, found = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    while (found > 0 && code !== word.charCodeAt(found)) found = borders[found - 1] ?? 0;
    if (code === word.charCodeAt(found)) found++;
    if (found === word.length) return index + 1 - word.length;
    if (index % nativePiece === nativePiece - 1) yield nativePiece >> 1;
  }
  return -1;
}

/** Where a text contains a word at or after an index, in steps and in linear time; -1 where it does not. */
export function* indexOfWord(text: string, word: string, from = 0): Steps<number> {
  if (word.length > text.length - from) return -1;
  if (word.length > maxNativeWord) return yield* indexOfLong(text, word, from);
  if (text.length - from <= nativePiece) return text.indexOf(word, from);
  for (let start = from; start < text.length; start += nativePiece) {
    const found = text.slice(start, start + nativePiece + word.length - 1).indexOf(word);
    if (found >= 0) return start + found;
    yield nativePiece >> 4;
  }
  return -1;
}

/** Whether a text contains a word, in steps and in linear time. */
export function* includesWord(text: string, word: string): Steps<boolean> {
  return (yield* indexOfWord(text, word)) >= 0;
}
