/** Milliseconds long work goes on before others have their turn. */
const sliceMs = 8;

/**
 * Turns of work that takes long on the event loop: one slice, then everything else that is ready, then the next slice. Who
 * waits longest goes next, so work of many requests goes on side by side and none of it holds the loop for longer than a slice.
 */
class Turns {
  readonly #short: (() => void)[] = [];
  readonly #long: (() => void)[] = [];
  #busyMs = 0;
  #isTimerSet = false;

  /** Counts time the loop was held. */
  spend(ms: number): void {
    this.#busyMs += ms;
  }

  /** Whether the slice is over: what is not done yet has to wait. */
  get isOver(): boolean {
    return this.#busyMs >= sliceMs;
  }

  /**
   * Waits for a turn.
   *
   * @param isShort It has taken little so far, and goes before what has taken long.
   */
  next(isShort: boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    (isShort ? this.#short : this.#long).push(resolve);
    this.#setTimer();
    return promise;
  }

  #setTimer(): void {
    if (this.#isTimerSet || this.#short.length + this.#long.length === 0) return;
    this.#isTimerSet = true;
    setTimeout(() => void this.#begin(), 0);
  }

  /** One slice: whoever waits goes on, one after the other, until it is over. */
  async #begin(): Promise<void> {
    this.#busyMs = 0;
    while (!this.isOver) {
      const resolve = this.#short.shift() ?? this.#long.shift();
      if (!resolve) break;
      resolve();
      // what waited goes on in the microtasks before these
      for (let round = 0; round < 4; round++) await undefined;
    }
    this.#isTimerSet = false;
    this.#setTimer();
  }
}

/** The turns of this process: it has one event loop, however many gateways it holds. */
export const turns: Pick<Turns, "spend" | "isOver" | "next"> = new Turns();
