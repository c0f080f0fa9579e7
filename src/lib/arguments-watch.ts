import { parseJson } from "./json.ts";

const quote = 0x22;
const backslash = 0x5c;
const openings = new Set([0x5b, 0x7b]);
const closings = new Set([0x5d, 0x7d]);
const spaces = new Set([0x09, 0x0a, 0x0d, 0x20]);
/** Longest text of a number, or of a word like `null`, that is parsed. */
const maxPlainLength = 64;

/**
 * Says whether the arguments of a call are complete JSON, while they arrive in pieces of any size. Each character is looked at
 * once, and the text is parsed only where its brackets are closed.
 */
export class ArgumentsWatch {
  #text = "";
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Whether the value began with a bracket or a quote: then it ends with one. */
  #isBracketed = false;
  /** Something follows the end of the value. */
  #isOver = false;
  /** The result for the text so far; undefined until it is asked for. */
  #isWhole: boolean | undefined;

  /** Adds a piece. */
  add(piece: string): void {
    this.#text += piece;
    for (let index = 0; index < piece.length; index++) {
      const code = piece.charCodeAt(index);
      if (this.#isInString) this.#readInString(code);
      else if (!spaces.has(code)) this.#read(code);
    }
  }

  /** Whether the text so far is complete JSON. */
  isWhole(): boolean {
    if (this.#isOver || this.#isInString || this.#depth > 0) return false;
    if (!this.#isBracketed && this.#text.length > maxPlainLength) return false;
    this.#isWhole ??= parseJson(this.#text) !== undefined;
    return this.#isWhole;
  }

  #read(code: number): void {
    const isEnd = this.#isBracketed && this.#depth === 0;
    this.#isWhole = undefined;
    if (isEnd) this.#isOver = true;
    else if (code === quote) {
      this.#isInString = true;
      this.#isBracketed = true;
    } else if (openings.has(code)) {
      this.#depth++;
      this.#isBracketed = true;
    } else if (closings.has(code)) this.#depth--;
  }

  #readInString(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === backslash) this.#isEscaped = true;
    else if (code === quote) this.#isInString = false;
  }
}
