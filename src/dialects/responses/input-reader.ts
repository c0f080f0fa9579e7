import { isObject, parseJson } from "../../lib/json.ts";

const begin = /^\s*\{\s*"input"\s*:\s*"/;
/** How far the string may be from the beginning; otherwise it is decoded once complete. */
const maxBegin = 1_000;
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/** Decodes the string of `{"input": "…"}` while it arrives. */
export class InputReader {
  #json = "";
  /** Unread input: searching a growing string would be slow. */
  #rest = "";
  #isBegun = false;
  #isOver = false;
  /** Everything decoded so far. */
  text = "";

  /** Adds JSON text; returns what it adds to the string. */
  push(piece: string): string {
    this.#json += piece;
    if (this.#isOver) return "";
    this.#rest += piece;
    if (!this.#isBegun) {
      const found = begin.exec(this.#rest);
      if (!found) {
        this.#isOver = this.#rest.length > maxBegin;
        return "";
      }
      this.#isBegun = true;
      this.#rest = this.#rest.slice(found[0].length);
    }
    const added = this.#read();
    this.text += added;
    return added;
  }

  /** Returns the rest of the string at the end of the input. Arguments of another form are the string themselves. */
  end(): string {
    const whole = parseJson(this.#json);
    const said = isObject(whole) && typeof whole.input === "string" ? whole.input : undefined;
    const text = said ?? (this.text === "" ? this.#json : this.text);
    // text that was sent cannot be taken back
    const added = text.startsWith(this.text) ? text.slice(this.text.length) : "";
    this.text += added;
    return added;
  }

  #read(): string {
    let added = "";
    let at = 0;
    while (!this.#isOver) {
      const next = this.#readOne(at);
      if (!next) break;
      added += next.text;
      at = next.end;
      this.#isOver = next.isLast;
    }
    this.#rest = this.#rest.slice(at);
    return added;
  }

  /** A run of plain characters, an escape or the closing quote; undefined where it is incomplete. */
  #readOne(from: number): { text: string; end: number; isLast: boolean } | undefined {
    const json = this.#rest;
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
