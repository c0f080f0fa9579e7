import type { RE2JS } from "re2js";

/** Instruction types, with the compiler's numbers. */
export const op = {
  alt: 1,
  altMatch: 2,
  capture: 3,
  emptyWidth: 4,
  fail: 5,
  match: 6,
  nop: 7,
  rune: 8,
  rune1: 9,
  any: 10,
  anyButLine: 11,
} as const;

/** An instruction of the compiler. */
interface Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  readonly runes: Int32Array;
  matchRune(rune: number): boolean;
}

/** Positions that an instruction may assert, by the compiler's numbers. */
const place = { beginLine: 1, endLine: 2, beginText: 4, endText: 8, word: 16, noWord: 32 } as const;

/** A compiled pattern in typed arrays: as small as possible, since thousands are cached. */
export interface Program {
  readonly ops: Uint8Array;
  /** Next instruction, per instruction. */
  readonly outs: Int32Array;
  /** Second branch of an `alt`, slot of a `capture`, positions of an `emptyWidth`, character of a `rune1`. */
  readonly args: Int32Array;
  /** Characters a `rune` accepts; equal sets are shared. */
  readonly runes: readonly (CharacterSet | undefined)[];
  readonly start: number;
  /** Two per group, and two for the match. */
  readonly slots: number;
  readonly names: Readonly<Record<string, number>>;
  /** First characters of possible matches, of the first 256; undefined if a match can be empty. */
  readonly first: Uint8Array | undefined;
  /** Strings that occur in every match. */
  readonly required: readonly string[];
  /** Matches begin at the start of the text. */
  readonly isAnchored: boolean;
  /** Most UTF-16 units of a match; undefined if a match can have any length. */
  readonly longest: number | undefined;
  /** Memory in bytes, roughly. */
  readonly weight: number;
}

/** Whether a character is one of those that `\b` and `\w` mean. */
export const isWord = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95;

/** Assertions that hold between two characters; -1 is the end of the text. */
export function placeOf(before: number, after: number): number {
  let found = isWord(before) === isWord(after) ? place.noWord : place.word;
  if (before < 0) found |= place.beginText | place.beginLine;
  if (before === 10) found |= place.beginLine;
  if (after < 0) found |= place.endText | place.endLine;
  if (after === 10) found |= place.endLine;
  return found;
}

/** Whether an instruction accepts a character. */
export function accepts({ ops, args, runes }: Program, instruction: number, code: number): boolean {
  const kind = ops[instruction];
  if (kind === op.rune1) return code === args[instruction];
  if (kind === op.any) return true;
  if (kind === op.anyButLine) return code !== 10;
  const set = runes[instruction];
  if (set === undefined) return false;
  return code < 256 ? ((set.latin[code >> 3] ?? 0) & (1 << (code & 7))) !== 0 : set.has(code);
}

/** A set of characters. */
interface CharacterSet {
  /** A bit for each of the first 256. */
  readonly latin: Uint8Array;
  /** Whether a character is in the set. */
  has(rune: number): boolean;
  /** It has no other characters than those. */
  readonly isLatin: boolean;
  readonly weight: number;
}

/** The other cases of a letter among the first 256 characters. */
function casesOf(rune: number): number[] {
  const letter = String.fromCodePoint(rune);
  const [lower, upper] = [letter.toLowerCase(), letter.toUpperCase()];
  const cases = [letter, lower, upper, lower.toUpperCase(), upper.toLowerCase()];
  return cases.flatMap((one) => one.codePointAt(0) ?? []);
}

function createSet(instruction: Instruction): CharacterSet {
  const { runes } = instruction;
  const latin = new Uint8Array(32);
  const set = (rune: number): void => {
    latin[rune >> 3] = (latin[rune >> 3] ?? 0) | (1 << (rune & 7));
  };
  if (runes.length === 1) {
    for (const rune of casesOf(runes[0] ?? 0)) if (rune < 256 && instruction.matchRune(rune)) set(rune);
  }
  for (let index = 0; index + 1 < runes.length; index += 2) {
    for (let rune = runes[index] ?? 256; rune <= Math.min(255, runes[index + 1] ?? 0); rune++) set(rune);
  }
  // a single character stands for its other cases too, which may be anywhere
  const isLatin = runes.length > 1 && (runes.at(-1) ?? 256) < 256;
  return { latin, has: (rune) => instruction.matchRune(rune), isLatin, weight: 500 + 4 * runes.length };
}

/** The character set of each instruction; equal sets are shared. */
function createSets(instructions: readonly Instruction[]): (CharacterSet | undefined)[] {
  const known = new Map<Int32Array, CharacterSet>();
  const folded = new Map<number | undefined, CharacterSet>();
  return instructions.map((instruction) => {
    if (instruction.op !== op.rune) return undefined;
    const { runes } = instruction;
    // single characters are letters in both cases; copies of a repeated class share their array
    const found = runes.length === 1 ? folded.get(runes[0]) : known.get(runes);
    const set = found ?? createSet(instruction);
    if (runes.length === 1) folded.set(runes[0], set);
    else known.set(runes, set);
    return set;
  });
}

/** Instructions that can accept the first character; undefined if a match may be empty. */
function findFirst(instructions: readonly Instruction[], start: number): Set<number> | undefined {
  const seen = new Set<number>();
  const left = [start];
  for (let index = left.pop(); index !== undefined; index = left.pop()) {
    const instruction = instructions[index];
    if (!instruction || instruction.op === op.fail || seen.has(index)) continue;
    seen.add(index);
    if (instruction.op === op.match) return undefined;
    if (instruction.op >= op.rune) continue;
    left.push(instruction.out);
    if (instruction.op === op.alt || instruction.op === op.altMatch) left.push(instruction.arg);
  }
  return seen;
}

/** Characters that can start a match. */
function findFirstCharacters(
  instructions: readonly Instruction[],
  sets: readonly (CharacterSet | undefined)[],
  start: number,
): Uint8Array | undefined {
  const firstOnes = findFirst(instructions, start);
  if (firstOnes === undefined) return undefined;
  const first = new Uint8Array(256);
  const seen = new Set<CharacterSet>();
  for (const index of firstOnes) {
    const { op: kind = op.fail, runes } = instructions[index] ?? {};
    if (kind === op.any || kind === op.anyButLine) return first.fill(1);
    const [rune = 256] = kind === op.rune1 ? (runes ?? []) : [];
    if (rune < 256) first[rune] = 1;
    const set = sets[index];
    if (!set || seen.has(set)) continue;
    seen.add(set);
    const { latin } = set;
    for (let code = 0; code < 256; code++) if ((latin[code >> 3] ?? 0) & (1 << (code & 7))) first[code] = 1;
  }
  return first;
}

/** Limits for finding required strings: instructions of the program, and candidates. */
const maxSought = 300;
const maxRequired = 4;

/** Whether a match is possible without one of the instructions. */
function matchesWithout(left: number, instructions: readonly Instruction[], start: number): boolean {
  const seen = new Set([left, 0]);
  const ways = [start];
  for (let index = ways.pop(); index !== undefined; index = ways.pop()) {
    const instruction = instructions[index];
    if (!instruction || seen.has(index)) continue;
    seen.add(index);
    if (instruction.op === op.match) return true;
    ways.push(instruction.out);
    if (instruction.op === op.alt || instruction.op === op.altMatch) ways.push(instruction.arg);
  }
  return false;
}

/** The characters of a `rune1` and of those that can only follow it. */
function readRun(instructions: readonly Instruction[], first: number, seen: Set<number>): string {
  let text = "";
  for (let index = first; !seen.has(index); ) {
    const { op: kind = op.fail, runes, out = 0 } = instructions[index] ?? {};
    seen.add(index);
    if (kind === op.rune1) {
      const [rune = 0] = runes ?? [];
      // halves of surrogate pairs cannot be searched for
      if (rune >= 0xd800 && rune <= 0xdfff) break;
      text += String.fromCodePoint(rune);
    } else if (kind !== op.capture && kind !== op.nop) break;
    index = out;
  }
  return text;
}

/** Strings that every match contains: a text without one of them need not be searched. */
function findRequired(instructions: readonly Instruction[], start: number): string[] {
  if (instructions.length > maxSought) return [];
  const required = new Set<string>();
  const seen = new Set<number>();
  for (const [index, { op: kind }] of instructions.entries()) {
    if (required.size === maxRequired) break;
    if (kind !== op.rune1 || seen.has(index) || matchesWithout(index, instructions, start)) continue;
    const text = readRun(instructions, index, seen);
    if (text !== "") required.add(text);
  }
  return [...required];
}

/** UTF-16 units of the longest character an instruction accepts; 0 for those that accept none. */
function unitsOf({ op: kind, runes }: Instruction): number {
  if (kind < op.rune) return 0;
  if (kind === op.any || kind === op.anyButLine) return 2;
  return (runes.at(-1) ?? 0) > 0xffff ? 2 : 1;
}

/** Most UTF-16 units of a match; undefined where a loop leads back. */
function findLongest(instructions: readonly Instruction[], start: number): number | undefined {
  // at most a few thousand instructions: the stack is deep enough
  const known = new Map<number, number>();
  const measure = (index: number): number => {
    const found = known.get(index);
    if (found !== undefined) return found;
    const instruction = instructions[index];
    if (!instruction || instruction.op === op.match || instruction.op === op.fail) return 0;
    // whoever comes back here while it is measured is in a loop
    known.set(index, Number.POSITIVE_INFINITY);
    const isAlt = instruction.op === op.alt || instruction.op === op.altMatch;
    const rest = Math.max(measure(instruction.out), isAlt ? measure(instruction.arg) : 0);
    known.set(index, rest + unitsOf(instruction));
    return rest + unitsOf(instruction);
  };
  const longest = measure(start);
  return Number.isFinite(longest) ? longest : undefined;
}

function isAnchored(instructions: readonly Instruction[], start: number): boolean {
  let instruction = instructions[start];
  while (instruction && (instruction.op === op.capture || instruction.op === op.nop)) {
    instruction = instructions[instruction.out];
  }
  return instruction?.op === op.emptyWidth && (instruction.arg & place.beginText) !== 0;
}

/** Memory of the automaton and the prefix that are made while strings are read, roughly. */
const automatonWeight = 6_000;

/** Converts the compiler's program. */
export function createProgram(compiled: RE2JS): Program {
  const { prog, namedGroups } = compiled.re2();
  const instructions: readonly Instruction[] = prog.inst; // its types do not declare it
  const start: number = prog.start;
  const sets = createSets(instructions);
  const weights = [...new Set(sets)].reduce((sum, set) => sum + (set?.weight ?? 0), 0);
  return {
    ops: Uint8Array.from(instructions, (instruction) => instruction.op),
    outs: Int32Array.from(instructions, ({ out }) => out),
    args: Int32Array.from(instructions, ({ op: kind, arg, runes }) => (kind === op.rune1 ? (runes[0] ?? 0) : arg)),
    runes: sets,
    start,
    slots: 2 * (compiled.groupCount() + 1),
    names: namedGroups,
    first: findFirstCharacters(instructions, sets, start),
    required: findRequired(instructions, start),
    isAnchored: isAnchored(instructions, start),
    longest: findLongest(instructions, start),
    weight: 2_500 + 17 * instructions.length + automatonWeight + weights,
  };
}
