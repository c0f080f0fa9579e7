import { isObject, parseJson } from "../lib/json.ts";
import { type Steps, stepsPerPiece } from "../lib/steps.ts";
import { readFences } from "./fences.ts";

/** JSON objects and lists found in a text. */
export interface JsonPieces {
  readonly pieces: readonly (Record<string, unknown> | readonly unknown[])[];
  /** The text may hold more of them. */
  readonly isCut: boolean;
}

/** Most pieces of one text, and most braces at which one may begin. */
const maxPieces = 20;
const maxStarts = 50;

const open = 0x7b;
const close = 0x7d;
const quote = 0x22;
const backslash = 0x5c;

/** Index after the brace that closes the group at `start`; undefined where none does. */
function* endOfGroup(text: string, start: number): Steps<number | undefined> {
  let depth = 0;
  let isInText = false;
  let paused = start;
  for (let index = start; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (isInText) {
      if (code === backslash) index++;
      else if (code === quote) isInText = false;
    } else if (code === quote) isInText = true;
    else if (code === open) depth++;
    else if (code === close && --depth === 0) return index + 1;
    if (index - paused > 8 * stepsPerPiece) {
      yield stepsPerPiece;
      paused = index;
    }
  }
  return undefined;
}

/** Parses a JSON text; the steps it counts are its length. */
function* parse(text: string): Steps<unknown> {
  const value = parseJson(text);
  yield text.length >> 2;
  return value;
}

/** The objects of a text that is not JSON as a whole: balanced braces that parse. */
function* readGroups(text: string): Steps<JsonPieces> {
  const pieces: Record<string, unknown>[] = [];
  let starts = 0;
  for (let start = text.indexOf("{"); start !== -1; starts++) {
    if (starts === maxStarts || pieces.length === maxPieces) return { pieces, isCut: true };
    const end = yield* endOfGroup(text, start);
    const value = end === undefined ? undefined : yield* parse(text.slice(start, end));
    if (isObject(value)) pieces.push(value);
    start = text.indexOf("{", isObject(value) ? end : start + 1);
  }
  return { pieces, isCut: false };
}

/** Skips text that cannot be JSON: a failing parse takes time, too. */
function* readPiece(text: string): Steps<JsonPieces["pieces"][number] | undefined> {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed) || !/[\]}]$/.test(trimmed.slice(-1))) return undefined;
  const value = yield* parse(text);
  return isObject(value) || Array.isArray(value) ? value : undefined;
}

/**
 * The JSON objects and lists of a text: the whole text, else its fenced blocks, else what stands in braces.
 * A list counts only where nothing else surrounds it.
 */
export function* readJsonPieces(text: string): Steps<JsonPieces> {
  const whole = yield* readPiece(text);
  if (whole !== undefined) return { pieces: [whole], isCut: false };
  const pieces: JsonPieces["pieces"][number][] = [];
  let fences = 0;
  for (const { content } of readFences(text)) {
    if (fences++ % 100 === 99) yield stepsPerPiece;
    const piece = yield* readPiece(content);
    if (piece === undefined) continue;
    if (pieces.length === maxPieces) return { pieces, isCut: true };
    pieces.push(piece);
  }
  return pieces.length > 0 ? { pieces, isCut: false } : yield* readGroups(text);
}
