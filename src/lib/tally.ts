import { startTimer } from "./clock.ts";

/** Time between two reports of the same kind of event. */
const defaultPauseMs = 10_000;

/** Counts events, and reports the first at once and all that follow together, at most once in a while. */
export class Tally {
  readonly #report: (count: number) => void;
  readonly #pauseMs: number;
  #count = 0;
  #cancelPause: (() => void) | undefined;

  /** @param pauseMs Time between two reports. */
  constructor(report: (count: number) => void, pauseMs: number = defaultPauseMs) {
    this.#report = report;
    this.#pauseMs = pauseMs;
  }

  note(): void {
    this.#count++;
    if (!this.#cancelPause) this.#flush();
  }

  /** Reports what is left. */
  close(): void {
    this.#flush();
    this.#cancelPause?.();
    this.#cancelPause = undefined;
  }

  #flush(): void {
    this.#cancelPause = undefined;
    if (this.#count === 0) return;
    const count = this.#count;
    this.#count = 0;
    this.#report(count);
    this.#cancelPause = startTimer(this.#pauseMs, () => this.#flush());
  }
}
