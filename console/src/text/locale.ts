/** The language of the words. */
const language = "en";

/**
 * The locale of numbers, dates and plural forms: that of the viewer where it is of the language of the words. English words
 * with a German decimal comma would mislead.
 */
export function locale(): string {
  const wanted = typeof navigator === "undefined" ? [] : (navigator.languages ?? []);
  return wanted.find((tag) => tag.split("-")[0] === language) ?? language;
}
