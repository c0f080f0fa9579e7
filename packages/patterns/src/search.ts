import { accepts, op, type Program, placeOf } from "./program.ts";

/** A match: index of its first character, and index after its last. */
export interface Found {
  readonly start: number;
  readonly end: number;
}

/** Concurrent paths through a program at one position, in order of priority. */
class Threads {
  readonly #sparse: Int32Array;
  readonly instructions: Int32Array;
  /** Group positions of each path. */
  readonly captures: Int32Array;
  size = 0;

  constructor(size: number, slots: number) {
    this.#sparse = new Int32Array(size);
    this.instructions = new Int32Array(size);
    this.captures = new Int32Array(size * slots);
  }

  has(instruction: number): boolean {
    const index = this.#sparse[instruction] ?? 0;
    return index < this.size && this.instructions[index] === instruction;
  }

  add(instruction: number): number {
    const index = this.size++;
    this.#sparse[instruction] = index;
    this.instructions[index] = instruction;
    return index;
  }
}

/** Steps that the allocation of a search takes, whatever its size. */
const allocationSteps = 16;

/** Options of a search. */
interface SearchOptions {
  /** First index at which a match may begin. */
  from: number;
  /** Number of recorded positions: two for the match alone. */
  slots: number;
  /** The match is known to begin at `from` and to end here. */
  until?: number;
}

/**
 * A search for the first match as RE2 defines it: the leftmost, with the priorities of a backtracking engine. It can be
 * interrupted after any number of steps (https://swtch.com/~rsc/regexp/regexp2.html, Pike's machine).
 */
export class PatternSearch {
  /** The match, once the search has finished with one. */
  found: Found | undefined;
  /** Group positions of the match. */
  readonly captures: Int32Array;
  readonly #program: Program;
  readonly #text: string;
  readonly #slots: number;
  readonly #from: number;
  readonly #until: number | undefined;
  readonly #stack: Int32Array;
  readonly #begun: Int32Array;
  #now: Threads;
  #next: Threads;
  #index: number;
  /** The character after the current position. */
  #after = -1;
  #isMatched = false;
  #steps = 0;

  constructor(program: Program, text: string, { from, slots, until }: SearchOptions) {
    const size = program.ops.length;
    this.#program = program;
    this.#text = text;
    this.#slots = slots;
    this.#from = from;
    this.#until = until;
    this.#index = from;
    this.#now = new Threads(size, slots);
    this.#next = new Threads(size, slots);
    this.#stack = new Int32Array(2 * (size + 1));
    this.captures = new Int32Array(slots).fill(-1);
    this.#begun = new Int32Array(slots).fill(-1);
    this.#steps = allocationSteps + ((size * (slots + 3)) >> 3);
  }

  /** Steps since the last call. */
  takeSteps(): number {
    const steps = this.#steps;
    this.#steps = 0;
    return steps;
  }

  /** Runs for roughly so many steps. True once the search has finished. */
  run(steps: number): boolean {
    const end = this.#steps + steps;
    while (this.#steps < end) if (this.#look()) return true;
    return false;
  }

  /** Whether no further match can begin. */
  #isLate(): boolean {
    if (this.#isMatched) return true;
    return (this.#program.isAnchored || this.#until !== undefined) && this.#index > this.#from;
  }

  /** Skips characters that cannot start a match. */
  #skip(): void {
    const { first } = this.#program;
    if (first === undefined) return;
    const text = this.#text;
    const begun = this.#index;
    // a limited distance at a time, so that the steps are counted
    const end = Math.min(text.length, begun + 100_000);
    let index = begun;
    while (index < end) {
      const code = text.charCodeAt(index);
      if (code > 255 || first[code] === 1) break;
      index++;
    }
    this.#index = index;
    this.#steps += (index - begun) >> 3;
  }

  /** Processes one character. True once the search has finished. */
  #look(): boolean {
    this.#steps++;
    if (this.#now.size === 0) {
      if (this.#isLate()) return true;
      if (!this.#program.isAnchored) this.#skip();
    }
    const text = this.#text;
    const index = this.#index;
    const isEnd = index >= text.length;
    const code = isEnd ? -1 : (text.codePointAt(index) ?? -1);
    if (!this.#isLate()) {
      this.#begun[0] = index;
      this.#after = code;
      this.#follow(this.#now, this.#program.start, this.#begun, 0);
    }
    const width = code > 0xffff ? 2 : 1;
    this.#step(code, index, isEnd ? index : index + width);
    if (isEnd) return true;
    [this.#now, this.#next] = [this.#next, this.#now];
    this.#next.size = 0;
    this.#index = index + width;
    return false;
  }

  /** Every path accepts the character at `index`, or ends; the search continues at `nextIndex`. */
  #step(code: number, index: number, nextIndex: number): void {
    const { ops, outs } = this.#program;
    const now = this.#now;
    const slots = this.#slots;
    this.#steps += now.size;
    this.#after = this.#codeAt(nextIndex);
    this.#index = nextIndex;
    for (let thread = 0; thread < now.size; thread++) {
      const instruction = now.instructions[thread] ?? 0;
      const kind = ops[instruction] ?? op.fail;
      if (kind === op.match) {
        if (this.#until !== undefined && index !== this.#until) continue;
        this.#isMatched = true;
        this.captures.set(now.captures.subarray(thread * slots, (thread + 1) * slots));
        this.captures[1] = index;
        this.found = { start: this.captures[0] ?? 0, end: index };
        break; // paths after this one have lower priority
      }
      if (code < 0 || kind < op.rune || !accepts(this.#program, instruction, code)) continue;
      this.#follow(this.#next, outs[instruction] ?? 0, now.captures, thread * slots);
    }
    now.size = 0;
  }

  #codeAt(index: number): number {
    return index >= this.#text.length ? -1 : (this.#text.codePointAt(index) ?? -1);
  }

  /** Adds a path with all of its branches up to the next character. */
  #follow(threads: Threads, start: number, captures: Int32Array, offset: number): void {
    const index = this.#index;
    const { ops, outs, args } = this.#program;
    const slots = this.#slots;
    const stack = this.#stack;
    let found = -1;
    let height = 0;
    let instruction = start;
    for (;;) {
      while (instruction !== 0 && !threads.has(instruction)) {
        const thread = threads.add(instruction);
        this.#steps++;
        const out = outs[instruction] ?? 0;
        const arg = args[instruction] ?? 0;
        switch (ops[instruction]) {
          case op.alt:
          case op.altMatch:
            stack[height++] = arg;
            stack[height++] = 0;
            instruction = out;
            break;
          case op.nop:
            instruction = out;
            break;
          case op.emptyWidth:
            if (found < 0) found = placeOf(index === 0 ? -1 : this.#text.charCodeAt(index - 1), this.#after);
            instruction = (arg & ~found) === 0 ? out : 0;
            break;
          case op.capture:
            if (arg < slots) {
              stack[height++] = -arg - 1;
              stack[height++] = captures[offset + arg] ?? -1;
              captures[offset + arg] = index;
            }
            instruction = out;
            break;
          case op.fail:
            instruction = 0;
            break;
          default:
            for (let slot = 0; slot < slots; slot++) {
              threads.captures[thread * slots + slot] = captures[offset + slot] ?? -1;
            }
            this.#steps += slots >> 4;
            instruction = 0;
        }
      }
      if (height === 0) return;
      height -= 2;
      const entry = stack[height] ?? 0;
      if (entry < 0) {
        captures[offset - entry - 1] = stack[height + 1] ?? -1;
        instruction = 0;
      } else instruction = entry;
    }
  }
}
