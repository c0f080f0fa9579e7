import { memoizeText } from "../lib/bounded-map.ts";
import { kindOfMember, plainName } from "../lib/secret-names.ts";
import { type Steps, stepsPerPiece } from "../lib/steps.ts";

// Works on JSON text, not on its value: stored bodies are not parsed, and may be cut, event streams, or JSON
// inside strings.

/** The last three letters of the names `kindOfMember` knows, as alternatives of a pattern. */
const knownEndings =
  "key|KEY|Key|ret|RET|ord|ORD|swd|pwd|(?<=phr)ase|(?<=ent)ial|(?<=enti)als|(?<=izat)ion|(?<=sert)ion|(?<=IZAT)ION|(?<=[Cc]oo)kie|(?<=COO)KIE|ken|KEN";
/**
 * What separates a name from its value. The quote, or the escape before it, is the fourth character: engines then skip
 * three characters at a time.
 */
const behindName = '[\\\\"](?:[\\\\"]|\\s)*:';

const lettersOfHint = 3;
const backslash = 0x5c;
/** Replaces a secret. */
export const masked = "[masked]";

const longestName = 64;
/** Most names whose kind is cached. */
const rememberedNames = 2_000;

/** Shortest value of a bare `token` field that is not text, such as the tokens that log probabilities list. */
const bareToken = /^(?=\S*[A-Za-z0-9]{4})\S{16,}$/;

/** A digest or mask that already replaces a secret. */
const hiddenAlready = /^(?:hmac:[0-9a-f]{12}|\[masked\]|\*+)$/;

/** A JSON string after its opening quote. */
interface Quoted {
  /** Index of its closing quote, preceding escapes included; the end of the text where it was cut. */
  end: number;
  /** Index of what follows. */
  next: number;
}

/** A text and its line ends: no JSON string crosses one. */
interface Lines {
  text: string;
  /** Call with ascending positions: each line is scanned once. */
  lineEnd(from: number): number;
}

function readLines(text: string): Lines {
  let known = -1;
  return {
    text,
    lineEnd(from) {
      if (from > known) known = text.indexOf("\n", from);
      if (known < 0) known = text.length;
      return known;
    },
  };
}

/** Number of backslashes before a position, not further back than `from`. */
function countBackslashes(text: string, place: number, from: number): number {
  let count = 0;
  while (place - count > from && text.charCodeAt(place - count - 1) === backslash) count++;
  return count;
}

/**
 * Finds the end of a string.
 *
 * @param escapes Backslashes before its opening quote: 0 in JSON, 1 in JSON inside a string, 3 one level deeper.
 */
function readQuoted({ text, lineEnd }: Lines, from: number, escapes: number): Quoted {
  const end = lineEnd(from);
  for (let quote = text.indexOf('"', from); quote >= 0 && quote < end; quote = text.indexOf('"', quote + 1)) {
    const count = countBackslashes(text, quote, from);
    // fewer than its own: the surrounding string ends
    if (count < escapes) return { end: quote - count, next: quote - count };
    const inner = Math.floor((count - escapes) / (escapes + 1));
    if (inner % 2 === 0) return { end: quote - escapes, next: quote + 1 };
  }
  return { end, next: end };
}

function skipSpace(text: string, from: number): number {
  let place = from;
  for (let code = text.charCodeAt(place); code === 32 || (code >= 9 && code <= 13); code = text.charCodeAt(place))
    place++;
  return place;
}

/** Start of the name that ends at a position. The search is bounded, as a text may have few quotes. */
function startOfName(text: string, nameEnd: number): number | undefined {
  const least = Math.max(0, nameEnd - longestName);
  for (let start = nameEnd; start > least; start--) if (text[start - 1] === '"') return start;
  return undefined;
}

/** A name without JSON escapes, which readers of stored bodies would decode. */
function unescaped(name: string): string {
  if (!name.includes("\\u")) return name;
  return name.replace(/\\+u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** The field whose name ends at a position: its name, its quotes and the start of its value. */
function memberAt(text: string, nameEnd: number): { name: string; quote: string; from: number } | undefined {
  let place = nameEnd;
  while (text.charCodeAt(place) === backslash) place++;
  const colon = skipSpace(text, place + 1);
  if (text[place] !== '"' || text[colon] !== ":") return undefined;
  const start = startOfName(text, nameEnd);
  if (start === undefined) return undefined;
  return { name: unescaped(text.slice(start, nameEnd)), quote: text.slice(nameEnd, place + 1), from: colon + 1 };
}

/** End of the number that begins at a position; the position itself without a number. */
function skipNumber(text: string, from: number): number {
  const isDigit = (code: number) => code >= 0x30 && code <= 0x39;
  const start = text.charCodeAt(from) === 0x2d ? from + 1 : from;
  if (!isDigit(text.charCodeAt(start))) return from;
  let place = start;
  while (isDigit(text.charCodeAt(place)) || (place < text.length && ".eE+-".includes(text.charAt(place)))) place++;
  return place;
}

/** Rebuilds a text with some pieces replaced, in order. */
class Replaced {
  readonly #text: string;
  readonly #pieces: string[] = [];
  #done = 0;

  constructor(text: string) {
    this.#text = text;
  }

  replace(start: number, end: number, by: string): void {
    this.#pieces.push(this.#text.slice(this.#done, start), by);
    this.#done = end;
  }

  result(): string {
    if (this.#pieces.length === 0) return this.#text;
    this.#pieces.push(this.#text.slice(this.#done));
    return this.#pieces.join("");
  }
}

/** Position and kind of a secret field's value. */
interface Value {
  from: number;
  quote: string;
  isToken: boolean;
}

/** Masks the string, number or list of strings at a position; returns where it ends. */
function maskValue(lines: Lines, { from, quote, isToken }: Value, replaced: Replaced): number {
  const { text } = lines;
  let place = skipSpace(text, from);
  const isList = text[place] === "[";
  if (isList) place = skipSpace(text, place + 1);
  let next = place;
  while (text.startsWith(quote, place)) {
    const start = place + quote.length;
    const { end, next: behind } = readQuoted(lines, start, quote.length - 1);
    next = behind;
    if (end > start && isSecretValue(text.slice(start, end), isToken)) replaced.replace(start, end, masked);
    place = skipSpace(text, next);
    if (!isList || text[place] !== ",") return next;
    place = skipSpace(text, place + 1);
  }
  const end = isToken || isList ? place : skipNumber(text, place);
  if (end === place) return next;
  replaced.replace(place, end, quote + masked + quote);
  return end;
}

function isSecretValue(shown: string, isToken: boolean): boolean {
  if (hiddenAlready.test(shown)) return false;
  return !isToken || bareToken.test(shown);
}

/** Masks the member whose name may end at a place, if it is a secret. Returns where the search continues. */
function maskMember(
  lines: Lines,
  nameEnd: number,
  { replaced, kindOf }: { replaced: Replaced; kindOf: typeof kindOfMember },
): number {
  const member = memberAt(lines.text, nameEnd);
  if (!member) return nameEnd + 1;
  const { name, from, quote } = member;
  const kind = kindOf(name);
  return kind === "plain" ? from : maskValue(lines, { from, quote, isToken: kind === "token" }, replaced);
}

/** Steps that one member takes, its name and its value aside. */
const stepsPerMember = 40;

/** Masks the values of fields that are named like secrets, in any JSON text. */
interface MemberMask {
  /** False where `mask` would change nothing. */
  mayStandIn(text: string): boolean;
  /** @param sought Its `toAsciiShadow`, which is searched for names. Default: the text. */
  mask(text: string, sought?: string): Steps<string>;
}

/** The spellings of a name in snake_case. */
function spellingsOf(name: string): string[] {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return [name, name.replaceAll("_", "-"), camel];
}

/** The last three letters of names, behind the three before them, as alternatives of a pattern; known ones are left out. */
function endingsOf(names: readonly string[]): string[] {
  const isKnown = new RegExp(`(?:${knownEndings})$`);
  const others = names.flatMap(spellingsOf).filter((name) => /^[\w-]{4,}$/.test(name) && !isKnown.test(name));
  return [...new Set(others.map((name) => `(?<=${name.slice(-6, -lettersOfHint)})${name.slice(-lettersOfHint)}`))];
}

/**
 * Creates a mask of members.
 *
 * @param names Further names in snake_case whose values are secrets, in any spelling.
 */
export function createMemberMask(names: readonly string[] = []): MemberMask {
  const secretNames = new Set(names.map(plainName));
  const hint = `(?:${[knownEndings, ...endingsOf(names)].join("|")})${behindName}`;
  const candidate = new RegExp(hint, "g");
  const anywhere = new RegExp(hint);
  const kindOf: typeof kindOfMember = memoizeText(
    rememberedNames,
    (name) => (secretNames.has(plainName(name)) ? "secret" : kindOfMember(name)),
    longestName,
  );
  return {
    mayStandIn: (text) => anywhere.test(text),
    *mask(text, sought = text) {
      const lines = readLines(text);
      const replaced = new Replaced(text);
      let from = 0;
      let steps = 0;
      for (;;) {
        // the pattern is shared: another call may have used it between two steps
        candidate.lastIndex = from;
        const match = candidate.exec(sought);
        if (!match) return replaced.result();
        const next = maskMember(lines, match.index + lettersOfHint, { replaced, kindOf });
        steps += stepsPerMember + ((next - from) >> 3);
        from = next;
        if (steps < stepsPerPiece) continue;
        yield steps;
        steps = 0;
      }
    },
  };
}
