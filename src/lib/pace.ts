import { startTimer } from "./clock.ts";

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

/** One turn of the event loop. */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => {
    startTimer(0, resolve);
  });
}
