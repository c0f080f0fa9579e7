import { isObject, parseJson } from "../lib/json.ts";
import { readFences } from "./fences.ts";

/** JSON objects and lists found in a text. */
export interface JsonPieces {
  readonly pieces: readonly (Record<string, unknown> | readonly unknown[])[];
  /** There may be more of them. */
  readonly isCut: boolean;
}

/** Most pieces of one text, and most braces at which one may begin. */
const maxPieces = 20;
const maxStarts = 50;

/** Index behind the brace that closes the group at `start`; undefined where none does. */
function endOfGroup(text: string, start: number): number | undefined {
  let depth = 0;
  let isInText = false;
  for (let index = start; index < text.length; index++) {
    const letter = text[index];
    if (isInText) {
      if (letter === "\\") index++;
      else if (letter === '"') isInText = false;
    } else if (letter === '"') isInText = true;
    else if (letter === "{") depth++;
    else if (letter === "}" && --depth === 0) return index + 1;
  }
  return undefined;
}

/** The objects of a text that is not all JSON: what stands in balanced braces and parses. */
function readGroups(text: string): JsonPieces {
  const pieces: Record<string, unknown>[] = [];
  let starts = 0;
  for (let start = text.indexOf("{"); start !== -1; starts++) {
    if (starts === maxStarts || pieces.length === maxPieces) return { pieces, isCut: true };
    const end = endOfGroup(text, start);
    const value = end === undefined ? undefined : parseJson(text.slice(start, end));
    if (isObject(value)) pieces.push(value);
    start = text.indexOf("{", isObject(value) ? end : start + 1);
  }
  return { pieces, isCut: false };
}

/**
 * The JSON objects and lists of a text: it is one, or else its fenced blocks hold some, or else they stand in it in braces.
 * A list counts only where nothing stands beside it.
 */
export function readJsonPieces(text: string): JsonPieces {
  const toPiece = (part: string) => {
    const value = parseJson(part);
    return isObject(value) || Array.isArray(value) ? [value] : [];
  };
  const whole = toPiece(text);
  if (whole.length > 0) return { pieces: whole, isCut: false };
  const fenced = readFences(text).flatMap(({ content }) => toPiece(content));
  if (fenced.length > 0) return { pieces: fenced.slice(0, maxPieces), isCut: fenced.length > maxPieces };
  return readGroups(text);
}
