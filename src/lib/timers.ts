import { startTimer } from "./clock.ts";

/** How finely shared timers run. */
const tickMs = 250;
/** Shorter delays get a timer of their own. */
const exactBelowMs = 10_000;
/** Ticks without a delay before the shared timer stops. */
const idleTicks = 8;

/** Timers of requests: most are cancelled long before they fire, so the long ones share one. */
export interface Timers {
  /** Runs `action` after `delayMs`, a quarter of a second late at most; the result cancels it. */
  start(delayMs: number, action: () => void): () => void;
  /** Forgets all of them. */
  close(): void;
}

/** Creates the timers of a gateway. */
export function createTimers(): Timers {
  const waiting = new Set<{ at: number; action: () => void }>();
  let shared: ReturnType<typeof setInterval> | undefined;
  let idle = 0;
  const stop = () => {
    clearInterval(shared);
    shared = undefined;
  };
  const tick = () => {
    const now = performance.now();
    for (const entry of waiting) {
      if (entry.at > now) continue;
      waiting.delete(entry);
      entry.action();
    }
    idle = waiting.size === 0 ? idle + 1 : 0;
    if (idle >= idleTicks) stop();
  };
  return {
    start(delayMs, action) {
      if (delayMs < exactBelowMs) return startTimer(delayMs, action);
      const entry = { at: performance.now() + delayMs, action };
      waiting.add(entry);
      shared ??= setInterval(tick, tickMs);
      return () => void waiting.delete(entry);
    },
    close() {
      waiting.clear();
      stop();
    },
  };
}
