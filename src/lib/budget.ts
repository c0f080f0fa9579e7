import { bodyLimits, decodeUtf8, scanJson } from "./json.ts";
import { type Steps, stepsPerPiece } from "./steps.ts";
import { turns } from "./turns.ts";

/** What reading one foreign input may take. */
interface BudgetBounds {
  /** Bytes or characters that are read or made. */
  readonly bytes: number;
  /** Values: fields, items, nodes, messages. */
  readonly values: number;
  /** Fields of one object. */
  readonly keys: number;
  /** Levels of nesting. */
  readonly depth: number;
  /** Steps, each roughly the work for one character. */
  readonly steps: number;
}

/** Steps that one value costs, whatever is done with it. */
const stepsPerValue = 20;
/** The parser of the engine takes less time. */
const stepsPerJsonValue = 2;
const jsonBytesPerStep = 50;

/** Bounds for a document: the structure that JSON bodies may have. */
const documentBounds: BudgetBounds = {
  bytes: 32 * 2 ** 20,
  values: bodyLimits.values,
  keys: bodyLimits.keys,
  depth: bodyLimits.depth,
  steps: 48 * 2 ** 20,
};

/** Whose input it is, which decides the status of a refusal: a caller's is 400, an upstream's 502. */
type InputSource = "caller" | "upstream";

/** Input exceeds its budget. Where nobody catches it, `toGatewayError` makes a response of it. */
export class ExcessError extends Error {
  override readonly name = "ExcessError";
  readonly source: InputSource;
  /** The bound that is exceeded, phrased as the end of a sentence. */
  readonly excess: string;

  constructor(source: InputSource, what: string, excess: string) {
    super(`Cannot read ${what}: it has ${excess}`);
    this.source = source;
    this.excess = excess;
  }
}

/** Whose input a budget is for, its name in messages, and bounds that differ from those of documents. */
interface BudgetOptions extends Partial<BudgetBounds> {
  readonly source: InputSource;
  /** For example "the traces". */
  readonly what: string;
  /** What its values are; default "values". */
  readonly unit?: string;
}

/** Pieces of work after which work counts as long; shorter work goes first. */
const longPieces = 8;

/**
 * Counts what reading one foreign input takes: its bytes, values, nesting and steps, while it is read. A parser of foreign
 * input takes it as an argument, so that parsers above and below it share one. It also says when it is time to give way:
 * a generator asks `isDue` and yields `endPiece()`, an async function awaits `pause()`.
 */
export class Budget {
  readonly source: InputSource;
  readonly what: string;
  readonly bounds: BudgetBounds;
  readonly #unit: string;
  #bytes = 0;
  #values = 0;
  #steps = 0;
  #piece = 0;
  #longestPiece = 0;

  constructor({ source, what, unit = "values", ...bounds }: BudgetOptions) {
    this.#unit = unit;
    this.source = source;
    this.what = what;
    this.bounds = { ...documentBounds, ...bounds };
  }

  /** Steps so far. */
  get steps(): number {
    return this.#steps;
  }

  /** Values so far. */
  get values(): number {
    return this.#values;
  }

  /** Most steps between two chances to give way, so far. */
  get longestPiece(): number {
    return Math.max(this.#longestPiece, this.#piece);
  }

  /** The error that says what is exceeded. */
  excess(excess: string): ExcessError {
    return new ExcessError(this.source, this.what, excess);
  }

  /** Counts steps. @throws {ExcessError} */
  step(count = 1): void {
    this.#steps += count;
    this.#piece += count;
    if (this.#steps > this.bounds.steps) throw this.excess(`more than ${this.bounds.steps} steps of work`);
  }

  /** Counts values, and the steps they cost. @throws {ExcessError} */
  value(count = 1): void {
    this.#addValues(count);
    this.step(count * stepsPerValue);
  }

  #addValues(count: number): void {
    this.#values += count;
    if (this.#values > this.bounds.values) throw this.excess(`more than ${this.bounds.values} ${this.#unit}`);
  }

  /** Counts bytes or characters that are read or made. @throws {ExcessError} */
  bytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > this.bounds.bytes) throw this.excess(`more than ${this.bounds.bytes} bytes`);
  }

  /** Checks how deep a value is nested. @throws {ExcessError} */
  depth(level: number): void {
    if (level > this.bounds.depth) throw this.excess(`more than ${this.bounds.depth} levels of nesting`);
  }

  /** Whether a piece of work is done and others may have a turn. */
  get isDue(): boolean {
    return this.#piece >= stepsPerPiece;
  }

  /** Ends a piece of work and returns its steps, for a generator to yield. */
  endPiece(): number {
    const piece = this.#piece;
    this.#longestPiece = Math.max(this.#longestPiece, piece);
    this.#piece = 0;
    return piece;
  }

  /** What to await before the work continues; undefined where nothing has to wait. */
  pause(): Promise<void> | undefined {
    if (!this.isDue) return undefined;
    // a piece is a millisecond at most
    turns.spend(this.endPiece() / stepsPerPiece);
    return turns.isOver ? this.#wait() : undefined;
  }

  #wait(): Promise<void> {
    return turns.untilFree(() => this.#steps < longPieces * stepsPerPiece);
  }

  /** Does work whose steps are counted here, in turns of the event loop. */
  async run<Result>(work: Steps<Result>): Promise<Result> {
    for (;;) {
      const startedAt = performance.now();
      const next = work.next();
      turns.spend(performance.now() - startedAt);
      if (next.done) return next.value;
      if (turns.isOver) await this.#wait();
    }
  }

  /** Counts the steps of work that does not know the budget. */
  *count<Result>(work: Steps<Result>): Steps<Result> {
    for (;;) {
      const next = work.next();
      if (next.done) return next.value;
      this.step(next.value);
      if (this.isDue) yield this.endPiece();
    }
  }

  /**
   * Parses a JSON text whose values count.
   *
   * @throws {ExcessError} Before anything is parsed.
   * @throws {SyntaxError} If it is not JSON.
   * @throws {TypeError} If its bytes are not UTF-8.
   */
  json(input: Uint8Array | string): unknown {
    const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
    this.bytes(bytes.length);
    const { excess, values } = scanJson(bytes, this.bounds);
    if (excess !== undefined) throw this.excess(excess);
    this.#addValues(values);
    this.step(values * stepsPerJsonValue + Math.ceil(bytes.length / jsonBytesPerStep));
    return JSON.parse(typeof input === "string" ? input : decodeUtf8(input));
  }
}

/** The budget of a stream that may last: it says when to give way, and the bounds are those of its events. */
export function createStreamBudget(what: string): Budget {
  const endless = Number.POSITIVE_INFINITY;
  return new Budget({ source: "upstream", what, bytes: endless, values: endless, steps: endless });
}
