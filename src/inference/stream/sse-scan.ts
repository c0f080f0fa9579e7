/** What was found in events. */
interface EventScan {
  /** Index of the first `[DONE]`, usage object, error or null in place of arguments; -1 when nothing was found. */
  at: number;
  /** Whether a finish reason stands before it. */
  finishes: boolean;
}

const decoder = new TextDecoder("latin1");

/** One character for each byte: the engine searches in strings much faster than a loop over bytes. */
export const toByteText = (bytes: Uint8Array): string => decoder.decode(bytes);

const done = "[DONE]";
// each on its own: the engine searches for the letters that all matches of an expression share
const usage = /"usage"[ \t\n\r]*:[ \t\n\r]*\{/;
const error = /"error"[ \t\n\r]*:[ \t\n\r]*[{"]/;
// some hosts write no arguments as null, which clients add to a string
const nullArguments = /"arguments"[ \t\n\r]*:[ \t\n\r]*null/;
const finish = /"finish_reason"[ \t\n\r]*:[ \t\n\r]*"/;

/** Position of the quote after the name of the first field that fits; -1 without one. */
function findField(text: string, form: RegExp): number {
  const start = text.search(form);
  return start < 0 ? -1 : text.indexOf('"', start + 1);
}

/** The smaller of two positions; -1 stands for none. */
const nearer = (one: number, other: number): number => (one < 0 ? other : other < 0 ? one : Math.min(one, other));

/** Whether a text has a null in place of arguments. */
export const hasNullArguments = (text: string): boolean => nullArguments.test(text);

/** Finds the events of a stream that have to be parsed in a string of `toByteText`. Other data may match too. */
export function scanEvents(text: string): EventScan {
  const start = text.indexOf(done);
  const doneAt = start < 0 ? -1 : start + done.length - 1;
  const reported = nearer(findField(text, usage), findField(text, error));
  const at = nearer(nearer(doneAt, reported), findField(text, nullArguments));
  const finishAt = findField(text, finish);
  return { at, finishes: finishAt >= 0 && (at < 0 || finishAt < at) };
}
