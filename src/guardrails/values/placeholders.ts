/** Most values whose numbers are remembered. */
const mostRemembered = 10_000;

/** Placeholders such as `{{EMAIL_ADDRESS_1}}`, numbered by kind. Equal values have equal numbers. */
export class Placeholders {
  /** Those of the request: a response goes on with their numbers. */
  readonly #earlier: Placeholders | undefined;
  readonly #known = new Map<string, Map<string, number>>();
  #remembered = 0;

  constructor(earlier?: Placeholders) {
    this.#earlier = earlier;
  }

  of(kind: string, value: string): string {
    return `{{${kind}_${this.#earlier?.numberOf(kind, value) ?? this.#number(kind, value)}}}`;
  }

  numberOf(kind: string, value: string): number | undefined {
    return this.#known.get(kind)?.get(value);
  }

  #number(kind: string, value: string): number {
    let numbers = this.#known.get(kind);
    if (!numbers) {
      numbers = new Map();
      this.#known.set(kind, numbers);
    }
    const known = numbers.get(value);
    if (known !== undefined) return known;
    const number = (this.#earlier?.countOf(kind) ?? 0) + numbers.size + 1;
    if (this.#remembered++ < mostRemembered) numbers.set(value, number);
    return number;
  }

  countOf(kind: string): number {
    return this.#known.get(kind)?.size ?? 0;
  }
}
