import { decodeTime, encodeTime } from "ulid";
import { randomBytes } from "./hash.ts";

/** Makes ids that sort by time (ULID); within a millisecond each is larger than the one before. */
export type IdFactory = () => string;

const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Two letters for each ten bits. */
const pairs: readonly string[] = Array.from(
  { length: 1024 },
  (_, bits) => letters.charAt(bits >> 5) + letters.charAt(bits & 31),
);
/** The last four letters of an id count up within a millisecond. */
const countBits = 20;

/** Ten random bits at a time, from a refilled pool: asking the platform for each is slow. */
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

/** An id factory over a clock. */
export function createIdFactory(now: () => number): IdFactory {
  const nextBits = createBitSource();
  let time = -1;
  /** All of an id but its count. */
  let head = "";
  let count = 0;
  const begin = (at: number) => {
    time = at;
    head = encodeTime(at, 10);
    for (let pair = 0; pair < 6; pair++) head += pairs[nextBits()];
    // the first bit is free, so that there is room to count
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

/** The smallest ULID of a millisecond: the lower bound of a time range. */
export function firstIdOf(time: number): string {
  return encodeTime(Math.max(0, time), 10) + "0".repeat(16);
}

const ulidForm = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Whether a text is a ULID. */
export function isId(text: string): boolean {
  return ulidForm.test(text);
}
