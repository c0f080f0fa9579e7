import type { Steps } from "../../lib/steps.ts";

/** A kind of value that can be found in text, such as e-mail addresses. */
export interface ValueKind {
  /** Its name in results and placeholders, such as `EMAIL_ADDRESS`. */
  readonly name: string;
  /** Most characters of a value. */
  readonly longest: number;
  /** ASCII characters with which a value may begin, where there are no `beginnings`. */
  readonly starts?: string;
  /** A value may begin with a letter beyond ASCII. */
  readonly startsBeyondAscii?: boolean;
  /** ASCII strings of three characters or more, with one of which each value begins. */
  readonly beginnings?: readonly string[];
  /**
   * Where the value that begins at an index ends; undefined where none begins. It looks at no more than two characters
   * before and one behind the value, and takes bounded time.
   */
  end(text: string, at: number): number | undefined;
}

/** A value in a text. */
interface FoundValue {
  readonly kind: ValueKind;
  readonly start: number;
  readonly end: number;
}

/** Characters, and steps of attempts, between two yields; and the steps that an attempt to read a value counts. */
const piece = 8_192;
const attemptSteps = 24;

const digits = "0123456789";
const lower = "abcdefghijklmnopqrstuvwxyz";

/** ASCII digits, letters and both, for `starts`. */
export const ascii = { digits, lower, upper: lower.toUpperCase(), letters: lower + lower.toUpperCase() } as const;

/** Whether a character is an ASCII letter or digit. */
export function isWordCode(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

/** Whether the character at an index is an ASCII digit. */
export function isDigitAt(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 48 && code <= 57;
}

/** Letters that follow a backslash in the escapes of JSON. */
function isEscapeLetter(code: number): boolean {
  return code === 0x62 || code === 0x66 || code === 0x6e || code === 0x72 || code === 0x74;
}

/** Whether a value may begin at an index: it continues no word. `\n` and the like in JSON are no letters. */
function isBoundary(text: string, at: number): boolean {
  if (at === 0) return true;
  const before = text.charCodeAt(at - 1);
  if (before === 0x5c) return !isEscapeLetter(text.charCodeAt(at));
  return !isWordCode(before) || (text.charCodeAt(at - 2) === 0x5c && isEscapeLetter(before));
}

/** Three characters are looked up at once: each shifts those before it by four bits. */
const mostBeginnings = 2 ** 15;
/** What two characters of which nothing is known may be. */
const anyTwo = 2 ** 11;

/** A character as it is looked up: all beyond ASCII count as one. */
function toPlainCode(code: number): number {
  return Math.min(code, 127);
}

/** The three characters at an index as they are looked up. */
function codeAt(text: string, at: number): number {
  let code = 0;
  for (let index = at; index < at + 3; index++) {
    code = (code << 4) ^ (index < text.length ? toPlainCode(text.charCodeAt(index)) : 0);
  }
  return code;
}

/** Marks the beginnings of a kind's values, and unavoidably some others. */
function markBeginnings(marks: Uint8Array, { starts = "", startsBeyondAscii, beginnings }: ValueKind): void {
  if (beginnings) {
    for (const text of beginnings) marks[codeAt(text, 0)] = 1;
    return;
  }
  for (const start of startsBeyondAscii ? [...starts, "\u007f"] : starts) {
    const first = (start.charCodeAt(0) << 8) & ~(anyTwo - 1);
    marks.fill(1, first, first + anyTwo);
  }
}

const noKinds: readonly ValueKind[] = [];

/** Finds values of several kinds in one pass. Of values that begin together the longest counts. */
export class ValueFinder {
  /** Most characters of a value. */
  readonly longest: number;
  /** Kinds of which only the first character is known, by its code; the last entry is for all beyond ASCII. */
  readonly #byStart: readonly (readonly ValueKind[])[];
  /** The other kinds by the three characters with which their values begin. */
  readonly #byBeginning = new Map<string, ValueKind[]>();
  /** 1 for three characters with which a value may begin; most text has few of them. */
  readonly #marks = new Uint8Array(mostBeginnings);

  constructor(kinds: readonly ValueKind[]) {
    this.longest = kinds.reduce((most, { longest }) => Math.max(most, longest), 0);
    const plain = kinds.filter(({ beginnings }) => beginnings === undefined);
    const ofCode = (code: number) => plain.filter(({ starts = "" }) => starts.includes(String.fromCharCode(code)));
    const beyond = plain.filter(({ startsBeyondAscii }) => startsBeyondAscii);
    this.#byStart = [...Array.from({ length: 128 }, (_, code) => ofCode(code)), beyond];
    for (const kind of kinds) this.#addBeginnings(kind);
    for (const kind of kinds) markBeginnings(this.#marks, kind);
  }

  #addBeginnings(kind: ValueKind): void {
    for (const beginning of new Set(kind.beginnings?.map((text) => text.slice(0, 3)))) {
      const known = this.#byBeginning.get(beginning);
      if (known) known.push(kind);
      else this.#byBeginning.set(beginning, [kind]);
    }
  }

  /** Kinds of which a value may begin at an index. */
  #kindsAt(text: string, at: number): readonly ValueKind[] {
    const plain = this.#byStart[Math.min(text.charCodeAt(at), 128)] ?? noKinds;
    const begun = this.#byBeginning.size === 0 ? undefined : this.#byBeginning.get(text.slice(at, at + 3));
    if (!begun) return plain;
    return plain.length === 0 ? begun : [...plain, ...begun];
  }

  /** The first value that begins at or after an index. */
  *find(text: string, from = 0): Steps<FoundValue | undefined> {
    for (let start = from; start < text.length; start += piece) {
      const end = Math.min(text.length, start + piece);
      let attempts = 0;
      for (let at = this.#nextMark(text, start, end); at < end; at = this.#nextMark(text, at + 1, end)) {
        const kinds = this.#kindsAt(text, at);
        if (kinds.length === 0) continue;
        attempts += attemptSteps;
        if (attempts >= piece) {
          yield attempts;
          attempts = 0;
        }
        const found = longestOf(kinds, text, at);
        if (found === undefined) continue;
        yield at - start + attempts;
        return found;
      }
      yield end - start + attempts;
    }
    return undefined;
  }

  /** The first index before `end` at which a value may begin; `end` where none may. */
  #nextMark(text: string, from: number, end: number): number {
    const marks = this.#marks;
    // characters behind the end would make the loop slow
    const last = Math.min(end, text.length - 2);
    let at = from;
    if (at < last) {
      let first = toPlainCode(text.charCodeAt(at));
      let second = toPlainCode(text.charCodeAt(at + 1));
      for (; at < last; at++) {
        const third = toPlainCode(text.charCodeAt(at + 2));
        if (marks[(first << 8) ^ (second << 4) ^ third] === 1 && isBoundary(text, at)) return at;
        first = second;
        second = third;
      }
    }
    for (; at < end; at++) if (marks[codeAt(text, at)] === 1 && isBoundary(text, at)) return at;
    return end;
  }
}

function longestOf(kinds: readonly ValueKind[], text: string, at: number): FoundValue | undefined {
  let best: FoundValue | undefined;
  for (const kind of kinds) {
    const end = kind.end(text, at);
    if (end !== undefined && end > (best?.end ?? at)) best = { kind, start: at, end };
  }
  return best;
}
