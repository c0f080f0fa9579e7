import { UnavailableError } from "../errors.ts";

/** Why requests are refused before they begin: too many run, memory, the event loop, or log rows that wait. */
type ShedBy = "requests" | "memory" | "lag" | "log";

/** Marks beyond which requests are refused. */
export interface PressureMarks {
  /** Resident bytes of the process. Undefined: no mark. */
  memoryBytes: number | undefined;
  /** Milliseconds by which the event loop is late. Undefined: no mark. */
  lagMs: number | undefined;
  /** Requests that are served whatever the marks say: an idle process with much memory still serves. */
  leastRunning: number;
}

export const defaultPressureMarks: PressureMarks = { memoryBytes: undefined, lagMs: 1_000, leastRunning: 32 };

/** Time between two samples. */
const sampleMs = 250;
/** Samples that must all be late: one long pause, such as a collection of garbage, sheds nothing. */
const lateSamples = 3;
/** Below this share of its mark, memory is no reason any more. */
const recoveredShare = 0.95;

interface PressureParts {
  marks: PressureMarks;
  /** Resident bytes now. Undefined: the host does not report them. */
  residentBytes: (() => number) | undefined;
  /** Milliseconds that never go back. */
  monotonic(): number;
}

/** How much the process has to do. Samples decide, so that requests read one field. */
export class Pressure {
  readonly #parts: PressureParts;
  readonly #counts = new Map<ShedBy, number>();
  readonly #lags: number[] = [];
  #dueAt: number;
  #reason: "memory" | "lag" | undefined;
  #isFull = false;

  constructor(parts: PressureParts) {
    this.#parts = parts;
    this.#dueAt = parts.monotonic() + sampleMs;
  }

  /** Samples regularly; the result stops it. */
  start(): () => void {
    this.#dueAt = this.#parts.monotonic() + sampleMs;
    const timer = setInterval(() => this.sample(), sampleMs);
    return () => clearInterval(timer);
  }

  /** Takes a sample, which was due a moment ago. */
  sample(): void {
    const { marks, residentBytes, monotonic } = this.#parts;
    const now = monotonic();
    this.#lags.push(Math.max(0, now - this.#dueAt));
    if (this.#lags.length > lateSamples) this.#lags.shift();
    this.#dueAt = now + sampleMs;
    const { memoryBytes = Number.POSITIVE_INFINITY, lagMs = Number.POSITIVE_INFINITY } = marks;
    const resident = marks.memoryBytes === undefined ? 0 : (residentBytes?.() ?? 0);
    this.#isFull = resident > memoryBytes * (this.#isFull ? recoveredShare : 1);
    const isLate = this.#lags.length === lateSamples && Math.min(...this.#lags) > lagMs;
    this.#reason = this.#isFull ? "memory" : isLate ? "lag" : undefined;
  }

  /**
   * Refuses a request while memory or the event loop is beyond its mark.
   *
   * @param running Requests that run.
   * @throws {UnavailableError}
   */
  require(running: number): void {
    if (this.#reason === undefined || running < this.#parts.marks.leastRunning) return;
    this.note(this.#reason);
    const what = this.#reason === "memory" ? "its memory is used up" : "its event loop is late";
    throw new UnavailableError(
      `Cannot serve this request now: the process has too much to do, ${what}; repeat it later`,
      {
        code: "overloaded",
        retryAfterSeconds: 1,
      },
    );
  }

  /** Memory or the event loop is beyond its mark. */
  get isHigh(): boolean {
    return this.#reason !== undefined;
  }

  /** Counts a refused request. */
  note(by: ShedBy): void {
    this.#counts.set(by, (this.#counts.get(by) ?? 0) + 1);
  }

  /** Refused requests, and seconds by which the event loop is late. */
  state(): { shed: ReadonlyMap<ShedBy, number>; lagSeconds: number } {
    return { shed: this.#counts, lagSeconds: (this.#lags.at(-1) ?? 0) / 1_000 };
  }
}
