import type { Steps } from "../../lib/steps.ts";

/** A kind of value that can be found in text, such as e-mail addresses. */
export interface ValueKind {
  /** Its name in results and placeholders, such as `EMAIL_ADDRESS`. */
  readonly name: string;
  /** Most characters of a value. */
  readonly longest: number;
  /** ASCII characters with which a value may begin. */
  readonly starts: string;
  /** A value may begin with a letter beyond ASCII. */
  readonly startsBeyondAscii?: boolean;
  /** Characters that come second. Absent: any. */
  readonly seconds?: string;
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

/** Characters between two yields, and the steps that an attempt to read a value counts. */
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

/** Whether a value may begin at an index: it continues no word. `\n` and the like in JSON are no letters. */
function isBoundary(text: string, at: number): boolean {
  if (text.charCodeAt(at - 1) === 0x5c) return !"bfnrt".includes(text.charAt(at));
  if (at === 0 || !isWordCode(text.charCodeAt(at - 1))) return true;
  return text.charCodeAt(at - 2) === 0x5c && "bfnrt".includes(text.charAt(at - 1));
}

/** Finds values of several kinds in one pass. Of values that begin together the longest counts. */
export class ValueFinder {
  /** Most characters of a value. */
  readonly longest: number;
  /** Kinds by the code of the first character; the last entry is for all beyond ASCII. */
  readonly #byStart: readonly (readonly ValueKind[])[];

  constructor(kinds: readonly ValueKind[]) {
    this.longest = kinds.reduce((most, { longest }) => Math.max(most, longest), 0);
    const ofCode = (code: number) => kinds.filter(({ starts }) => starts.includes(String.fromCharCode(code)));
    const beyond = kinds.filter(({ startsBeyondAscii }) => startsBeyondAscii);
    this.#byStart = [...Array.from({ length: 128 }, (_, code) => ofCode(code)), beyond];
  }

  /** The first value that begins at or after an index. */
  *find(text: string, from = 0): Steps<FoundValue | undefined> {
    let steps = 0;
    for (let at = from; at < text.length; at++) {
      if (++steps >= piece) {
        yield steps;
        steps = 0;
      }
      const kinds = this.#byStart[Math.min(text.charCodeAt(at), 128)];
      if (kinds === undefined || kinds.length === 0 || !isBoundary(text, at)) continue;
      steps += attemptSteps;
      const found = longestOf(kinds, text, at);
      if (found === undefined) continue;
      yield steps;
      return found;
    }
    yield steps;
    return undefined;
  }
}

function longestOf(kinds: readonly ValueKind[], text: string, at: number): FoundValue | undefined {
  let best: FoundValue | undefined;
  const second = text.charAt(at + 1);
  for (const kind of kinds) {
    if (kind.seconds !== undefined && !kind.seconds.includes(second)) continue;
    const end = kind.end(text, at);
    if (end !== undefined && end > (best?.end ?? at)) best = { kind, start: at, end };
  }
  return best;
}
