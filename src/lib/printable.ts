/** A string without control characters and other text that a terminal may act on. */
export function toPrintable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?");
}
