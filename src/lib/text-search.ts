const encoder = new TextEncoder();

/** Texts that are looked for in bytes at once, without decoding them. */
export interface SoughtTexts {
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
