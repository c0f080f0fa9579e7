import type { Clock } from "./clock.ts";

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
