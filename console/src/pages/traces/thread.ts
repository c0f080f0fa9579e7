import { isJsonObject } from "../../lib/json.ts";
import type { Conversation, Part, Turn } from "../logs/conversation/types.ts";

// The conversations of a trace as one thread: a request repeats the messages before it, and these are shown once.

/** What a request added to the thread. */
export interface Segment<T> {
  readonly row: T;
  /** Messages that were shown before. */
  readonly repeated: number;
  readonly turns: readonly Turn[];
  readonly answers: readonly Turn[];
}

/** JSON in one form, however it was written. */
function normalJson(value: string): string {
  try {
    const parsed: unknown = JSON.parse(value);
    return isJsonObject(parsed) ? JSON.stringify(parsed) : value;
  } catch {
    return value;
  }
}

/** What makes a part the same when it is sent back; reasoning is often left out. */
function keyOfPart(part: Part): readonly string[] {
  if (part.kind === "reasoning") return [];
  if (part.kind === "text") return part.text.trim() === "" ? [] : [part.text.trim()];
  if (part.kind === "call") return [JSON.stringify(["call", part.name, normalJson(part.input)])];
  return [JSON.stringify(part)];
}

const keyOf = ({ role, parts }: Turn): string => JSON.stringify([role, ...parts.flatMap(keyOfPart)]);

function sharedLength(one: readonly string[], other: readonly string[]): number {
  const end = Math.min(one.length, other.length);
  for (let index = 0; index < end; index++) if (one[index] !== other[index]) return index;
  return end;
}

/** One thread of the conversations of rows, in the order of the rows. */
export function toThread<T>(
  rows: readonly { readonly row: T; readonly conversation: Conversation }[],
): readonly Segment<T>[] {
  /** Messages after each request, answers included. */
  const ends: (readonly string[])[] = [];
  return rows.map(({ row, conversation: { turns, answers } }) => {
    const keys = turns.map(keyOf);
    const repeated = ends.reduce((most, end) => Math.max(most, sharedLength(end, keys)), 0);
    ends.push([...keys, ...answers.map(keyOf)]);
    return { row, repeated, turns: turns.slice(repeated), answers };
  });
}
