import { decodeUtf8, endOfDigits, endOfNumber, endOfString, isDigit, isTooDeep, longInteger } from "./json.ts";

/**
 * Numbers of JSON texts that JavaScript cannot hold as they are written: integers beyond 2^53 and numbers that are not finite.
 * Before such a text is parsed each of them is replaced by a number near it that stands nowhere else in the text; behind the
 * serialiser the digits as they were written take its place again. In between it is a plain number: schemas and conversions
 * need to know nothing, and it may be moved, or written into a string.
 */

const quote = 0x22;
const dot = 0x2e;
/** Tried for one number; where none is free it is rounded. */
const maxTries = 16;
/** Longest number that is read, and most of them in one text. */
const maxDigits = 1_024;
const maxNumbers = 20_000;
/** A number without its sign (RFC 8259, section 6). */
const jsonNumber = /^(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Texts of numbers as JavaScript writes large ones, whatever stands around them. */
const largeNumber = /(?<![\d.])(?:\d(?:\.\d+)?e\+\d+|\d{16,})/g;

/** A number near another one, some steps of its last binary digit nearer to zero. */
function near(value: number, steps: number): number {
  const finite = Math.min(value, Number.MAX_VALUE);
  return finite - steps * 2 ** (Math.floor(Math.log2(finite)) - 52);
}

/** Whether a number is not what its text says. */
function isInexact(text: string, value: number): boolean {
  if (!Number.isFinite(value)) return true;
  return Number.isInteger(value) && value > Number.MAX_SAFE_INTEGER && String(value) !== text;
}

/** Which numbers stand for which texts; both without a sign. */
export class ExactNumbers {
  readonly #texts = new Map<string, string>();
  readonly #standIns = new Map<string, string>();
  /** What stands for a number that is not finite; undefined where all are. */
  infinite: string | undefined;
  /** Why the text cannot be read: it has more of them than are looked after, or a longer one. */
  excess: string | undefined;

  get size(): number {
    return this.#texts.size;
  }

  /**
   * What stands for a text from now on; undefined where none is needed.
   *
   * @param taken Texts that mean themselves.
   */
  add(text: string, taken: ReadonlySet<string>): string | undefined {
    const value = Number(text);
    if (!jsonNumber.test(text) || !isInexact(text, value)) return undefined;
    const known = this.#standIns.get(text);
    if (known !== undefined) return known;
    for (let attempt = 0; attempt < maxTries; attempt++) {
      // the nearest first; consecutive ids share it, so the next ones keep away from those that were given out
      const steps = attempt === 0 ? 0 : this.#texts.size + attempt * 977;
      const standIn = String(near(value, steps));
      if (taken.has(standIn) || this.#texts.has(standIn)) continue;
      this.#texts.set(standIn, text);
      this.#standIns.set(text, standIn);
      if (value === Number.POSITIVE_INFINITY) this.infinite ??= standIn;
      return standIn;
    }
    return undefined;
  }

  /** Takes over what others stand for, where it does not stand for something else already. */
  join(others: ExactNumbers | undefined, taken: ReadonlySet<string> = none): void {
    for (const [standIn, text] of others ? others.#texts : []) {
      if (this.#texts.has(standIn) || taken.has(standIn)) continue;
      this.#texts.set(standIn, text);
      this.#standIns.set(text, standIn);
    }
  }

  /** A serialised text with the digits as they were written. */
  restore(text: string): string {
    if (this.#texts.size === 0) return text;
    return text.replace(largeNumber, (found) => this.#texts.get(found) ?? found);
  }
}

const none: ReadonlySet<string> = new Set();
type Place = readonly [start: number, end: number];

const name = encoder.encode('"arguments"');
const colon = 0x3a;

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** Whether the string that opens at `index` is the JSON text of a tool's arguments: it is parsed where a dialect wants the value. */
function holdsArguments(bytes: Uint8Array, index: number): boolean {
  if (bytes[index + 1] !== 0x7b && bytes[index + 1] !== 0x5b) return false;
  let before = index - 1;
  while (isBlank(bytes[before])) before--;
  if (bytes[before] !== colon) return false;
  before--;
  while (isBlank(bytes[before])) before--;
  const start = before - name.length + 1;
  return start >= 0 && name.every((byte, offset) => bytes[start + offset] === byte);
}

/** Long integers in the JSON text a string holds; those in its own strings stand behind a quote. */
function findWithin(bytes: Uint8Array, [start, end]: Place, found: Place[]): void {
  for (let index = start; index < end && found.length <= maxNumbers; index++) {
    if (!isDigit(bytes[index])) continue;
    const behind = Math.min(endOfDigits(bytes, index), end);
    const before = bytes[index - 1];
    const isValue = before === colon || before === 0x2c || before === 0x5b || before === 0x2d || isBlank(before);
    if (behind - index >= longInteger && isValue && bytes[behind] !== dot) found.push([index, behind]);
    index = behind;
  }
}

/** Where numbers stand that may not be held. */
function findSuspects(bytes: Uint8Array): Place[] {
  const found: Place[] = [];
  for (let index = 0; index < bytes.length && found.length <= maxNumbers; index++) {
    if (bytes[index] === quote) {
      const end = endOfString(bytes, index + 1);
      if (holdsArguments(bytes, index)) findWithin(bytes, [index + 1, end], found);
      index = end;
    } else if (isDigit(bytes[index])) {
      const end = endOfNumber(bytes, index);
      if (end < 0) found.push([index, -end]);
      index = Math.abs(end) - 1;
    }
  }
  return found;
}

/** What of the numbers is too much, if anything is. */
function findExcess(suspects: readonly Place[]): string | undefined {
  if (suspects.length > maxNumbers) return `more than ${maxNumbers} numbers beyond 2^53, or with exponents`;
  if (suspects.some(([start, end]) => end - start > maxDigits)) return `a number of more than ${maxDigits} digits`;
  return undefined;
}

/** The bytes with other texts in some places. */
function replaceAt(bytes: Uint8Array, places: readonly (readonly [start: number, end: number, text: string])[]) {
  const added = places.reduce((sum, [start, end, text]) => sum + text.length - (end - start), 0);
  const made = new Uint8Array(bytes.length + added);
  let [from, to] = [0, 0];
  for (const [start, end, text] of places) {
    made.set(bytes.subarray(from, start), to);
    to += start - from;
    encoder.encodeInto(text, made.subarray(to));
    to += text.length;
    from = end;
  }
  made.set(bytes.subarray(from), to);
  return made;
}

const asciiEscape = /\\+u00([0-7][0-9a-f])/gi;

/** Texts of large numbers that mean themselves, those that strings write in escapes too, however deep they stand in others. */
function findTaken(text: string): Set<string> {
  const taken = new Set(text.match(largeNumber));
  if (!text.includes("\\u00")) return taken;
  const plain = text.replace(asciiEscape, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  for (const found of plain.match(largeNumber) ?? []) taken.add(found);
  return taken;
}

/** A text that can be parsed, and what its numbers stand for. */
export interface ShelteredBytes {
  bytes: Uint8Array;
  numbers: ExactNumbers;
}

/**
 * The bytes of a JSON text, or of several, with numbers in place of those that cannot be held; undefined where there are none
 * of them.
 *
 * @param known Numbers that may stand in what is made of it, too.
 */
export function shelterNumbers(bytes: Uint8Array, known?: ExactNumbers): ShelteredBytes | undefined {
  const suspects = findSuspects(bytes);
  const excess = findExcess(suspects);
  if (excess !== undefined) {
    const numbers = new ExactNumbers();
    numbers.excess = excess;
    return { bytes, numbers };
  }
  if (suspects.length === 0 && known === undefined) return undefined;
  // only texts with such digits are looked through a second time
  const taken = findTaken(decoder.decode(bytes));
  const numbers = new ExactNumbers();
  numbers.join(known, taken);
  const places: (readonly [number, number, string])[] = [];
  for (const [start, end] of suspects) {
    const standIn = numbers.add(decoder.decode(bytes.subarray(start, end)), taken);
    if (standIn !== undefined) places.push([start, end, standIn]);
  }
  if (numbers.size === 0 && numbers.infinite === undefined) return undefined;
  return { bytes: places.length === 0 ? bytes : replaceAt(bytes, places), numbers };
}

/** Digits in a row that may be such a number: each sixteenth byte is looked at. */
export function hasLongDigits(bytes: Uint8Array): boolean {
  for (let index = longInteger - 1; index < bytes.length; index += longInteger) {
    if (!isDigit(bytes[index])) continue;
    let start = index;
    while (isDigit(bytes[start - 1])) start--;
    const end = endOfDigits(bytes, index);
    if (end - start >= longInteger && bytes[start - 1] !== dot) return true;
    index = end - 1;
  }
  return false;
}

/** As `shelterNumbers`, for texts that seldom hold such numbers: integers alone are looked for. */
export function shelterIntegers(bytes: Uint8Array, known?: ExactNumbers): ShelteredBytes | undefined {
  return known === undefined && !hasLongDigits(bytes) ? undefined : shelterNumbers(bytes, known);
}

/** A JSON value whose numbers stay as they are written. */
export interface ExactValue {
  value: unknown;
  /** The text of a value that was made of it. */
  write(value: unknown): string;
  /** What stands for numbers that cannot be held; absent where there are none. */
  numbers?: ExactNumbers;
}

/** @throws {SyntaxError} Also for a text that is nested too deep: writing its value takes engines seconds. */
function parseShallow(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError("Cannot parse the JSON: it is nested too deep");
  return JSON.parse(text);
}

const plainWrite = (value: unknown): string => JSON.stringify(value);

/**
 * Parses the bytes of a JSON text.
 *
 * @throws {SyntaxError} If it is none.
 * @throws {TypeError} If it is not UTF-8.
 */
export function parseExactBytes(given: Uint8Array, known?: ExactNumbers): ExactValue {
  const sheltered = shelterIntegers(given, known);
  if (!sheltered) return { value: parseShallow(decodeUtf8(given)), write: plainWrite };
  const { bytes, numbers } = sheltered;
  return {
    value: parseShallow(decodeUtf8(bytes)),
    write: (value) => numbers.restore(JSON.stringify(value)),
    numbers,
  };
}

/** As `parseExactBytes`, for a text. @throws {SyntaxError} If it is none. */
export function parseExact(text: string, known?: ExactNumbers): ExactValue {
  if (!known && !/\d{16}/.test(text)) return { value: parseShallow(text), write: plainWrite };
  return parseExactBytes(encoder.encode(text), known);
}

/** Whether a value holds a number that is not finite: JSON cannot tell it. */
export function holdsInfinite(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(holdsInfinite);
}
