import { decodeTime, encodeTime, monotonicFactory } from "ulid";
import { randomBytes } from "./hash.ts";

/** Makes ids that sort by time (ULID); within a millisecond each is larger than the one before. */
export type IdFactory = () => string;

/** An id factory over a clock. Random letters are drawn from a refilled pool: asking the platform for each is slow. */
export function createIdFactory(now: () => number): IdFactory {
  let pool = randomBytes(4096);
  let position = 0;
  const next = monotonicFactory(() => {
    if (position === pool.length) {
      pool = randomBytes(4096);
      position = 0;
    }
    return (pool[position++] ?? 0) / 256;
  });
  return () => next(now());
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
