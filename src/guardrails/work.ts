import type { Clock } from "../lib/clock.ts";
import type { Soon } from "../lib/soon.ts";
import { type Steps, stepsPerPiece } from "../lib/steps.ts";
import { turns } from "../lib/turns.ts";
import { CheckError, type Work } from "./types.ts";

/** Time limit and step limit of patterns and the like, shared by all checks. */
const maxWorkMs = 1_000;
const maxSteps = 48 * 1024 * 1024;

/** Milliseconds after which work counts as long; shorter work goes first. */
const longWorkMs = 8;

/** Time and steps of the checks of one phase, or of one saved hook. */
export class RunWork implements Work {
  readonly #clock: Clock;
  #spentMs = 0;
  #steps = 0;
  /** Its time is being taken. */
  #isTimed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does a part of a check that waits for nothing, and counts its time as part of the turn. */
  time<Result>(piece: () => Result): Result {
    if (this.#isTimed) return piece();
    this.#isTimed = true;
    const startedAt = this.#clock.monotonic();
    try {
      return piece();
    } finally {
      this.#isTimed = false;
      const ms = this.#clock.monotonic() - startedAt;
      this.#spentMs += ms;
      turns.spend(ms);
    }
  }

  spend<Result>(piece: () => Result): Result {
    if (this.#spentMs > maxWorkMs) throw new CheckError("Cannot check: the checks of this request take too long");
    return this.time(piece);
  }

  /** Waits until the event loop has had time for other work; undefined where nothing has to wait. */
  waitForTurn(): Promise<void> | undefined {
    return turns.isOver ? turns.untilFree(() => this.#spentMs < longWorkMs) : undefined;
  }

  /** As `run`; work that is short is done at once. */
  begin<Result>(work: Steps<Result>): Soon<Result> {
    const first = this.spend(() => this.#take(work));
    return first.done ? first.value : this.#goOn(work);
  }

  async run<Result>(work: Steps<Result>): Promise<Result> {
    return this.begin(work);
  }

  async #goOn<Result>(work: Steps<Result>): Promise<Result> {
    for (;;) {
      if (this.#steps > maxSteps) throw new CheckError("Cannot check: the checks of this request take too many steps");
      // what led here may have used up the turn
      await undefined;
      await this.waitForTurn();
      const next = this.spend(() => this.#take(work));
      if (next.done) return next.value;
    }
  }

  /** Takes a piece of the work: short steps share a turn, because waiting costs more than they do. */
  #take<Result>(work: Steps<Result>): IteratorResult<number, Result> {
    for (let taken = 0; ; ) {
      const next = work.next();
      if (next.done) return next;
      this.#steps += next.value;
      taken += next.value;
      if (taken >= stepsPerPiece) return next;
    }
  }
}
