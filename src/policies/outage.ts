import type { Clock } from "../lib/clock.ts";

/** Pauses between two attempts to come back, in milliseconds. They double, and each is varied by half. */
const pauses = { first: 250, most: 5_000 };
/** Least time between two warnings. */
const warnEveryMs = 60_000;

/** Settings of an outage. */
interface OutageOptions {
  /** Reaches the shared counters and agrees with them. It rejects as long as it cannot. */
  readonly recover: () => Promise<void>;
  /** Warning for the operator. */
  readonly message: string;
  readonly warn: (message: string, error?: unknown) => void;
  readonly clock: Pick<Clock, "monotonic">;
  /** Numbers in [0, 1): processes that lost the same server come back at different times. */
  readonly random: () => number;
}

/** Whether shared counters are away, and the attempts to reach them again. */
export class Outage {
  readonly #options: OutageOptions;
  #isAway = false;
  #isClosed = false;
  #pauseMs = pauses.first;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Monotonic milliseconds of the last warning. */
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(options: OutageOptions) {
    this.#options = options;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  /**
   * Notes that the shared counters failed. They count as away until they are reached again.
   *
   * @returns Whether they did not count as away before.
   */
  begin(error: unknown): boolean {
    if (this.#isAway || this.#isClosed) return false;
    this.#isAway = true;
    this.#pauseMs = pauses.first;
    this.#warn(error);
    this.#recoverLater();
    return true;
  }

  #warn(error: unknown): void {
    const { clock, warn, message } = this.#options;
    const now = clock.monotonic();
    if (now - this.#warnedAt < warnEveryMs) return;
    this.#warnedAt = now;
    warn(message, error);
  }

  #recoverLater(): void {
    const delayMs = this.#pauseMs * (0.5 + this.#options.random());
    this.#pauseMs = Math.min(this.#pauseMs * 2, pauses.most);
    this.#timer = setTimeout(() => void this.#recover(), delayMs);
  }

  async #recover(): Promise<void> {
    try {
      await this.#options.recover();
      this.#isAway = false;
    } catch (error) {
      if (this.#isClosed) return;
      this.#warn(error);
      this.#recoverLater();
    }
  }

  /** Ends the attempts. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
