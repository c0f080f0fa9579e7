import { toPrintable } from "../lib/printable.ts";

/** Most models that are named in warnings. Callers choose the names. */
const maxNamed = 1_000;
/** Longest name in a warning. */
const maxName = 256;

/** Counts calls that were paid for but have no price, and warns once for each model. */
export class UnpricedCalls {
  readonly #warn: (message: string) => void;
  readonly #named = new Set<string>();
  readonly #counts = new Map<string, number>();

  /** @param warn Receives warnings for the operator, without what looks like a credential. */
  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  /** Counts one call. */
  note(provider: string, model: string | null): void {
    this.#counts.set(provider, (this.#counts.get(provider) ?? 0) + 1);
    if (this.#named.size >= maxNamed) return;
    const name = `${provider} ${model === null ? "without a model" : toPrintable(model.slice(0, maxName))}`;
    if (this.#named.has(name)) return;
    this.#named.add(name);
    this.#warn(`Cannot price calls of ${name}: set a price in its integration, or unpriced_models of the organisation`);
    if (this.#named.size === maxNamed) {
      this.#warn(`Cannot price calls of ${maxNamed} models: further ones are only counted`);
    }
  }

  /** Number of such calls since the start, by provider. */
  counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }
}
