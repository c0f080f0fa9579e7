import { Pattern } from "../lib/wildcards.ts";

/** Names of models that a key may use. In each of them `*` stands for any text. */
export class AllowedModels {
  readonly names: readonly string[];
  readonly #exact: ReadonlySet<string>;
  readonly #patterns: readonly Pattern[];

  constructor(names: readonly string[]) {
    this.names = names;
    this.#exact = new Set(names);
    this.#patterns = names.filter((name) => name.includes("*")).map((name) => new Pattern(name));
  }

  /** Whether a name is allowed; of a name with `*`, whether all that it stands for are. */
  allows(name: string): boolean {
    return this.#exact.has(name) || this.#patterns.some((pattern) => pattern.fits(name));
  }
}
