/** Longest slice of work in milliseconds. */
const sliceMs = 8;

/**
 * Schedules long work on the event loop: one slice, then everything else that is ready, then the next slice. The longest
 * waiting work goes next, so the work of many requests proceeds concurrently, and none blocks the loop longer than a slice.
 */
class Turns {
  readonly #short: (() => void)[] = [];
  readonly #long: (() => void)[] = [];
  #busyMs = 0;
  #isTimerSet = false;

  /** Adds time during which the loop was blocked. */
  spend(ms: number): void {
    this.#busyMs += ms;
  }

  /** Whether the slice is used up and unfinished work has to wait. */
  get isOver(): boolean {
    return this.#busyMs >= sliceMs;
  }

  /** Waits for a turn. Short work goes before longer work. */
  #next(isShort: boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    (isShort ? this.#short : this.#long).push(resolve);
    this.#setTimer();
    return promise;
  }

  /**
   * Waits until a slice has time left for unfinished work.
   *
   * @param isShort Whether it has taken little time so far, and goes before longer work; asked before each turn.
   */
  async untilFree(isShort: () => boolean): Promise<void> {
    while (this.isOver) await this.#next(isShort());
  }

  /** Runs work that is not divided into slices, in a separate turn once the slice is used up. */
  async run<Result>(work: () => Result): Promise<Result> {
    if (this.isOver) await this.#next(false);
    const startedAt = performance.now();
    try {
      return work();
    } finally {
      this.spend(performance.now() - startedAt);
    }
  }

  #setTimer(): void {
    if (this.#isTimerSet || this.#short.length + this.#long.length === 0) return;
    this.#isTimerSet = true;
    setTimeout(() => void this.#begin(), 0);
  }

  /** Runs one slice: waiting work continues, one after the other, until the slice is used up. */
  async #begin(): Promise<void> {
    this.#busyMs = 0;
    while (!this.isOver) {
      const resolve = this.#short.shift() ?? this.#long.shift();
      if (!resolve) break;
      resolve();
      // the released work ran in the microtasks before these
      for (let round = 0; round < 4; round++) await undefined;
    }
    this.#isTimerSet = false;
    this.#setTimer();
  }
}

/** Shared by all gateways of the process, as it has one event loop. */
export const turns: Pick<Turns, "spend" | "isOver" | "untilFree" | "run"> = new Turns();
