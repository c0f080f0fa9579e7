import { membersOf } from "../../../lib/json.ts";
import { type Steps, stepsPerPiece } from "../../../lib/steps.ts";
import { fold } from "./words.ts";

// Which words stand in a value is a number: bit n is set for the word with the index n.

/** All of some words. */
export const allOf = (words: readonly string[]): number => 2 ** words.length - 1;

/** Characters that are searched without a break. */
const pieceLength = 65_536;
/** Characters that are folded or compared in a step. */
const charactersPerStep = 8;

/** From this length on, a string that is one run of letters of base64 is a file. */
const codedLength = 1_024;
const coded = /^[\w+/=-]{1024}/;

/** Whether a string is a file or an image, in which words would be found by chance. */
const isFile = (text: string): boolean =>
  text.length >= codedLength && (/^data:[^,]{0,256},/i.test(text.slice(0, 300)) || coded.test(text));

/** The words that stand in a string, besides those that were found already. */
function* findInString(text: string, words: readonly string[], known: number): Steps<number> {
  let found = known;
  const overlap = Math.max(...words.map(({ length }) => length));
  for (let start = 0; start < text.length && found !== allOf(words); start += pieceLength) {
    const piece = fold(text.slice(start, start + pieceLength + overlap));
    for (const [index, word] of words.entries()) if (piece.includes(word)) found |= 1 << index;
    yield Math.ceil((piece.length * (words.length + 1)) / charactersPerStep);
  }
  return found;
}

/** The words that stand in the strings of a JSON value, whichever fields hold them. Names of fields are not searched. */
export function* findInValue(value: unknown, words: readonly string[], known: number): Steps<number> {
  let found = known;
  const waiting: unknown[] = [value];
  let visited = 0;
  while (waiting.length > 0 && found !== allOf(words)) {
    const next = waiting.pop();
    if (++visited % stepsPerPiece === 0) yield stepsPerPiece;
    if (typeof next === "string") {
      if (!isFile(next)) found = yield* findInString(next, words, found);
    } else if (typeof next === "object" && next !== null) {
      // a spread of many members would be too many arguments
      for (const member of membersOf(next)) waiting.push(member);
    }
  }
  return found;
}

/** What JSON may write in another way: escapes of all characters, and the characters that it must or may escape. */
const escaped = /["\\/\p{Cc}]/u;

/**
 * The words that may stand in the strings of a body as it is stored: JSON is only parsed for those that do. A stream may
 * have any word, cut into pieces.
 */
export function* mayStandIn(body: string, words: readonly string[]): Steps<number> {
  const isJson = /^\s*[[{]/.test(body);
  if (!isJson || body.includes("\\u")) return allOf(words);
  const [plain, others] = [0, 1].map((kind) => words.filter((word) => Number(escaped.test(word)) === kind));
  let possible = 0;
  for (const word of others ?? []) possible |= 1 << words.indexOf(word);
  if (!plain?.length) return possible;
  const found = yield* findInString(body, plain, 0);
  for (const [index, word] of plain.entries()) if (found & (1 << index)) possible |= 1 << words.indexOf(word);
  return possible;
}
