/** Most values whose numbers are remembered. */
const mostRemembered = 10_000;

/** Placeholders such as `{{EMAIL_ADDRESS_1}}`, numbered by kind. Equal values have equal numbers. */
export class Placeholders {
  readonly #known = new Map<string, Map<string, number>>();
  #remembered = 0;

  of(kind: string, value: string): string {
    let numbers = this.#known.get(kind);
    if (!numbers) {
      numbers = new Map();
      this.#known.set(kind, numbers);
    }
    let number = numbers.get(value);
    if (number === undefined) {
      number = numbers.size + 1;
      if (this.#remembered++ < mostRemembered) numbers.set(value, number);
    }
    return `{{${kind}_${number}}}`;
  }
}
