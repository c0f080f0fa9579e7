import { startTimer } from "./clock.ts";
import { type Steps, stepsPerPiece } from "./steps.ts";

/** Bytes processed without a break: a few milliseconds at most. */
const sliceBytes = 256 * 1024;

/** Yields to the event loop during long work whose input is complete. */
export class Pace {
  #bytes = 0;

  /** Counts finished work; returns a promise to await when it is time to yield. */
  note(bytes: number): Promise<void> | undefined {
    this.#bytes += bytes;
    if (this.#bytes < sliceBytes) return undefined;
    this.#bytes = 0;
    return giveWay();
  }
}

/** Steps that are taken in one go: a few milliseconds. */
const sliceSteps = 5 * stepsPerPiece;

/** Does work in pieces, and lets others have a turn of the event loop between them. */
export async function runPaced<Result>(work: Steps<Result>): Promise<Result> {
  let spent = 0;
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    spent += value;
    if (spent < sliceSteps) continue;
    spent = 0;
    await giveWay();
  }
}

/** One turn of the event loop. */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => {
    startTimer(0, resolve);
  });
}

/** Time on the event loop before other work runs, in milliseconds: that long a request may wait. */
const sliceMs = 1;

/**
 * For work of unknown cost: what it returns is called often, and gives a promise to await when it is time to yield.
 *
 * @param mostMs Time without a break.
 */
export function createPause(mostMs = sliceMs): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < mostMs) return undefined;
    return giveWay().then(() => {
      since = performance.now();
    });
  };
}
