/** Longest text that the built-in search is used for: in the worst case it takes as many steps for each character. */
const shortPart = 32;

/** Lengths of the longest border of each beginning of a text (Knuth, Morris and Pratt). */
function bordersOf(text: string): Uint16Array {
  const borders = new Uint16Array(text.length);
  for (let index = 1, border = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    while (border > 0 && code !== text.charCodeAt(border)) border = borders[border - 1] ?? 0;
    if (code === text.charCodeAt(border)) border++;
    borders[index] = border;
  }
  return borders;
}

/** Index after the first occurrence of a text from an index on, or -1. Takes time linear in the length of both. */
function findEnd(value: string, text: string, from: number): number {
  if (text.length <= shortPart) {
    const found = value.indexOf(text, from);
    return found < 0 ? -1 : found + text.length;
  }
  const borders = bordersOf(text);
  for (let index = from, matched = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    while (matched > 0 && code !== text.charCodeAt(matched)) matched = borders[matched - 1] ?? 0;
    if (code === text.charCodeAt(matched)) matched++;
    if (matched === text.length) return index + 1;
  }
  return -1;
}

/** A pattern in which each `*` stands for any text. */
export class Pattern {
  readonly text: string;
  /** Before the first `*`. */
  readonly first: string;
  /** After the last `*`; undefined without a `*`. */
  readonly last: string | undefined;
  #middle: readonly string[] | undefined;

  /** @param text At most 65,535 characters. */
  constructor(text: string) {
    const star = text.indexOf("*");
    this.text = text;
    this.first = star < 0 ? text : text.slice(0, star);
    this.last = star < 0 ? undefined : text.slice(text.lastIndexOf("*") + 1);
  }

  /** Between two `*`, in their order. Most patterns are found by their ends alone: this is read when it is needed. */
  #readMiddle(): readonly string[] {
    this.#middle ??= this.text
      .split("*")
      .slice(1, -1)
      .filter((part) => part !== "");
    return this.#middle;
  }

  /** Whether a value fits. Takes time linear in the length of both. */
  fits(value: string): boolean {
    const { first, last } = this;
    if (last === undefined) return value === first;
    const until = value.length - last.length;
    if (until < first.length || !value.startsWith(first) || !value.endsWith(last)) return false;
    let from = first.length;
    for (const part of this.#readMiddle()) {
      from = findEnd(value, part, from);
      if (from < 0 || from > until) return false;
    }
    return true;
  }
}
