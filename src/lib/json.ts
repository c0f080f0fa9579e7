/** Limits on the structure of a JSON text. */
export interface JsonLimits {
  /** Levels of nesting. */
  depth: number;
  /** Values in all. */
  values: number;
  /** Fields of one object. */
  keys: number;
  /** Shorter text, in bytes, is not scanned; by default all is. */
  ignoredBelow?: number;
}

/** Limits for request and response bodies. A short body cannot nest deep enough to overflow a stack. */
export const bodyLimits: JsonLimits = { depth: 64, values: 200_000, keys: 10_000, ignoredBelow: 2048 };

const quote = 0x22;
const backslash = 0x5c;
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Decodes UTF-8 and drops a byte order mark.
 *
 * @throws {TypeError} If the bytes are not UTF-8.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Index of the quote that ends the string that starts at `start`; the length if it is unterminated. */
export function endOfString(bytes: Uint8Array, start: number): number {
  let end = bytes.indexOf(quote, start);
  while (end > 0) {
    let escapes = 0;
    while (bytes[end - 1 - escapes] === backslash) escapes++;
    if (escapes % 2 === 0) return end;
    end = bytes.indexOf(quote, end + 1);
  }
  return bytes.length;
}

/** Whether the bracket at `index` closes an empty object or list. */
function closesNothing(bytes: Uint8Array, index: number, opener: number): boolean {
  let before = index - 1;
  while (bytes[before] === 0x20 || bytes[before] === 0x0a || bytes[before] === 0x0d || bytes[before] === 0x09) before--;
  return bytes[before] === opener;
}

/** Integers with this many digits may be beyond 2^53. */
export const longInteger = 16;

const minus = 0x2d;
const plus = 0x2b;
const dot = 0x2e;

/** Whether a byte is a digit. */
export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** Index after the digits at `start`. */
export function endOfDigits(bytes: Uint8Array, start: number): number {
  let end = start;
  while (isDigit(bytes[end])) end++;
  return end;
}

/**
 * Index after the number that starts at `start`; negative for one that JavaScript may not represent exactly: judged
 * by its digits before the dot, or an exponent.
 */
export function endOfNumber(bytes: Uint8Array, start: number): number {
  let end = endOfDigits(bytes, start);
  let isSuspect = end - start >= longInteger;
  if (bytes[end] === dot) end = endOfDigits(bytes, end + 1);
  if (((bytes[end] ?? 0) | 0x20) === 0x65) {
    const sign = bytes[end + 1];
    isSuspect ||= sign !== minus;
    end = endOfDigits(bytes, sign === minus || sign === plus ? end + 2 : end + 1);
  }
  return isSuspect ? -end : end;
}

/** Result of scanning a JSON text. */
interface JsonScan {
  /** The limit that is exceeded. */
  excess: string | undefined;
  /** Whether it contains numbers that JavaScript may not represent exactly. */
  hasSuspects: boolean;
  /** Values in all; 0 where a limit is exceeded. */
  values: number;
  /** Names of fields in all; 0 where a limit is exceeded. */
  names: number;
}

/**
 * Counts nesting, values and fields in one pass, without parsing.
 *
 * @returns The limit that is exceeded, or undefined. Malformed text may pass: the parser rejects it.
 */
export function findJsonExcess(bytes: Uint8Array, limits: JsonLimits = bodyLimits): string | undefined {
  if (bytes.length < (limits.ignoredBelow ?? 0)) return undefined;
  return scanJson(bytes, limits).excess;
}

const excessive = (excess: string): JsonScan => ({ excess, hasSuspects: false, values: 0, names: 0 });

/** As `findJsonExcess`, and looks for inexact numbers. */
export function scanJson(bytes: Uint8Array, limits: JsonLimits = bodyLimits): JsonScan {
  let hasSuspects = false;
  const keys = new Uint32Array(limits.depth + 1);
  let depth = 0;
  let values = 1;
  let names = 0;
  for (let index = 0; index < bytes.length; index++) {
    switch (bytes[index]) {
      case quote:
        index = endOfString(bytes, index + 1);
        break;
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > limits.depth) return excessive(`more than ${limits.depth} levels of nesting`);
        keys[depth] = 0;
        values++;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        if (depth > 0) depth--;
        // an empty bracket has no first value; in ASCII each opener is two before its closer
        if (closesNothing(bytes, index, (bytes[index] ?? 0) - 2)) values--;
        break;
      case 0x3a: // :
        names++;
        keys[depth] = (keys[depth] ?? 0) + 1;
        if ((keys[depth] ?? 0) > limits.keys) return excessive(`more than ${limits.keys} members in one object`);
        break;
      case 0x2c: // ,
        if (++values > limits.values) return excessive(excessOfValues(limits));
        break;
      case 0x30:
      case 0x31:
      case 0x32:
      case 0x33:
      case 0x34:
      case 0x35:
      case 0x36:
      case 0x37:
      case 0x38:
      case 0x39: {
        const end = endOfNumber(bytes, index);
        if (end < 0) hasSuspects = true;
        index = (end < 0 ? -end : end) - 1;
        break;
      }
    }
  }
  if (values > limits.values) return excessive(excessOfValues(limits));
  return { excess: undefined, hasSuspects, values, names };
}

function excessOfValues(limits: JsonLimits): string {
  return `more than ${limits.values} values`;
}

/** Whether a value is a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The items of a list, or the values of an object's fields. On Bun, `Object.values` takes microseconds for each item of a list. */
export function membersOf(value: object): readonly unknown[] {
  return Array.isArray(value) ? value : Object.values(value);
}

/** Number of values in a JSON value, including itself. */
export function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const one of membersOf(value)) count += countValues(one);
  return count;
}

/** The value when it is a string, else undefined. */
export function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value when it is a string, else an empty one. */
export function stringOrEmpty(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A JSON value as text: objects and lists as JSON, strings as they are. */
export function valueText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The value when it is a string that is not empty, else undefined. */
export function nonEmptyString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The value when it is a finite number, else undefined. */
export function finiteNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The objects of a list; empty where it is not a list. */
export function objectsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Deepest nesting that is parsed: JSON inside bodies may be nested deeper than the bodies themselves. */
const maxTextDepth = 256;
/** Most lists and objects, and most fields of objects, of one text: an engine needs much more memory for them than their text. */
const maxTextContainers = 200_000;
const maxTextFields = 500_000;
/** Shorter text is not checked: it cannot overflow a stack. */
const shallowLength = 2048;
const openers = /[[{]/;

/**
 * Whether the value of a JSON text is dangerous: nested so deep that engines take seconds to serialise it and recursive
 * code overflows the stack, or of so many parts that it takes many times the memory of its text. The result for malformed
 * text is undefined.
 */
export function isTooComplex(text: string): boolean {
  if (text.length < shallowLength || !openers.test(text)) return false;
  let depth = 0;
  let containers = 0;
  let fields = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === quote) index = endOfText(text, index + 1);
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > maxTextDepth || ++containers > maxTextContainers) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
    else if (code === 0x3a && ++fields > maxTextFields) return true;
  }
  return false;
}

/** As `endOfString`, for a string. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (end - 1 - escapes >= start && text.charCodeAt(end - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/**
 * Parses JSON text of others.
 *
 * @throws {SyntaxError} Also for text whose value is dangerous.
 */
export function requireJson(text: string): unknown {
  if (isTooComplex(text)) throw new SyntaxError("Cannot parse the JSON: it is nested too deep or has too many parts");
  return JSON.parse(text);
}

/** Parses JSON; undefined for text that is not JSON, is nested too deep or has too many parts. */
export function parseJson(text: string): unknown {
  try {
    return requireJson(text);
  } catch {
    return undefined;
  }
}

/**
 * Whether an object in a JSON text, at any depth, repeats a name. Some parsers use the last value, others the first, so
 * two readers may see different data.
 *
 * @param text Valid JSON.
 * @param fold Maps names that count as equal to the same string; default: the name itself.
 */
export function hasRepeatedName(text: string, fold: (name: string) => string = (name) => name): boolean {
  const open: Set<string>[] = [];
  let start = 0;
  let end = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case quote:
        start = index;
        end = endOfText(text, index + 1);
        index = end;
        break;
      case 0x7b: // {
      case 0x5b: // [
        open.push(new Set());
        break;
      case 0x7d: // }
      case 0x5d: // ]
        open.pop();
        break;
      case 0x3a: {
        // : after a name
        const name = fold(undoEscapes(text.slice(start, end + 1)));
        const names = open.at(-1);
        if (names?.has(name)) return true;
        names?.add(name);
      }
    }
  }
  return false;
}

/** The value of a string in a JSON text. */
function undoEscapes(written: string): string {
  return written.includes("\\") ? String(parseJson(written)) : written.slice(1, -1);
}
