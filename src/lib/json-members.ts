const decoder = new TextDecoder();

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const brace = 0x7b;
const bracket = 0x5b;
const closingBrace = 0x7d;
const closingBracket = 0x5d;

/** Longest value that is read, in bytes. */
const maxValue = 64 * 1024;
/** Longest name that is compared, in bytes. */
const maxName = 64;

/** Bytes that are collected across chunks, up to a bound. */
class Pieces {
  readonly #bound: number;
  #bytes = new Uint8Array(256);
  #length = 0;
  #isCut = false;

  constructor(bound: number) {
    this.#bound = bound;
  }

  add(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    this.#isCut ||= length > this.#bound;
    if (this.#isCut) return;
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
  }

  /** The text, unless it is longer than the bound; then nothing is collected. */
  take(): string | undefined {
    const text = this.#isCut ? undefined : decoder.decode(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    this.#isCut = false;
    return text;
  }
}

/** What else is read of an object. */
interface ObjectParts {
  /** Receivers of the bytes of values that may be long, by the name of their member. */
  readonly long?: Readonly<Record<string, (bytes: Uint8Array) => void>>;
  /** Called at the end of the object, or of each object in a list. */
  ended?(): void;
}

/**
 * Reads some members of a JSON object that comes in chunks, without holding it: those of the object itself, or of each
 * object in a list. Time is linear and memory bounded. Of a text that is not JSON, anything may be read.
 */
export class JsonMembers {
  readonly #names: ReadonlySet<string>;
  readonly #read: (name: string, text: string) => void;
  #depth = 0;
  /** Depth of the members: 2 in a list. */
  #level = 1;
  #hasBegun = false;
  #inString = false;
  /** Whether the last byte of the chunk before was an escaping backslash. */
  #isEscaped = false;
  /** The string that is read is the name of a member. */
  #isName = false;
  #mayBeName = false;
  readonly #name = new Pieces(maxName);
  readonly #value = new Pieces(maxValue);
  /** The member whose value is read. */
  #member: string | undefined;
  #named: string | undefined;

  readonly #parts: ObjectParts;

  /** @param read Called with each member of these names and the text of its value, unless that is too long. */
  constructor(names: Iterable<string>, read: (name: string, text: string) => void, parts: ObjectParts = {}) {
    this.#parts = parts;
    this.#names = new Set([...names, ...Object.keys(parts.long ?? {})]);
    this.#read = read;
  }

  /** Reads the next bytes. */
  push(chunk: Uint8Array): void {
    let valueFrom = 0;
    let index = 0;
    while (index < chunk.length) {
      if (this.#inString) {
        index = this.#skipString(chunk, index);
        continue;
      }
      const byte = chunk[index++] ?? 0;
      if (byte === quote) this.#beginString();
      else if (byte === colon) {
        if (this.#beginValue()) valueFrom = index;
      } else if (byte === brace || byte === bracket) this.#open(byte);
      else if (byte === comma || byte === closingBrace || byte === closingBracket) {
        if (this.#depth === this.#level && this.#member !== undefined) {
          this.#addValue(this.#member, chunk.subarray(valueFrom, index - 1));
          this.#endValue(this.#member);
        }
        if (byte === closingBrace && this.#depth === this.#level) this.#parts.ended?.();
        if (byte !== comma) this.#depth--;
        this.#mayBeName = byte === comma && this.#depth === this.#level;
      }
    }
    if (this.#member !== undefined) this.#addValue(this.#member, chunk.subarray(valueFrom));
  }

  #addValue(name: string, bytes: Uint8Array): void {
    const long = this.#parts.long?.[name];
    if (long) long(bytes);
    else this.#value.add(bytes);
  }

  #open(byte: number): void {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      if (byte === bracket) this.#level = 2;
    }
    this.#depth++;
    this.#mayBeName = this.#depth === this.#level && byte !== bracket;
  }

  #beginString(): void {
    this.#inString = true;
    this.#isName = this.#mayBeName;
    this.#mayBeName = false;
  }

  /** Index after the string, or the end of the chunk. */
  #skipString(chunk: Uint8Array, from: number): number {
    let end = this.#endOfString(chunk, from);
    const isOver = end >= 0;
    if (!isOver) end = chunk.length;
    if (this.#isName) this.#name.add(chunk.subarray(from, end));
    if (!isOver) return end;
    this.#inString = false;
    if (this.#isName) this.#named = this.#name.take();
    this.#isName = false;
    return end + 1;
  }

  /** Index of the quote that ends the string; -1 if it is not in the chunk. */
  #endOfString(chunk: Uint8Array, from: number): number {
    for (let start = from; ; ) {
      const end = chunk.indexOf(quote, start);
      const last = end < 0 ? chunk.length : end;
      let escapes = 0;
      while (last - 1 - escapes >= start && chunk[last - 1 - escapes] === backslash) escapes++;
      // the run of backslashes may begin in the chunk before
      const isWhole = last - escapes === from && this.#isEscaped;
      const isEscaped = (escapes % 2 === 1) !== isWhole;
      if (end < 0) {
        this.#isEscaped = isEscaped;
        return -1;
      }
      if (!isEscaped) {
        this.#isEscaped = false;
        return end;
      }
      start = end + 1;
      this.#isEscaped = false;
    }
  }

  /** @returns Whether a value begins that is read. */
  #beginValue(): boolean {
    const name = this.#named;
    this.#named = undefined;
    if (this.#depth !== this.#level || name === undefined || !this.#names.has(name)) return false;
    this.#member = name;
    return true;
  }

  #endValue(name: string): void {
    this.#member = undefined;
    if (this.#parts.long?.[name]) return;
    const text = this.#value.take();
    if (text !== undefined) this.#read(name, text);
  }
}
