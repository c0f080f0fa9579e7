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

/**
 * Writes Unix milliseconds in ISO 8601, as `Date` does. All but the milliseconds is written once for all times of one
 * second: for times that are written for every request.
 */
export function createTimeWriter(): (ms: number) => string {
  let known = Number.NaN;
  let written = "";
  let second = Number.NaN;
  let beginning = "";
  return (ms) => {
    if (ms === known) return written;
    const inSecond = Math.floor(ms / 1_000);
    if (inSecond !== second) {
      beginning = new Date(inSecond * 1_000).toISOString().slice(0, -"000Z".length);
      second = inSecond;
    }
    const rest = Math.floor(ms) - inSecond * 1_000;
    written = `${beginning}${String(rest).padStart(3, "0")}Z`;
    known = ms;
    return written;
  };
}

/** Differences up to this are drift, which is followed at once. */
const driftMs = 2_000;
/** How long a larger difference must last, unchanged, before it is followed. */
const lastsMs = 60_000;

/** A difference of the wall clock that is too large for drift. */
interface Jump {
  differenceMs: number;
  /** Monotonic milliseconds at which it was first seen. */
  readonly since: number;
}

/**
 * Unix milliseconds for the ends of windows. They pass like the monotonic time and follow the drift of the wall clock.
 * A jump of the wall clock, forward or back, is followed only after it lasted for a minute of monotonic time: a machine
 * that slept, or a corrected clock. Only such a correction makes this time go back.
 *
 * A jump is noticed when the time is read: read it at least once a second.
 */
export function createSteadyTime({ now, monotonic }: Clock): () => number {
  /** Added to the monotonic time. */
  let offset = now() - monotonic();
  let latest = Number.NEGATIVE_INFINITY;
  let jump: Jump | undefined;
  return () => {
    const [wall, passed] = [now(), monotonic()];
    const differenceMs = wall - passed - offset;
    if (Math.abs(differenceMs) <= driftMs) jump = undefined;
    else if (!jump || Math.abs(differenceMs - jump.differenceMs) > driftMs) jump = { differenceMs, since: passed };
    else if (passed - jump.since >= lastsMs) {
      jump = undefined;
      latest = Number.NEGATIVE_INFINITY;
    }
    if (!jump) offset += differenceMs;
    latest = Math.max(latest, jump ? Math.floor(passed + offset) : wall);
    return latest;
  };
}
