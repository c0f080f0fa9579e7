import { BoundedMap } from "./bounded-map.ts";
import type { Clock } from "./clock.ts";

/** Most keys that are remembered. */
const maxKeys = 5_000;
/** How much a key may do. */
interface Allowance {
  /** At once. */
  atOnce: number;
  /** How often once more, in milliseconds. */
  everyMs: number;
}

/** Refused credentials of one key that are replaced. */
const ofReplacements: Allowance = { atOnce: 3, everyMs: 20_000 };

/** Replacements that a key has left. */
interface Replacements {
  left: number;
  /** Monotonic time in milliseconds. */
  since: number;
}

/** Bounds how often each key does something; by default, how often its refused credentials are replaced. */
export class ReplacementBound {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #known = new BoundedMap<string, Replacements>(maxKeys);

  readonly #allowance: Allowance;

  constructor(clock: Pick<Clock, "monotonic">, allowance = ofReplacements) {
    this.#clock = clock;
    this.#allowance = allowance;
  }

  /** Takes one replacement; false where none is left now. */
  take(key: string): boolean {
    const { atOnce, everyMs } = this.#allowance;
    const now = this.#clock.monotonic();
    const { left, since } = this.#known.get(key) ?? { left: atOnce, since: now };
    const gained = Math.floor((now - since) / everyMs);
    const available = Math.min(atOnce, left + gained);
    if (available === 0) return false;
    // a key that had all of them begins to gain from now on
    const begins = available === atOnce ? now : since + gained * everyMs;
    this.#known.set(key, { left: available - 1, since: begins });
    return true;
  }
}
