import { accepts, isWord, op, type Program, placeOf } from "./program.ts";

/** Programs with more instructions have no automaton: its states would take too much memory. */
export const largestAutomaton = 300;
/** Most states at a time; fewer where each may hold many instructions. */
const maxStates = 64;
const maxWaiting = 4_096;
/** Most classes of characters; those of characters beyond the first 256 are added while strings are read. */
const maxClasses = 64;
const furtherClasses = 8;
/** Most characters beyond the first 256 whose class is remembered. */
const maxRemembered = 4_096;
/** Searches that ran out of states, after which the automaton is no longer used. */
const maxOverflows = 3;

/** What precedes the current character: assertions depend on it. The first states have nothing but that. */
const kinds = { begin: 0, line: 1, word: 2, other: 3 } as const;
type Kind = (typeof kinds)[keyof typeof kinds];
/** A character of each kind; -1 stands for none. */
const samples: Readonly<Record<Kind, number>> = { 0: -1, 1: 10, 2: 97, 3: 32 };
const idleStates = 4;

/** Entries of the table that are no states. State 0 is entered by no transition, so 0 is free for unknown ones. */
const unknown = 0;
const matched = -1;
const ended = -2;

function kindOf(code: number): Kind {
  if (code < 0) return kinds.begin;
  if (code === 10) return kinds.line;
  return isWord(code) ? kinds.word : kinds.other;
}

/** Instructions that wait for the next character, and what came before it. */
interface State {
  readonly kind: Kind;
  readonly waiting: readonly number[];
}

/**
 * A program as a deterministic automaton, built while strings are read: it finds out whether there is a match, and roughly
 * where, at one look-up for each character (https://swtch.com/~rsc/regexp/regexp1.html).
 */
export class PatternAutomaton {
  readonly #program: Program;
  /** Class of each of the first 256 characters. */
  readonly latin = new Uint8Array(256);
  readonly #further = new Map<number, number>();
  /** Classes by what accepts their characters. */
  readonly #classes = new Map<string, number>();
  #maxClasses = maxClasses;
  /** One instruction for each set of characters in the program. */
  readonly #sets: readonly number[];
  /** The state that follows, by state and class. */
  readonly table: Int16Array;
  /** Entries of each state: one for each class, and one for the end of the text. */
  readonly stride: number;
  readonly #maxStates: number;
  #states: State[] = [];
  readonly #known = new Map<string, number>();
  /** Counts how often the states were forgotten. */
  generation = 0;
  #overflows = 0;

  constructor(program: Program) {
    this.#program = program;
    const seen = new Map<unknown, number>();
    for (const [instruction, kind] of program.ops.entries()) {
      if (kind < op.rune) continue;
      const set = kind === op.rune1 ? program.args[instruction] : (program.runes[instruction] ?? `kind ${kind}`);
      if (!seen.has(set)) seen.set(set, instruction);
    }
    this.#sets = [...seen.values()];
    for (let code = 0; code < 256; code++) this.latin[code] = this.#classify(code);
    this.#maxClasses = Math.min(this.#classes.size + furtherClasses, maxClasses);
    this.#maxStates = Math.min(maxStates, Math.floor(maxWaiting / program.ops.length));
    this.stride = this.#maxClasses + 1;
    this.table = new Int16Array(this.#maxStates * this.stride);
    this.#forget();
  }

  /** False where it would cost more than it saves. */
  get isUsable(): boolean {
    return this.#overflows < maxOverflows && this.#classes.size < this.#maxClasses;
  }

  /** Whether matches can begin only here: nothing that began before is under way. */
  static isIdle(state: number): boolean {
    return state < idleStates;
  }

  /** The state before the character at an index. */
  stateAt(text: string, index: number): number {
    return kindOf(index === 0 ? -1 : text.charCodeAt(index - 1));
  }

  /** The state after a character, -1 for the end of the text; undefined if there are too many. */
  next(state: number, code: number, counter: { steps: number }): number | undefined {
    const found = this.#classOf(code);
    if (!this.isUsable) return undefined;
    const place = state * this.stride + found;
    const known = this.table[place] ?? unknown;
    if (known !== unknown) return known;
    const made = this.#make(state, code, counter);
    if (made !== undefined) this.table[place] = made;
    return made;
  }

  #classOf(code: number): number {
    if (code < 0) return this.#maxClasses;
    if (code < 256) return this.latin[code] ?? 0;
    const known = this.#further.get(code);
    if (known !== undefined) return known;
    if (this.#further.size >= maxRemembered) this.#further.clear();
    const found = this.#classify(code);
    this.#further.set(code, found);
    return found;
  }

  #classify(code: number): number {
    let name = `${kindOf(code)}`;
    for (const instruction of this.#sets) name += accepts(this.#program, instruction, code) ? "1" : "0";
    const known = this.#classes.get(name);
    if (known !== undefined) return known;
    const made = Math.min(this.#classes.size, this.#maxClasses - 1);
    this.#classes.set(name, made);
    return made;
  }

  #forget(): void {
    this.table.fill(unknown);
    this.#known.clear();
    this.#states = [];
    for (const kind of [kinds.begin, kinds.line, kinds.word, kinds.other]) this.#intern({ kind, waiting: [] });
    this.generation++;
  }

  #intern(state: State): number | undefined {
    const name = `${state.kind} ${state.waiting.join(" ")}`;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    if (this.#states.length >= this.#maxStates) {
      this.#overflows++;
      this.#forget();
      return undefined;
    }
    const index = this.#states.push(state) - 1;
    this.#known.set(name, index);
    return index;
  }

  /** Follows all paths over one character. */
  #make(state: number, code: number, counter: { steps: number }): number | undefined {
    const { ops, outs, args, start } = this.#program;
    const { kind, waiting } = this.#states[state] ?? { kind: kinds.other, waiting: [] };
    const found = placeOf(samples[kind], code);
    const seen = new Set<number>([0]);
    const next = new Set<number>();
    const left = [...waiting, start];
    for (let instruction = left.pop(); instruction !== undefined; instruction = left.pop()) {
      counter.steps++;
      if (seen.has(instruction)) continue;
      seen.add(instruction);
      const out = outs[instruction] ?? 0;
      const arg = args[instruction] ?? 0;
      switch (ops[instruction]) {
        case op.match:
          return matched;
        case op.fail:
          break;
        case op.alt:
        case op.altMatch:
          left.push(out, arg);
          break;
        case op.nop:
        case op.capture:
          left.push(out);
          break;
        case op.emptyWidth:
          if ((arg & ~found) === 0) left.push(out);
          break;
        default:
          if (code >= 0 && accepts(this.#program, instruction, code)) next.add(out);
      }
    }
    if (code < 0) return ended;
    return this.#intern({ kind: kindOf(code), waiting: [...next].sort((one, other) => one - other) });
  }
}

/** Reads a text once to find out whether it has a match. It can be interrupted after any number of steps. */
export class AutomatonScan {
  readonly #automaton: PatternAutomaton;
  readonly #text: string;
  readonly #generation: number;
  #index: number;
  #state: number;
  readonly #counter = { steps: 1 };
  /** There is no match. */
  isNone = false;
  /** Index at or after which the first match begins. */
  start: number;

  constructor(automaton: PatternAutomaton, text: string, from: number) {
    this.#automaton = automaton;
    this.#text = text;
    this.#index = from;
    this.start = from;
    this.#state = automaton.stateAt(text, from);
    this.#generation = automaton.generation;
  }

  /** Steps since the last call. */
  takeSteps(): number {
    const { steps } = this.#counter;
    this.#counter.steps = 0;
    return steps;
  }

  /** Runs for roughly so many steps. True once it is known whether there may be a match. */
  run(steps: number): boolean {
    const end = this.#counter.steps + steps;
    // whoever read another text meanwhile may have needed other states
    while (this.#automaton.generation === this.#generation) {
      this.#skip(steps);
      if (this.#counter.steps >= end) return false;
      const code = this.#text.codePointAt(this.#index) ?? -1;
      const next = this.#automaton.next(this.#state, code, this.#counter);
      if (next === undefined || next === matched) return true;
      if (next === ended) {
        this.isNone = true;
        return true;
      }
      this.#enter(next, this.#index + (code > 0xffff ? 2 : 1));
    }
    return true;
  }

  /** Reads to the end of the text, after which more may come: false where a match was found, or reading became costly. */
  runToEnd(): boolean {
    while (this.#automaton.generation === this.#generation) {
      this.#skip(this.#text.length);
      if (this.#index >= this.#text.length) return true;
      const code = this.#text.codePointAt(this.#index) ?? -1;
      const next = this.#automaton.next(this.#state, code, this.#counter);
      if (next === undefined || next === matched || next === ended) return false;
      this.#enter(next, this.#index + (code > 0xffff ? 2 : 1));
    }
    return false;
  }

  #enter(state: number, index: number): void {
    this.#state = state;
    this.#index = index;
    if (PatternAutomaton.isIdle(state)) this.start = index;
  }

  /** Goes on while the next states are known. */
  #skip(steps: number): void {
    const { latin, table, stride } = this.#automaton;
    const text = this.#text;
    let state = this.#state;
    let index = this.#index;
    let { start } = this;
    const last = Math.min(text.length, index + steps * 8);
    while (index < last) {
      const code = text.charCodeAt(index);
      if (code > 255) break;
      const next = table[state * stride + (latin[code] ?? 0)] ?? unknown;
      if (next <= unknown) break;
      state = next;
      index++;
      if (next < idleStates) start = index;
    }
    this.#counter.steps += (index - this.#index) >> 3;
    this.#state = state;
    this.#index = index;
    this.start = start;
  }
}
