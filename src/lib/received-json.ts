import { joinBytes } from "./bytes.ts";
import { endOfString } from "./json.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Unchanged members of less bytes together are written again with the others. */
const fewBytes = 4_096;

/** Whether a member may have many bytes: a list, an object or a long string. */
const isLong = (value: unknown): boolean =>
  typeof value === "string" ? value.length >= fewBytes / 8 : typeof value === "object" && value !== null;

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;

/** Where the value of a member is. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** The members of the object that the bytes hold, by name. */
function readSpans(bytes: Uint8Array): ReadonlyMap<string, Span> {
  const spans = new Map<string, Span>();
  let depth = 0;
  let name = "";
  let isNamed = false;
  let start = 0;
  const end = (index: number) => {
    if (isNamed) spans.set(name, { start, end: index });
    isNamed = false;
  };
  for (let index = 0; index < bytes.length; index++) {
    switch (bytes[index]) {
      case quote: {
        const closing = endOfString(bytes, index + 1);
        if (depth === 1 && !isNamed) name = JSON.parse(decoder.decode(bytes.subarray(index, closing + 1)));
        index = closing;
        break;
      }
      case 0x7b: // {
      case 0x5b: // [
        depth++;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        if (depth-- === 1) end(index);
        break;
      case colon:
        if (depth === 1) [isNamed, start] = [true, index + 1];
        break;
      case comma:
        if (depth === 1) end(index);
        break;
    }
  }
  return spans;
}

/** Names of the members of all objects in a value that was parsed from JSON. */
function countNames(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countNames(item);
    return count;
  }
  for (const name in value) count += 1 + countNames((value as Record<string, unknown>)[name]); // an object of JSON
  return count;
}

/** A JSON object that came as bytes, which are sent again where the object did not change. */
export class ReceivedJson {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #bytes: Uint8Array;
  readonly #names: number;
  #isPlain: boolean | undefined;
  #spans: ReadonlyMap<string, Span> | undefined;

  /** @param names Names of members in the bytes, at any depth. */
  constructor(value: Readonly<Record<string, unknown>>, bytes: Uint8Array, names: number) {
    this.#value = value;
    this.#bytes = bytes;
    this.#names = names;
  }

  /** The JSON of an object, with the bytes that came for members that are the same; undefined where they are few. */
  write(made: object): Uint8Array | undefined {
    const members = made as Readonly<Record<string, unknown>>; // read by name
    const isSame = (name: string) => Object.hasOwn(this.#value, name) && members[name] === this.#value[name];
    const names = Object.keys(members);
    // who reads a name that stands there twice may take either value, and only one was looked at
    this.#isPlain ??= this.#names === countNames(this.#value);
    if (!this.#isPlain) return undefined;
    if (names.length === Object.keys(this.#value).length && names.every(isSame)) return this.#bytes;
    const unchanged = names.filter(isSame);
    // most conversions change the messages and tools, and leave a few numbers
    if (!unchanged.some((name) => isLong(members[name]))) return undefined;
    this.#spans ??= readSpans(this.#bytes);
    const spans = this.#spans;
    const isSpan = (span: Span | undefined): span is Span => span !== undefined;
    const same = unchanged.map((name) => spans.get(name));
    const bytes = same.filter(isSpan).reduce((sum, { start, end }) => sum + end - start, 0);
    if (bytes < fewBytes) return undefined;
    const changed = names.filter((name) => !isSame(name));
    return this.#splice(members, changed, spans);
  }

  #splice(
    members: Readonly<Record<string, unknown>>,
    changed: readonly string[],
    spans: ReadonlyMap<string, Span>,
  ): Uint8Array {
    const pieces: Uint8Array[] = [];
    let text = "{";
    let isFirst = true;
    for (const name of Object.keys(members)) {
      const span = changed.includes(name) ? undefined : spans.get(name);
      const written = span ? "" : JSON.stringify(members[name]);
      // as in an object that is written whole, what JSON cannot express is left out
      if (written === undefined) continue;
      text += `${isFirst ? "" : ","}${JSON.stringify(name)}:${written}`;
      isFirst = false;
      if (!span) continue;
      pieces.push(encoder.encode(text), this.#bytes.subarray(span.start, span.end));
      text = "";
    }
    pieces.push(encoder.encode(`${text}}`));
    return joinBytes(pieces);
  }
}
