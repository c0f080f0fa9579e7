import { decodeTime, encodeTime } from "ulid";
import { randomBytes } from "./hash.ts";

/** Generates ids that sort by time (ULID), strictly increasing within a millisecond. */
export type IdFactory = () => string;

const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Two characters for each ten bits. */
const pairs: readonly string[] = Array.from(
  { length: 1024 },
  (_, bits) => letters.charAt(bits >> 5) + letters.charAt(bits & 31),
);
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

/** Creates an id factory that uses a clock. */
export function createIdFactory(now: () => number): IdFactory {
  const nextBits = createBitSource();
  let time = -1;
  /** The id without its counter. */
  let head = "";
  let count = 0;
  const begin = (at: number) => {
    time = at;
    head = encodeTime(at, 10);
    for (let pair = 0; pair < 6; pair++) head += pairs[nextBits()];
    // the first bit starts at 0, which leaves room for counting
    count = ((nextBits() << 10) | nextBits()) >> 1;
  };
  return () => {
    const at = now();
    if (at > time) begin(at);
    else if (++count === 1 << countBits) begin(time + 1);
    return head + pairs[count >> 10] + pairs[count & 1023];
  };
}

/** Unix milliseconds of a ULID. */
export function timeOfId(id: string): number {
  return decodeTime(id);
}

/** The smallest ULID of a millisecond, as the lower bound of a time range. */
export function firstIdOf(time: number): string {
  return encodeTime(Math.max(0, time), 10) + "0".repeat(16);
}

const ulidForm = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Whether a string is a ULID. */
export function isId(text: string): boolean {
  return ulidForm.test(text);
}
