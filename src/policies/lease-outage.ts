import type { Span } from "./windows.ts";

/** How long after an outage windows that began in it stay divided: until every node has reported its share. */
const dividedForMs = 5_000;
const warnEveryMs = 60_000;

/** Dependencies of an outage. */
interface LeaseOutageOptions {
  /** Milliseconds that never go back. */
  monotonic(): number;
  warn(message: string, error: unknown): void;
}

/** Times in which the database is away. */
export class LeaseOutage {
  readonly #options: LeaseOutageOptions;
  /** When windows are divided, by the clock of the database. */
  #from = Number.POSITIVE_INFINITY;
  #until = Number.POSITIVE_INFINITY;
  /** Until when they stay divided, in monotonic time. */
  #dividedUntil = Number.NEGATIVE_INFINITY;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #isOn = false;

  constructor(options: LeaseOutageOptions) {
    this.#options = options;
  }

  /** Whether the database is away. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** Monotonic time from which nodes lease again in windows that began in the last outage. */
  get dividedUntil(): number {
    return this.#dividedUntil;
  }

  /**
   * Notes that the database did not answer.
   *
   * @param time When it was asked, by its own clock.
   */
  begin(time: number, error: unknown): void {
    const now = this.#options.monotonic();
    if (!this.#isOn && now >= this.#dividedUntil) this.#from = time;
    this.#isOn = true;
    this.#until = Number.POSITIVE_INFINITY;
    if (now - this.#warnedAt < warnEveryMs) return;
    this.#warnedAt = now;
    this.#options.warn("Cannot reach the database of the limits: this process uses only what it has leased", error);
  }

  /** Notes that it answers. */
  end(time: number): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    this.#until = time;
    this.#dividedUntil = this.#options.monotonic() + dividedForMs;
  }

  /** Whether nodes use equal shares of a window that begins. */
  divides({ start }: Span): boolean {
    if (start < this.#from || start > this.#until) return false;
    return this.#isOn || this.#options.monotonic() < this.#dividedUntil;
  }
}
