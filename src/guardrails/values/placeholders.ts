import { visitJson } from "../../lib/json-strings.ts";

/** Most values whose numbers are remembered. Those that are put back are all remembered: the request holds them. */
const mostRemembered = 10_000;

/** A placeholder in a text: its name is bounded, so that a search takes time in proportion to the text. */
export const placeholderForm = /\{\{[A-Z][A-Z0-9_]{0,63}_[0-9]{1,9}\}\}/g;

/** The placeholders in the strings of a JSON value. */
function placeholdersIn(value: unknown): Set<string> {
  const found = new Set<string>();
  const add = (text: string): void => {
    if (text.includes("{{")) for (const placeholder of text.match(placeholderForm) ?? []) found.add(placeholder);
  };
  visitJson(value, { string: add });
  return found;
}

/** Placeholders such as `{{EMAIL_ADDRESS_1}}`, numbered by kind. Equal values have equal numbers. */
export class Placeholders {
  /** Those of the request: a response goes on with their numbers. */
  readonly #earlier: Placeholders | undefined;
  readonly #known = new Map<string, Map<string, number>>();
  /** The last number of each kind. */
  readonly #last = new Map<string, number>();
  #remembered = 0;
  /** Placeholders that the request came with; undefined until a value is to be put back. */
  #foreign: Set<string> | undefined;
  readonly #restored = new Map<string, string>();
  /** The placeholders of those values, by kind and value. */
  readonly #names = new Map<string, string>();

  constructor(earlier?: Placeholders) {
    this.#earlier = earlier;
  }

  of(kind: string, value: string): string {
    return `{{${kind}_${this.#earlier?.numberOf(kind, value) ?? this.#number(kind, value)}}}`;
  }

  /**
   * As `of`, for a value that takes the place of its placeholder in the response. The request did not come with that
   * placeholder: it may be one of an earlier request.
   *
   * @param body The request, as it is when the first such value is found.
   */
  ofRestored(kind: string, value: string, body: unknown): string {
    this.#foreign ??= placeholdersIn(body);
    const key = `${kind} ${value}`;
    const given = this.#names.get(key);
    if (given !== undefined) return given;
    const known = this.of(kind, value);
    const placeholder = this.#foreign.has(known) ? `{{${kind}_${this.#take(kind, value)}}}` : known;
    this.#names.set(key, placeholder);
    this.#restored.set(placeholder, value);
    return placeholder;
  }

  /** What takes the place of placeholders in the response; empty where nothing does. */
  get restored(): ReadonlyMap<string, string> {
    return this.#restored;
  }

  numberOf(kind: string, value: string): number | undefined {
    return this.#known.get(kind)?.get(value);
  }

  #number(kind: string, value: string): number {
    const known = this.numberOf(kind, value);
    if (known !== undefined) return known;
    const number = this.#take(kind, value);
    if (this.#remembered++ >= mostRemembered) this.#known.get(kind)?.delete(value);
    return number;
  }

  /** Gives a value the next number that the request did not come with. */
  #take(kind: string, value: string): number {
    let numbers = this.#known.get(kind);
    if (!numbers) {
      numbers = new Map();
      this.#known.set(kind, numbers);
    }
    let number = (this.#last.get(kind) ?? this.#earlier?.lastOf(kind) ?? 0) + 1;
    while (this.#foreign?.has(`{{${kind}_${number}}}`)) number++;
    this.#last.set(kind, number);
    numbers.set(value, number);
    return number;
  }

  lastOf(kind: string): number {
    return this.#last.get(kind) ?? 0;
  }
}
