import type { Budget } from "../../lib/budget.ts";
import type { Steps } from "../../lib/steps.ts";
import { UnreadableFile } from "./read-text.ts";

/** How a text is divided, in tokens. */
interface ChunkRules {
  readonly tokens: number;
  /** Tokens that a chunk shares with the one before; at most half of it. */
  readonly overlap: number;
}

/** A chunk of a text, in UTF-16 code units. */
export interface Chunk {
  readonly start: number;
  readonly end: number;
}

/** Part of a chunk that is never cut off to end at a better place. */
const leastShare = 0.75;
/** Where chunks end, best first. */
const ends = ["\n\n", "\n", ". ", " "];

/** Quarters of a token that a code unit is, roughly: four ASCII characters, two others of an alphabet, or one of Chinese. */
function weightOf(code: number): number {
  if (code < 0x80) return 1;
  return code >= 0x2e80 && code < 0xd800 ? 4 : 2;
}

/** Where so many tokens end. */
function forward(text: string, start: number, tokens: number): number {
  let left = tokens * 4;
  let place = start;
  while (place < text.length && left > 0) left -= weightOf(text.charCodeAt(place++));
  return place;
}

/** Where so many tokens before a place begin. */
function backward(text: string, end: number, tokens: number): number {
  let left = tokens * 4;
  let place = end;
  while (place > 0 && left > 0) left -= weightOf(text.charCodeAt(--place));
  return place;
}

/** A place that divides no pair of surrogates. */
function betweenPairs(text: string, place: number): number {
  const code = text.charCodeAt(place);
  return code >= 0xdc00 && code <= 0xdfff ? place + 1 : place;
}

/** The best end of a chunk that may be as long as this. */
function endOf(text: string, start: number, most: number): number {
  if (most >= text.length) return text.length;
  const least = start + Math.floor((most - start) * leastShare);
  const window = text.slice(least, most);
  for (const end of ends) {
    const found = window.lastIndexOf(end);
    if (found >= 0) return least + found + end.length;
  }
  return betweenPairs(text, most);
}

/** Where the chunk behind one begins: a word is not divided where a space is near. */
function nextStart(text: string, { start, end }: Chunk, overlap: number): number {
  if (overlap === 0) return end;
  const place = backward(text, end, overlap);
  const space = text.slice(place, Math.min(place + 40, end)).search(/\s/);
  return betweenPairs(text, Math.max(space < 0 ? place : place + space + 1, start + 1));
}

/**
 * Divides a text into chunks that share some text. The same text is always divided in the same way.
 *
 * @param most Chunks that there is room for.
 * @throws {UnreadableFile} If it has more.
 */
export function* findChunks(
  text: string,
  { tokens, overlap }: ChunkRules,
  { budget, most }: { budget: Budget; most: number },
): Steps<Chunk[]> {
  const chunks: Chunk[] = [];
  for (let start = 0; start < text.length; ) {
    const chunk = { start, end: endOf(text, start, forward(text, start, tokens)) };
    if (/\S/.test(text.slice(chunk.start, chunk.end))) chunks.push(chunk);
    if (chunks.length > most) {
      throw new UnreadableFile(
        "invalid_file",
        `Cannot add the file: the vector store has room for ${most} more chunks`,
      );
    }
    budget.step((chunk.end - start) * 2);
    if (budget.isDue) yield budget.endPiece();
    if (chunk.end >= text.length) break;
    start = nextStart(text, chunk, overlap);
  }
  return chunks;
}

/** The text of a chunk. */
export function textOf(text: string, { start, end }: Chunk): string {
  return text.slice(start, end).trim().toWellFormed();
}
