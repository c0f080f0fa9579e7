/** A group under construction: its instructions, and those a following repetition would repeat. */
interface Group {
  total: number;
  last: number;
  /** Instructions of the group itself. */
  own: number;
}

/** Instructions that a Unicode class counts as. */
const unicodeClassSize = 20;
const repetition = /\{(\d{1,6})(,(\d{0,6}))?\}/y;
/** Prefix of a non-capturing or named group. */
const groupForm = /\?(?:[a-zA-Z-]*:|P?<\w+>)/y;
const flagsAlone = /\(\?[a-zA-Z-]*\)/y;
const escapedName = /\\[pP](?:\{[^}]*\}|.)|\\x\{[^}]*\}|\\./suy;

/** Index after the class at `start`. */
function endOfClass(text: string, start: number): number {
  let index = text[start + 1] === "^" ? start + 2 : start + 1;
  // a leading bracket is a literal character
  if (text[index] === "]") index++;
  while (index < text.length && text[index] !== "]") {
    const posixEnd = text.startsWith("[:", index) ? text.indexOf(":]", index + 2) : -1;
    if (posixEnd >= 0) index = posixEnd + 2;
    else index += text[index] === "\\" ? 2 : 1;
  }
  return index + 1;
}

/** Reads one pattern from start to end. */
class SizeReader {
  readonly #text: string;
  readonly #groups: Group[] = [{ total: 4, last: 0, own: 0 }];
  #index = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get #group(): Group {
    return this.#groups[this.#groups.length - 1] ?? { total: 0, last: 0, own: 0 };
  }

  #add(size: number): void {
    this.#group.total += size;
    this.#group.last = size;
  }

  /** Repeats the preceding element. */
  #repeat(least: number, most: number, own = 2): void {
    const { last } = this.#group;
    const repeated = least * last + Math.max(0, most - least) * (last + 1) + own;
    this.#group.total += repeated - last;
    this.#group.last = repeated;
  }

  #close(): void {
    const closed = this.#groups.length > 1 ? this.#groups.pop() : undefined;
    if (closed) this.#add(Math.max(1, closed.total) + closed.own);
  }

  #match(form: RegExp): RegExpExecArray | null {
    form.lastIndex = this.#index;
    const found = form.exec(this.#text);
    if (found) this.#index += found[0].length;
    return found;
  }

  #readClass(): void {
    const end = endOfClass(this.#text, this.#index);
    const unicode = this.#text.slice(this.#index, end).split(/\\[pP]/).length - 1;
    this.#index = end;
    this.#add(1 + unicode * unicodeClassSize);
  }

  /** Reads a repetition count; false if the brace is a literal character. */
  #readCount(): boolean {
    const [, least, more, most] = this.#match(repetition) ?? [];
    if (least === undefined) return false;
    const from = Number(least);
    this.#repeat(from, more === undefined ? from : most === "" ? from + 1 : Number(most));
    return true;
  }

  #readOne(letter: string): void {
    // flags alone are not a group: a repetition after them applies to what precedes them
    if (letter === "(" && this.#match(flagsAlone)) return;
    if (letter === "{" && this.#readCount()) return;
    if (letter === "\\") this.#readEscape();
    else if (letter === "[") this.#readClass();
    else this.#readSign(letter);
  }

  #readSign(letter: string): void {
    this.#index++;
    if (letter === "(")
      this.#groups.push({ total: 0, last: 0, own: this.#match(groupForm)?.[0].endsWith(":") ? 0 : 2 });
    else if (letter === ")") this.#close();
    else if (letter === "|") this.#add(2);
    else if (letter === "*" || letter === "+") this.#repeat(1, 1);
    else if (letter === "?") this.#repeat(1, 1, 1);
    else this.#add(1);
  }

  #readEscape(): void {
    const text = this.#text;
    if (text.startsWith("\\Q", this.#index)) {
      const end = text.indexOf("\\E", this.#index);
      const quoted = text.slice(this.#index + 2, end < 0 ? undefined : end);
      this.#index = end < 0 ? text.length : end + 2;
      for (let count = 0; count < quoted.length; count++) this.#add(1);
      return;
    }
    const [escaped = "\\"] = this.#match(escapedName) ?? [];
    if (escaped === "\\") this.#index++;
    this.#add(/^\\[pP]/.test(escaped) ? 1 + unicodeClassSize : 1);
  }

  read(): number {
    while (this.#index < this.#text.length) this.#readOne(this.#text[this.#index] ?? "");
    while (this.#groups.length > 1) this.#close();
    return this.#group.total;
  }
}

/**
 * An upper bound for the instructions a pattern compiles to, from its text alone: repetitions are compiled as often as they
 * may occur, so a thousand characters can mean nearly a million instructions.
 */
export function estimatePatternSize(text: string): number {
  return new SizeReader(text).read();
}
