import { RE2JS } from "re2js";
import { AutomatonScan, largestAutomaton, PatternAutomaton } from "./automaton.ts";
import { PatternPrefix } from "./prefix.ts";
import { createProgram, type Program } from "./program.ts";
import { type Found, PatternSearch } from "./search.ts";
import { estimatePatternSize } from "./size.ts";
import { type Steps, stepsPerPiece } from "./steps.ts";

/** Limits of a pattern: characters, and instructions, which repetitions multiply. */
const maxPatternLength = 1_000;
const maxPatternSize = 2_500;

/** Shorter strings are searched without an automaton. */
const shortText = 64;
/** Characters in which the beginning of a match is looked for at a time, and the steps that takes. */
const prefixPiece = 64 * 1024;
const prefixSteps = prefixPiece >> 2;

/** Size of patterns: instructions, and memory in bytes, roughly. */
export interface PatternAmount {
  readonly size: number;
  readonly weight: number;
}

/** Patterns with a shared limit of instructions. */
export class PatternSum implements PatternAmount {
  size = 0;
  weight = 0;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  add({ size, weight }: PatternAmount): void {
    this.size += size;
    this.weight += weight;
  }

  /** Whether so many more exceed the limit. */
  isOver(more = 0): boolean {
    return this.size + more > this.#most;
  }
}

/** A compiled pattern; matching takes at most as many steps per character as it has instructions. */
export class Pattern implements PatternAmount {
  readonly #program: Program;
  /** Made for the first text that is long enough to need it. */
  #automaton: PatternAutomaton | undefined;
  /** Made for the first text; null where it excludes too little. */
  #prefix: PatternPrefix | null | undefined;

  constructor(program: Program) {
    this.#program = program;
  }

  /** Instructions. */
  get size(): number {
    return this.#program.ops.length;
  }

  /** Memory in bytes, roughly. */
  get weight(): number {
    return this.#program.weight;
  }

  /** Most characters of a match, in UTF-16 units; undefined if it can have any length. */
  get longest(): number | undefined {
    return this.#program.longest;
  }

  /** False where a text lacks what every match contains, or at and after `from` what every match begins with. */
  mayMatch(text: string, from = 0): boolean {
    if (!this.#hasRequired(text)) return false;
    const prefix = this.#usePrefix();
    const until = Math.min(text.length, from + prefixPiece);
    return !prefix || until < text.length || prefix.find(text, from, until) >= 0;
  }

  #hasRequired(text: string): boolean {
    for (const part of this.#program.required) if (!text.includes(part)) return false;
    return true;
  }

  #usePrefix(): PatternPrefix | null {
    const program = this.#program;
    this.#prefix ??= (program.isAnchored ? undefined : PatternPrefix.of(program)) ?? null;
    return this.#prefix;
  }

  /** The first index at or after `from` at which a match may begin; -1 without one. */
  *#findBeginning(text: string, from: number): Steps<number> {
    const prefix = this.#usePrefix();
    if (!prefix) return from;
    for (let index = from; ; index += prefixPiece) {
      const found = prefix.find(text, index, Math.min(text.length, index + prefixPiece));
      if (found >= 0) return found;
      if (index + prefixPiece >= text.length) return -1;
      yield prefixSteps;
    }
  }

  /** Finds the first match at or after an index, in steps. */
  *find(text: string, from = 0): Steps<Found | undefined> {
    // once per text: a search for each further match would scan the rest again
    if (from === 0 && !this.#hasRequired(text)) return undefined;
    let first = yield* this.#findBeginning(text, from);
    if (first < 0) return undefined;
    const automaton = text.length - first < shortText ? undefined : this.#useAutomaton();
    if (automaton) {
      const scan = new AutomatonScan(automaton, text, first);
      while (!scan.run(stepsPerPiece)) yield scan.takeSteps();
      yield scan.takeSteps();
      if (scan.isNone) return undefined;
      first = scan.start;
    }
    return yield* runSearch(new PatternSearch(this.#program, text, { from: first, slots: 2 }));
  }

  /**
   * The first index at or after `from` at which a match may begin, whatever follows the text; the length of the text if it
   * can begin nowhere in it.
   */
  opensAt(text: string, from: number): number {
    if (this.#program.isAnchored) return from > 0 ? text.length : from;
    const automaton = this.#useAutomaton();
    if (!automaton) return from;
    // half of a character says nothing yet
    const isHalf = /[\ud800-\udbff]$/.test(text);
    const scan = new AutomatonScan(automaton, isHalf ? text.slice(0, -1) : text, from);
    return scan.runToEnd() ? scan.start : from;
  }

  /** The automaton of the pattern; undefined where it has none. */
  #useAutomaton(): PatternAutomaton | undefined {
    const program = this.#program;
    if (program.isAnchored || program.ops.length > largestAutomaton) return undefined;
    this.#automaton ??= new PatternAutomaton(program);
    return this.#automaton.isUsable ? this.#automaton : undefined;
  }

  /** The groups of a match that `find` found, by number, starting with the match; undefined for unused groups. */
  *findGroups(text: string, { start, end }: Found): Steps<(string | undefined)[]> {
    const search = new PatternSearch(this.#program, text, { from: start, slots: this.#program.slots, until: end });
    yield* runSearch(search);
    const { captures } = search;
    return Array.from({ length: this.#program.slots / 2 }, (_, index) => {
      const [from = -1, to = -1] = captures.subarray(2 * index, 2 * index + 2);
      return from < 0 || to < 0 ? undefined : text.slice(from, to);
    });
  }

  /** Numbers of named groups. */
  get names(): Readonly<Record<string, number>> {
    return this.#program.names;
  }
}

function* runSearch(search: PatternSearch): Steps<Found | undefined> {
  while (!search.run(stepsPerPiece)) yield search.takeSteps();
  yield search.takeSteps();
  return search.found;
}

const tooLarge = "must repeat less: repetitions with large counts take too long";

function toFlags(flags: string): number {
  const known = { i: RE2JS.CASE_INSENSITIVE, m: RE2JS.MULTILINE, s: RE2JS.DOTALL };
  return Object.entries(known).reduce((sum, [letter, bit]) => (flags.includes(letter) ? sum | bit : sum), 0);
}

/**
 * Compiles a pattern (https://github.com/google/re2/wiki/Syntax). The only way to do so: oversized patterns are
 * rejected before they take time and memory.
 *
 * @param sum Patterns with the same limit; this one is added.
 * @param flags `i`, `m` and `s`.
 * @returns The pattern, or what is wrong with it.
 */
export function compilePattern(text: string, sum: PatternSum, flags = ""): Pattern | string {
  if (text.length > maxPatternLength) return `must have at most ${maxPatternLength} characters`;
  // the estimate is never too low and seldom twice too high
  if (estimatePatternSize(text) > 2 * maxPatternSize) return tooLarge;
  if (sum.isOver()) return "has, together with those before it, too many or too large patterns";
  try {
    const pattern = new Pattern(createProgram(RE2JS.compile(text, toFlags(flags))));
    if (pattern.size > maxPatternSize) return tooLarge;
    if (sum.isOver(pattern.size)) return "has, together with those before it, too many or too large patterns";
    sum.add(pattern);
    return pattern;
  } catch (error) {
    return `is not a valid regular expression: ${error instanceof Error ? error.message : String(error)}`;
  }
}
