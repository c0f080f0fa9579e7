import type { Clock } from "../../lib/clock.ts";

/** The time of Redis, as this process knows it: all processes count in the same windows, whatever their clocks say. */
export class SharedTime {
  readonly #clock: Clock;
  /** What is added to monotonic milliseconds. */
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offset = clock.now() - clock.monotonic();
  }

  /** Unix milliseconds. */
  now(): number {
    return Math.floor(this.#clock.monotonic() + this.#offset);
  }

  /**
   * Learns the time of Redis.
   *
   * @param time Unix milliseconds that a script returned.
   * @param sentAt Monotonic milliseconds at which it was sent; the script ran between then and now.
   */
  learn(time: number, sentAt: number): void {
    this.#offset = time - (sentAt + this.#clock.monotonic()) / 2;
  }
}
