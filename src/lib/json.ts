/** Bounds on the structure of a JSON text. */
export interface JsonLimits {
  /** Levels of nesting. */
  depth: number;
  /** Values in all. */
  values: number;
  /** Members of one object. */
  keys: number;
  /** Shorter texts, in bytes, are not looked at; by default all are. */
  ignoredBelow?: number;
}

/** Bounds for request and answer bodies. No short one can nest deep enough to overflow a stack. */
export const bodyLimits: JsonLimits = { depth: 64, values: 200_000, keys: 10_000, ignoredBelow: 2048 };

const quote = 0x22;
const backslash = 0x5c;
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Text of UTF-8 bytes; a leading byte order mark is dropped.
 *
 * @throws {TypeError} If a byte is not UTF-8.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Index of the quote that ends the string whose first character is at `start`; the length when none does. */
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

/** Whether only blanks stand between the bracket that closes at `index` and the one that opened. */
function closesNothing(bytes: Uint8Array, index: number, opener: number): boolean {
  let before = index - 1;
  while (bytes[before] === 0x20 || bytes[before] === 0x0a || bytes[before] === 0x0d || bytes[before] === 0x09) before--;
  return bytes[before] === opener;
}

/** Digits of an integer that may be beyond 2^53. */
export const longInteger = 16;

const minus = 0x2d;
const plus = 0x2b;
const dot = 0x2e;

/** Whether a byte is a digit. */
export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** Index behind the digits that stand at `start`. */
export function endOfDigits(bytes: Uint8Array, start: number): number {
  let end = start;
  while (isDigit(bytes[end])) end++;
  return end;
}

/**
 * Index behind the number whose first digit is at `start`; below zero for one that JavaScript may not hold as it is written: by
 * its digits before the dot, or an exponent.
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

/** What one look at a JSON text tells. */
interface JsonScan {
  /** What is too large. */
  excess: string | undefined;
  /** Whether it holds numbers that JavaScript may not hold as they are written. */
  hasSuspects: boolean;
}

/**
 * Counts nesting, values and members in one pass, without parsing.
 *
 * @returns What is too large, or undefined. Malformed texts may pass: the parser reports them.
 */
export function findJsonExcess(bytes: Uint8Array, limits: JsonLimits = bodyLimits): string | undefined {
  if (bytes.length < (limits.ignoredBelow ?? 0)) return undefined;
  return scanJson(bytes, limits).excess;
}

const sound: JsonScan = { excess: undefined, hasSuspects: false };
const suspect: JsonScan = { excess: undefined, hasSuspects: true };
const excessive = (excess: string): JsonScan => ({ excess, hasSuspects: false });

/** As `findJsonExcess`, numbers included. */
export function scanJson(bytes: Uint8Array, limits: JsonLimits = bodyLimits): JsonScan {
  let hasSuspects = false;
  const keys = new Uint32Array(limits.depth + 1);
  let depth = 0;
  let values = 1;
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
        // the value counted at its opening is not there; in ASCII each opener is two before its closer
        if (closesNothing(bytes, index, (bytes[index] ?? 0) - 2)) values--;
        break;
      case 0x3a: // :
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
  return hasSuspects ? suspect : sound;
}

function excessOfValues(limits: JsonLimits): string {
  return `more than ${limits.values} values`;
}

/** Whether a value is a JSON object: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value when it is a string, else undefined. */
export function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value when it is a string that is not empty, else undefined. */
export function nonEmptyString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The value when it is a finite number, else undefined. */
export function finiteNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The objects of a list; none where it is no list. */
export function objectsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Levels a text is parsed to: what is written into bodies may be nested deeper than the bodies themselves. */
const maxTextDepth = 256;
/** Shorter texts are not looked at: what they nest overflows no stack. */
const shallowLength = 2048;
const openers = /[[{]/;

/**
 * Whether a JSON text is nested so deep that its value is a burden: engines take seconds to write one, and whoever walks it
 * overflows the stack. Malformed texts may be called so or not.
 */
export function isTooDeep(text: string): boolean {
  if (text.length < shallowLength || !openers.test(text)) return false;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === quote) index = endOfText(text, index + 1);
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > maxTextDepth) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}

/** As `endOfString`, for a text. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (end - 1 - escapes >= start && text.charCodeAt(end - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** The value of a JSON text, or undefined when it is none, or nested too deep to be of use. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Texts and the signs that tell names from values. */
const jsonSigns = /"(?:[^"\\]|\\.)*"|[{}[\]:]/g;

/**
 * Whether an object of a JSON text, at any depth, names a member twice. Parsers keep the last one, others the first:
 * two readers of such a text may see different things.
 *
 * @param text A text that parses.
 * @param fold What of a name tells it from others; default: all of it.
 */
export function hasRepeatedName(text: string, fold: (name: string) => string = (name) => name): boolean {
  const open: Set<string>[] = [];
  let last = "";
  for (const [sign] of text.matchAll(jsonSigns)) {
    if (sign === "{" || sign === "[") open.push(new Set());
    else if (sign === "}" || sign === "]") open.pop();
    else if (sign === ":") {
      const name = fold(String(parseJson(last))); // escapes undone
      const names = open.at(-1);
      if (names?.has(name)) return true;
      names?.add(name);
    }
    last = sign;
  }
  return false;
}
