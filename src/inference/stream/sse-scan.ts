import { endsWith, seek } from "../../lib/text-search.ts";

/** What was found in the bytes of events. */
interface EventScan {
  /** Position of the first `[DONE]`, usage object or error; -1 when nothing was found. */
  at: number;
  /** Whether a finish reason stands before it. */
  finishes: boolean;
}

const encode = (text: string) => new TextEncoder().encode(text);

const done = encode("[DONE]");
const usage = encode('"usage"');
const error = encode('"error"');
const finish = encode('"finish_reason"');

const { windowLength, shifts } = seek([done, usage, error, finish]);

const quote = 0x22;
const colon = 0x3a;
const brace = 0x7b;
const bracket = 0x5d;

function skipBlanks(bytes: Uint8Array, from: number): number {
  let index = from;
  while (bytes[index] === 0x20 || bytes[index] === 0x09 || bytes[index] === 0x0a || bytes[index] === 0x0d) index++;
  return index;
}

/** First byte of the value of the field whose name ends at `end`; undefined when it is not a field. */
function firstOfValue(bytes: Uint8Array, end: number): number | undefined {
  const index = skipBlanks(bytes, end);
  return bytes[index] === colon ? bytes[skipBlanks(bytes, index + 1)] : undefined;
}

/** Finds the events of a stream that have to be parsed. Other data may match too. */
export function scanEvents(bytes: Uint8Array): EventScan {
  let finishes = false;
  for (let index = windowLength - 1; index < bytes.length; index += shifts[bytes[index] ?? 0] ?? 1) {
    const byte = bytes[index];
    if (byte === bracket) {
      if (endsWith(bytes, index + 1, done)) return { at: index, finishes };
    } else if (byte === quote) {
      const before = bytes[index - 1];
      if (before === 0x65 && endsWith(bytes, index + 1, usage)) {
        if (firstOfValue(bytes, index + 1) === brace) return { at: index, finishes };
      } else if (before === 0x72 && endsWith(bytes, index + 1, error)) {
        const first = firstOfValue(bytes, index + 1);
        if (first === brace || first === quote) return { at: index, finishes };
      } else if (before === 0x6e && !finishes && endsWith(bytes, index + 1, finish)) {
        finishes = firstOfValue(bytes, index + 1) === quote;
      }
    }
  }
  return { at: -1, finishes };
}
