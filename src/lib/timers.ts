import { startTimer } from "./clock.ts";

/** Resolution of shared timers. */
const tickMs = 250;
/** Shorter delays get a separate timer. */
const exactBelowMs = 10_000;
/** Ticks without any delay before the shared timer stops. */
const idleTicks = 8;

/** Timers of requests: most are cancelled long before they fire, so long ones share one timer. */
export interface Timers {
  /** Runs `action` after `delayMs`, at most a quarter of a second late; the result cancels it. */
  start(delayMs: number, action: () => void): () => void;
  /** Cancels all of them. */
  close(): void;
}

/**
 * An entry in a ring of waiting entries, or alone. Entering and leaving take constant
 * time.
 */
class Entry {
  readonly at: number;
  readonly action: () => void;
  #previous: Entry = this;
  next: Entry = this;

  constructor(at: number, action: () => void) {
    this.at = at;
    this.action = action;
  }

  /** Enters a ring before one of its entries. */
  enter(member: Entry): void {
    this.#previous = member.#previous;
    this.next = member;
    member.#previous.next = this;
    member.#previous = this;
  }

  /** Leaves its ring; returns whether it was in one. */
  leave(): boolean {
    if (this.next === this) return false;
    this.#previous.next = this.next;
    this.next.#previous = this.#previous;
    this.#previous = this;
    this.next = this;
    return true;
  }
}

/** Creates the timers of a gateway. */
export function createTimers(): Timers {
  const waiting = new Entry(Number.POSITIVE_INFINITY, () => {});
  let shared: ReturnType<typeof setInterval> | undefined;
  let idle = 0;
  const stop = () => {
    clearInterval(shared);
    shared = undefined;
  };
  const tick = () => {
    const now = performance.now();
    const due: Entry[] = [];
    for (let entry = waiting.next; entry !== waiting; entry = entry.next) if (entry.at <= now) due.push(entry);
    // the action before may have cancelled it
    for (const entry of due) if (entry.leave()) entry.action();
    idle = waiting.next === waiting ? idle + 1 : 0;
    if (idle >= idleTicks) stop();
  };
  return {
    start(delayMs, action) {
      if (delayMs < exactBelowMs) return startTimer(delayMs, action);
      const entry = new Entry(performance.now() + delayMs, action);
      entry.enter(waiting);
      shared ??= setInterval(tick, tickMs);
      return () => void entry.leave();
    },
    close() {
      while (waiting.next.leave());
      stop();
    },
  };
}
