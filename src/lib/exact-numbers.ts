import {
  decodeUtf8,
  endOfDigits,
  endOfNumber,
  endOfString,
  isDigit,
  longInteger,
  membersOf,
  requireJson,
} from "./json.ts";

/**
 * Numbers in JSON text that JavaScript cannot represent: integers beyond 2^53 and numbers that would be infinite.
 * Before parsing, each of them is replaced by a nearby number that occurs nowhere else in the text; after serialising, the
 * original digits are put back. In between it is an ordinary number: schemas and conversions need not know about it, and
 * it may be moved, or written into a string.
 */

const quote = 0x22;
const dot = 0x2e;
/** Candidates for one number; if none is free, the number is rounded. */
const maxTries = 16;
/** Longest number that is preserved, and most of them in one text. */
const maxDigits = 1_024;
const maxNumbers = 20_000;
/** A number without its sign (RFC 8259, section 6). */
const jsonNumber = /^(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Numbers in the notation JavaScript uses for large ones, in any context. */
const largeNumber = /(?<![\d.])(?:\d(?:\.\d+)?e\+\d+|\d{16,})/g;

/** Distance of a number from the next greater one. */
const lastDigit = (value: number): number => 2 ** (Math.floor(Math.log2(value)) - 52);

/**
 * A number near another one: towards zero, or away from it if `side` is 1.
 *
 * @param steps In units of its last binary digit.
 */
function near(value: number, steps: number, side: number): number {
  const finite = Math.min(value, Number.MAX_VALUE);
  return side > 0 ? finite + steps * lastDigit(finite) : finite - steps * lastDigit(finite);
}

const isPowerOfTwo = (value: number): boolean => Number.isFinite(value) && Number.isInteger(Math.log2(value));

/**
 * On which side of a power of two the digits lie that round to it: -1 below, 1 above, 0 for the power itself and for other
 * numbers. Bounds of integers are powers of two, so a replacement must lie on the same side.
 */
function sideOf(text: string, value: number): -1 | 0 | 1 {
  if (!isPowerOfTwo(value) || !/^\d{16,40}$/.test(text)) return 0;
  const [written, power] = [BigInt(text), BigInt(value)];
  return written === power ? 0 : written < power ? -1 : 1;
}

/** Whether a number differs from its text. */
function isInexact(text: string, value: number): boolean {
  if (!Number.isFinite(value)) return true;
  if (!Number.isInteger(value) || value <= Number.MAX_SAFE_INTEGER) return false;
  return String(value) !== text || sideOf(text, value) !== 0;
}

/** Replacement numbers by the text they replace, both without a sign. */
export class ExactNumbers {
  readonly #written = new Map<string, string>();
  readonly #standIns = new Map<string, string>();
  /** Replaces an infinite number; undefined without one. */
  infinite: string | undefined;
  /** Why the text cannot be read: it has more of them than are looked after, or a longer one. */
  excess: string | undefined;

  get size(): number {
    return this.#written.size;
  }

  /**
   * The replacement for a text; undefined if it needs none.
   *
   * @param taken Text of numbers that occur as themselves.
   */
  add(text: string, taken: ReadonlySet<string>): string | undefined {
    const value = Number(text);
    if (!jsonNumber.test(text) || !isInexact(text, value)) return undefined;
    const known = this.#standIns.get(text);
    if (known !== undefined) return known;
    const side = sideOf(text, value);
    for (let attempt = 0; attempt < maxTries; attempt++) {
      // the nearest first; consecutive ids compete for the same ones, so later ids skip those already in use
      const steps = attempt === 0 ? Math.abs(side) : this.#written.size + attempt * 977;
      const standIn = String(near(value, steps, side));
      if (taken.has(standIn) || this.#written.has(standIn)) continue;
      this.#written.set(standIn, text);
      this.#standIns.set(text, standIn);
      if (value === Number.POSITIVE_INFINITY) this.infinite ??= standIn;
      return standIn;
    }
    return undefined;
  }

  /** Adopts the replacements of others, unless they conflict. */
  join(others: ExactNumbers | undefined, taken: ReadonlySet<string> = none): void {
    for (const [standIn, text] of others ? others.#written : []) {
      if (this.#written.has(standIn) || taken.has(standIn)) continue;
      this.#written.set(standIn, text);
      this.#standIns.set(text, standIn);
    }
  }

  /** Puts the original digits back into a serialised text. */
  restore(text: string): string {
    if (this.#written.size === 0) return text;
    return text.replace(largeNumber, (found) => this.#written.get(found) ?? found);
  }
}

const none: ReadonlySet<string> = new Set();
type Place = readonly [start: number, end: number];

const name = encoder.encode('"arguments"');
const colon = 0x3a;

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** Whether the string that opens at `index` holds a tool's arguments as JSON: dialects may parse it. */
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

/** Long integers in the JSON text inside a string; its own strings begin with an escaped quote. */
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

/** Positions of numbers that may lose precision. */
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

/** The bytes with some ranges replaced. */
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

/** Large numbers that occur as themselves, including those inside strings and nested JSON strings. */
function findTaken(text: string): Set<string> {
  const taken = new Set(text.match(largeNumber));
  if (!text.includes("\\u00")) return taken;
  const plain = text.replace(asciiEscape, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  for (const found of plain.match(largeNumber) ?? []) taken.add(found);
  return taken;
}

/** A text that can be parsed, and the replacements in it. */
interface ShelteredBytes {
  bytes: Uint8Array;
  numbers: ExactNumbers;
}

/**
 * JSON text with replacements for numbers that lose precision; undefined without such numbers.
 * of them.
 *
 * @param known Numbers that may also occur in what is derived from the text.
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
  // only text with such digits is scanned a second time
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

/** A run of digits that may be such a number: only every sixteenth byte is examined. */
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

/** As `shelterNumbers`, for text that seldom contains such numbers: only integers are looked for. */
export function shelterIntegers(bytes: Uint8Array, known?: ExactNumbers): ShelteredBytes | undefined {
  return known === undefined && !hasLongDigits(bytes) ? undefined : shelterNumbers(bytes, known);
}

/** A JSON value whose numbers preserve their digits. */
export interface ExactValue {
  value: unknown;
  /** Serialises a value derived from it. */
  write(value: unknown): string;
  /** Replacements for numbers that lose precision; absent without such numbers. */
  numbers?: ExactNumbers;
}

const plainWrite = (value: unknown): string => JSON.stringify(value);

/**
 * Parses JSON bytes.
 *
 * @throws {SyntaxError} If they are not JSON.
 * @throws {TypeError} If they are not UTF-8.
 */
export function parseExactBytes(given: Uint8Array, known?: ExactNumbers): ExactValue {
  const sheltered = shelterIntegers(given, known);
  if (!sheltered) return { value: requireJson(decodeUtf8(given)), write: plainWrite };
  const { bytes, numbers } = sheltered;
  return {
    value: requireJson(decodeUtf8(bytes)),
    write: (value) => numbers.restore(JSON.stringify(value)),
    numbers,
  };
}

/** As `parseExactBytes`, for a string. @throws {SyntaxError} If it is not JSON. */
export function parseExact(text: string, known?: ExactNumbers): ExactValue {
  if (!known && !/\d{16}/.test(text)) return { value: requireJson(text), write: plainWrite };
  return parseExactBytes(encoder.encode(text), known);
}

/** Whether a value contains an infinite number, which JSON cannot express. */
export function holdsInfinite(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value !== "object" || value === null) return false;
  return membersOf(value).some(holdsInfinite);
}

/** Path of a number, ignoring its sign. */
export function pathOfNumber(value: unknown, number: number): string[] | undefined {
  if (typeof value === "number") return Math.abs(value) === number ? [] : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  const names = Array.isArray(value) ? value.keys() : Object.keys(value);
  for (const name of names) {
    const path = pathOfNumber(Reflect.get(value, name), number);
    if (path) return [String(name), ...path];
  }
  return undefined;
}
