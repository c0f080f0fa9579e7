/** Most words of a search, and most characters of one. */
export const maxWords = 8;
export const maxWordLength = 128;

/** A string as it is compared: upper and lower case are the same, and so are the ways to write an accent. */
export function fold(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

/**
 * The words of a search, each once: what stands between spaces, or between double quotes.
 *
 * @returns Undefined without a word, or with too many or too long ones.
 */
export function readWords(text: string): string[] | undefined {
  const words = new Set<string>();
  for (const [at, part] of text.split('"').entries()) {
    // behind an odd number of quotes
    const isQuoted = at % 2 === 1;
    for (const word of isQuoted ? [part] : part.split(/\s+/)) if (word.trim() !== "") words.add(fold(word));
  }
  const all = [...words];
  const isUsable = all.length > 0 && all.length <= maxWords && all.every(({ length }) => length <= maxWordLength);
  return isUsable ? all : undefined;
}
