/** Source of time. Records use `now`; timers and durations use `monotonic`, which clock changes do not affect. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds since an arbitrary start; never goes back. */
  monotonic(): number;
}

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** Largest delay of a timer; longer ones would fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Runs `action` after `delayMs`, capped to the largest delay; the result cancels it. */
export function startTimer(delayMs: number, action: () => void): () => void {
  const timer = setTimeout(action, Math.min(Math.max(0, delayMs), maxTimerMs));
  return () => clearTimeout(timer);
}
