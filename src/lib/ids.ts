import { randomBytes } from "./hash.ts";

/**
 * Generates ids that sort by time (ULID, https://github.com/ulid/spec), strictly increasing while the clock does not go back by
 * more than a second.
 */
export type IdFactory = () => string;

const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Two characters for each ten bits. */
const pairs: readonly string[] = Array.from(
  { length: 1024 },
  (_, bits) => letters.charAt(bits >> 5) + letters.charAt(bits & 31),
);

/** Milliseconds as the first ten characters of an id. */
function timeLetters(time: number): string {
  let text = "";
  let rest = time;
  for (let pair = 0; pair < 5; pair++) {
    text = pairs[rest % 1024] + text;
    rest = Math.floor(rest / 1024);
  }
  return text;
}

/** The last four characters of an id count up within a millisecond. */
const countBits = 20;

/** Random bits, ten at a time, from a pool: a platform call for each would be slow. */
function createBitSource(): () => number {
  let pool = new Uint16Array(0);
  let position = 0;
  return () => {
    if (position === pool.length) {
      pool = new Uint16Array(randomBytes(4096).buffer);
      position = 0;
    }
    return (pool[position++] ?? 0) & 1023;
  };
}

/** A clock that goes back by less is waited for, so that ids stay in order. One that was corrected by more is followed. */
const waitedForMs = 1_000;

/** Creates an id factory that uses a clock. Ids increase unless the clock is put back. */
export function createIdFactory(now: () => number): IdFactory {
  const nextBits = createBitSource();
  let time = -1;
  /** The id without its counter. */
  let head = "";
  let count = 0;
  const begin = (at: number) => {
    time = at;
    head = timeLetters(at);
    for (let pair = 0; pair < 6; pair++) head += pairs[nextBits()];
    // the first bit starts at 0, which leaves room for counting
    count = ((nextBits() << 10) | nextBits()) >> 1;
  };
  return () => {
    const at = now();
    if (at > time || at < time - waitedForMs) begin(at);
    else if (++count === 1 << countBits) begin(time + 1);
    return head + pairs[count >> 10] + pairs[count & 1023];
  };
}

/** An id with another time, in Unix milliseconds: as unique as it was. */
export function withTime(id: string, time: number): string {
  return timeLetters(time) + id.slice(10);
}

/** Bytes of a packed id. */
export const packedIdBytes = 16;

/** Value of each letter by its character code. */
const letterValues = new Uint8Array(128);
for (let value = 0; value < letters.length; value++) letterValues[letters.charCodeAt(value)] = value;

/** Four letters of an id as 20 bits. */
function bitsAt(id: string, position: number): number {
  let bits = 0;
  for (let index = position; index < position + 4; index++)
    bits = (bits << 5) | (letterValues[id.charCodeAt(index)] ?? 0);
  return bits;
}

/** Writes a ULID as 16 bytes, which have the same order as the ids. */
export function packId(id: string, bytes: Uint8Array, start: number): void {
  bytes[start] = ((letterValues[id.charCodeAt(0)] ?? 0) << 5) | (letterValues[id.charCodeAt(1)] ?? 0);
  for (let group = 0; group < 3; group++) {
    const [high, low] = [bitsAt(id, 2 + group * 8), bitsAt(id, 6 + group * 8)];
    const at = start + 1 + group * 5;
    bytes[at] = high >> 12;
    bytes[at + 1] = high >> 4;
    bytes[at + 2] = (high << 4) | (low >> 16);
    bytes[at + 3] = low >> 8;
    bytes[at + 4] = low;
  }
}

/** The ULID that `packId` wrote. */
export function unpackId(bytes: Uint8Array, start: number): string {
  const byteAt = (index: number): number => bytes[start + index] ?? 0;
  let id = pairs[byteAt(0)] ?? "";
  for (let at = 1; at < packedIdBytes; at += 5) {
    const high = (byteAt(at) << 12) | (byteAt(at + 1) << 4) | (byteAt(at + 2) >> 4);
    const low = ((byteAt(at + 2) & 15) << 16) | (byteAt(at + 3) << 8) | byteAt(at + 4);
    for (const bits of [high, low]) id += (pairs[bits >> 10] ?? "") + (pairs[bits & 1023] ?? "");
  }
  return id;
}

/** Unix milliseconds of a ULID. */
export function timeOfId(id: string): number {
  let time = 0;
  for (let index = 0; index < 10; index++) time = time * 32 + (letterValues[id.charCodeAt(index)] ?? 0);
  return time;
}

/** The latest time that a ULID has. */
const latestTime = 2 ** 48 - 1;

/** The smallest ULID of a millisecond, as the lower bound of a time range. */
export function firstIdOf(time: number): string {
  return timeLetters(Math.min(Math.max(0, time), latestTime)) + "0".repeat(16);
}

const ulidForm = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Whether a string is a ULID. */
export function isId(text: string): boolean {
  return ulidForm.test(text);
}
