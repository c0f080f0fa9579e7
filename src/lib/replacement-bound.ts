import { BoundedMap } from "./bounded-map.ts";
import type { Clock } from "./clock.ts";

/** Most keys that are remembered. */
const maxKeys = 5_000;
/** Refused credentials of one key that are replaced at once, and how often one more is. */
const replacedAtOnce = 3;
const replacedEveryMs = 20_000;

/** Replacements that a key has left. */
interface Replacements {
  left: number;
  /** Monotonic time in milliseconds. */
  since: number;
}

/** Bounds how often refused credentials of each key are replaced. */
export class ReplacementBound {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #known = new BoundedMap<string, Replacements>(maxKeys);

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Takes one replacement; false where none is left now. */
  take(key: string): boolean {
    const now = this.#clock.monotonic();
    const { left, since } = this.#known.get(key) ?? { left: replacedAtOnce, since: now };
    const gained = Math.floor((now - since) / replacedEveryMs);
    const available = Math.min(replacedAtOnce, left + gained);
    if (available === 0) return false;
    // a key that had all of them begins to gain from now on
    const begins = available === replacedAtOnce ? now : since + gained * replacedEveryMs;
    this.#known.set(key, { left: available - 1, since: begins });
    return true;
  }
}
