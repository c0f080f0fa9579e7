import { accepts, op, type Program } from "./program.ts";

/** Most characters of a prefix. */
const longestPrefix = 6;
/** A position that accepts more of the 256 first characters says little. */
const mostAccepted = 128;
/** Instructions at which paths wait for a character; undefined where one of them has matched. */
function close({ ops, outs, args }: Program, begun: Iterable<number>): number[] | undefined {
  const seen = new Set<number>();
  const waiting: number[] = [];
  const left = [...begun];
  for (let index = left.pop(); index !== undefined; index = left.pop()) {
    const kind = ops[index];
    if (seen.has(index) || kind === op.fail || kind === undefined) continue;
    seen.add(index);
    if (kind === op.match) return undefined;
    if (kind >= op.rune) waiting.push(index);
    else left.push(outs[index] ?? 0);
    if (kind === op.alt || kind === op.altMatch) left.push(args[index] ?? 0);
  }
  return waiting;
}

/** What may stand at one position: a class of the engine's regular expressions. */
interface Place {
  source: string;
  /** How many of the first 256 characters. */
  accepted: number;
  /** It may be a character of two UTF-16 units, after which positions are not the same. */
  isLast: boolean;
}

const unit = (code: number): string => `\\u${code.toString(16).padStart(4, "0")}`;

function readPlace(program: Program, waiting: readonly number[]): Place {
  const { ops, args, runes } = program;
  let accepted = 0;
  let source = "";
  for (let code = 0, start = -1; code <= 256; code++) {
    const isAccepted = code < 256 && waiting.some((index) => accepts(program, index, code));
    if (isAccepted) accepted++;
    if (isAccepted && start < 0) start = code;
    if (isAccepted || start < 0) continue;
    source += `${unit(start)}-${unit(code - 1)}`;
    start = -1;
  }
  const isOnlyLatin = waiting.every((index) =>
    ops[index] === op.rune1 ? (args[index] ?? 256) < 256 : runes[index]?.isLatin === true,
  );
  return { source: isOnlyLatin ? `[${source}]` : `[${source}\\u0100-\\uffff]`, accepted, isLast: !isOnlyLatin };
}

/**
 * Finds where matches of a pattern may begin: at characters that its first characters accept. The engine's own regular
 * expressions look for them, with a few classes in a row and nothing that repeats or branches: no text takes them longer
 * than its length times the number of classes.
 */
export class PatternPrefix {
  readonly #form: RegExp;
  readonly #length: number;

  private constructor(places: readonly Place[]) {
    this.#form = new RegExp(places.map(({ source }) => source).join(""), "g");
    this.#length = places.length;
  }

  /** The prefix of a program; undefined where it excludes too little. */
  static of(program: Program): PatternPrefix | undefined {
    const places: Place[] = [];
    let waiting = close(program, [program.start]);
    while (waiting && waiting.length > 0 && places.length < longestPrefix) {
      const place = readPlace(program, waiting);
      places.push(place);
      if (place.isLast) break;
      waiting = close(program, new Set(waiting.map((index) => program.outs[index] ?? 0)));
    }
    while ((places.at(-1)?.accepted ?? 0) > mostAccepted) places.pop();
    return places.length === 0 ? undefined : new PatternPrefix(places);
  }

  /** The first index from `from` up to `until`, that not included, at which a match may begin; -1 without one. */
  find(text: string, from: number, until: number): number {
    const form = this.#form;
    const end = until + this.#length - 1;
    const isAll = end >= text.length;
    form.lastIndex = isAll ? from : 0;
    if (!form.test(isAll ? text : text.slice(from, end))) return -1;
    const found = form.lastIndex - this.#length + (isAll ? 0 : from);
    // a character of two units begins at its first
    return found > from && isLow(text.charCodeAt(found)) && isHigh(text.charCodeAt(found - 1)) ? found - 1 : found;
  }
}

const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;
const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;
