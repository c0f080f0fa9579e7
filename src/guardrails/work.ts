import type { Clock } from "../lib/clock.ts";
import { stepsPerPiece } from "../lib/steps.ts";
import { turns } from "../lib/turns.ts";
import { CheckError, type Work } from "./types.ts";

/** Time limit and step limit of patterns and the like, shared by all checks. */
const maxWorkMs = 1_000;
const maxSteps = 48 * 1024 * 1024;
/** Time and steps of the checks of one phase. */
export interface RunWork extends Work {
  /** Waits until the event loop has had time for other work. */
  waitForTurn(): Promise<void>;
}

/** Milliseconds after which work counts as long; shorter work goes first. */
const longWorkMs = 8;

/** The limits of the checks of one phase, or of one saved hook. */
export function createWork(clock: Clock): RunWork {
  let spentMs = 0;
  let steps = 0;
  const spend = <Result>(piece: () => Result): Result => {
    if (spentMs > maxWorkMs) throw new CheckError("Cannot check: the checks of this request take too long");
    const startedAt = clock.monotonic();
    try {
      return piece();
    } finally {
      const ms = clock.monotonic() - startedAt;
      spentMs += ms;
      turns.spend(ms);
    }
  };
  const waitForTurn = async () => {
    await undefined; // concurrent work may have used up the whole turn
    while (turns.isOver) await turns.next(spentMs < longWorkMs);
  };
  return {
    spend,
    waitForTurn,
    async run(work) {
      let unpaid = 0;
      for (;;) {
        const { done, value } = spend(() => work.next());
        if (done) return value;
        steps += value;
        unpaid += value;
        // short pieces share a turn: waiting costs more than they do
        if (unpaid < stepsPerPiece) continue;
        unpaid = 0;
        if (steps > maxSteps) throw new CheckError("Cannot check: the checks of this request take too many steps");
        await waitForTurn();
      }
    },
  };
}

/** Does short work and counts it as part of the turn. */
export function hold<Result>(clock: Clock, piece: () => Result): Result {
  const startedAt = clock.monotonic();
  try {
    return piece();
  } finally {
    turns.spend(clock.monotonic() - startedAt);
  }
}

/** Writes the time of a clock; once for all results of one millisecond. */
export function createTimeWriter(clock: Clock): () => string {
  let at = Number.NaN;
  let written = "";
  return () => {
    const now = clock.now();
    if (now !== at) written = new Date(now).toISOString();
    at = now;
    return written;
  };
}

/** Milliseconds with two decimals. */
export function roundMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}
