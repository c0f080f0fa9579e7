import type { Steps } from "./steps.ts";

const encoder = new TextEncoder();

/** Texts that are looked for in bytes at once, without decoding them. */
interface SoughtTexts {
  /** Bytes at the end of each text by which it is looked for: as many as the shortest has. */
  readonly windowLength: number;
  /**
   * How far the window moves on by its last byte (Horspool, for several texts at once). Most bytes are in none of the texts,
   * so most bytes are never looked at.
   */
  readonly shifts: Uint8Array;
}

/** Gets texts of less than 256 bytes ready to be looked for. */
export function seek(texts: readonly Uint8Array[]): SoughtTexts {
  const windowLength = Math.min(...texts.map(({ length }) => length));
  const shifts = new Uint8Array(256).fill(windowLength);
  for (const text of texts) {
    for (const [index, byte] of text.subarray(-windowLength).entries()) {
      const distance = windowLength - 1 - index;
      if (distance > 0) shifts[byte] = Math.min(shifts[byte] ?? windowLength, distance);
    }
  }
  return { windowLength, shifts };
}

/** Whether `text` ends at `end`. */
export function endsWith(bytes: Uint8Array, end: number, text: Uint8Array): boolean {
  const start = end - text.length;
  if (start < 0) return false;
  for (let index = 0; index < text.length; index++) if (bytes[start + index] !== text[index]) return false;
  return true;
}

/** Tells whether one of some texts of 2 to 255 bytes, all with the same last character, stands in bytes. */
export function createTextFinder(texts: readonly string[]): (bytes: Uint8Array) => boolean {
  const sought = texts.map((text) => encoder.encode(text));
  const { windowLength, shifts } = seek(sought);
  const last = sought[0]?.at(-1);
  /** 1 for the bytes that stand before the last of a text: the last alone is too common to compare all texts at each. */
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

/** Longest word that is left to the engine, whose search takes as many steps as word and text have characters, multiplied. */
const maxNativeWord = 32;
/** Characters of a text the engine looks at at once. */
const nativePiece = 64 * 1024;

/** How much of a word's beginning is also its end, up to each of its characters (Knuth, Morris and Pratt). */
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

function* includesLong(text: string, word: string): Steps<boolean> {
  const borders = yield* findBorders(word);
  for (let index = 0, found = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    while (found > 0 && code !== word.charCodeAt(found)) found = borders[found - 1] ?? 0;
    if (code === word.charCodeAt(found)) found++;
    if (found === word.length) return true;
    if (index % nativePiece === nativePiece - 1) yield nativePiece >> 1;
  }
  return false;
}

/** Whether a text holds a word, found out step by step in time linear in both. */
export function* includesWord(text: string, word: string): Steps<boolean> {
  if (word.length > text.length) return false;
  if (word.length > maxNativeWord) return yield* includesLong(text, word);
  if (text.length <= nativePiece) return text.includes(word);
  for (let start = 0; start < text.length; start += nativePiece) {
    if (text.slice(start, start + nativePiece + word.length - 1).includes(word)) return true;
    yield nativePiece >> 4;
  }
  return false;
}
