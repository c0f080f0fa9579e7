import { isObject, parseJson } from "../../lib/json.ts";

const begin = /^\s*\{\s*"input"\s*:\s*"/;
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/** Reads the one text of `{"input": "…"}` while it arrives. */
export class InputReader {
  #json = "";
  /** Where the text goes on in `#json`; undefined before it begins. */
  #at: number | undefined;
  #isOver = false;
  /** All that was read. */
  text = "";

  /** Takes more of the JSON text; gives what it adds to the text. */
  push(piece: string): string {
    this.#json += piece;
    if (this.#at === undefined) {
      const found = begin.exec(this.#json);
      if (!found) return "";
      this.#at = found[0].length;
    }
    const added = this.#read();
    this.text += added;
    return added;
  }

  /** Gives what is still missing of the text once no more comes. Arguments of another form are the text themselves. */
  end(): string {
    const whole = parseJson(this.#json);
    const said = isObject(whole) && typeof whole.input === "string" ? whole.input : undefined;
    const text = said ?? (this.text === "" ? this.#json : this.text);
    // what was told cannot be taken back
    const added = text.startsWith(this.text) ? text.slice(this.text.length) : "";
    this.text += added;
    return added;
  }

  #read(): string {
    let added = "";
    while (!this.#isOver) {
      const next = this.#readOne(this.#at ?? 0);
      if (!next) break;
      added += next.text;
      this.#at = next.end;
      this.#isOver = next.isLast;
    }
    return added;
  }

  /** A stretch of plain letters, an escape or the closing quote; undefined while it is cut. */
  #readOne(from: number): { text: string; end: number; isLast: boolean } | undefined {
    const json = this.#json;
    const letter = json[from];
    if (letter === undefined) return undefined;
    if (letter === '"') return { text: "", end: from + 1, isLast: true };
    if (letter !== "\\") {
      let end = from;
      while (end < json.length && json[end] !== '"' && json[end] !== "\\") end++;
      return { text: json.slice(from, end), end, isLast: false };
    }
    const name = json[from + 1];
    if (name === undefined) return undefined;
    if (name !== "u") return { text: escapes[name] ?? name, end: from + 2, isLast: false };
    const code = json.slice(from + 2, from + 6);
    if (code.length < 4) return undefined;
    return { text: String.fromCharCode(Number.parseInt(code, 16)), end: from + 6, isLast: false };
  }
}
