import { giveWay } from "./pace.ts";

/** Most characters that are counted. Longer text is estimated from its bytes. */
const maxCounted = 64 * 1024;
/** Bytes of a token, roughly. */
export const bytesOfToken = 4;
/** The time of a word grows with the square of its length, so long ones are cut. */
const maxPiece = 128;
/** Pieces between two turns of the event loop: a few milliseconds of the slowest text. */
const piecesOfTurn = 16;

const encoder = new TextEncoder();

type Count = (text: string) => number;

/** Counts the tokens of strings. Rejects where it cannot. */
export type TokenCounter = (strings: readonly string[]) => Promise<number>;

let loading: Promise<Count> | undefined;

/**
 * The tokenizer. Its vocabulary takes some 60 MB, so it is loaded on first use, which holds the event loop for 200 to 500
 * milliseconds.
 */
function loadTokenizer(): Promise<Count> {
  loading ??= import("gpt-tokenizer/encoding/o200k_base").then(({ countTokens, setMergeCacheSize }) => {
    // it would hold words of callers
    setMergeCacheSize(0);
    const options = { disallowedSpecial: new Set<string>() };
    return (text) => countTokens(text, options);
  });
  return loading;
}

/** Cuts a text, before spaces where there are some. */
function cutText(text: string): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    const piece = text.slice(start, start + maxPiece);
    const space = start + piece.length < text.length ? piece.lastIndexOf(" ") : -1;
    pieces.push(space > 0 ? piece.slice(0, space) : piece);
    start += space > 0 ? space : piece.length;
  }
  return pieces;
}

/** Characters that are encoded at a time: a long string need not be in memory twice. */
const maxEncoded = 64 * 1024;

function estimateByBytes(strings: readonly string[]): number {
  let bytes = 0;
  for (const text of strings) {
    for (let start = 0; start < text.length; start += maxEncoded) {
      bytes += encoder.encode(text.slice(start, start + maxEncoded)).length;
    }
  }
  return Math.ceil(bytes / bytesOfToken);
}

/**
 * Tokens of strings. Strings that together have more than 65,536 characters, and those the counter cannot count or has no
 * time for, count one token for four bytes.
 */
export async function estimateTokens(strings: readonly string[], count: TokenCounter): Promise<number> {
  let length = 0;
  for (const text of strings) length += text.length;
  if (length > maxCounted) return estimateByBytes(strings);
  if (length === 0) return 0;
  // an estimate is better than a request that never ends
  return count(strings).catch(() => estimateByBytes(strings));
}

/**
 * Most characters that wait to be counted. Text of the slowest kind takes up to a millisecond for a thousand characters, and
 * requests that wait keep their bodies.
 */
const maxWaiting = 256 * 1024;

/** A counter that rejects what comes while many characters wait: `estimateTokens` then estimates from bytes. */
export function withBoundedWaiting(count: TokenCounter, most: number = maxWaiting): TokenCounter {
  let waiting = 0;
  return async (strings) => {
    let length = 0;
    for (const text of strings) length += text.length;
    if (waiting > 0 && waiting + length > most) throw new Error("Cannot count tokens now: too much text waits");
    waiting += length;
    try {
      return await count(strings);
    } finally {
      waiting -= length;
    }
  };
}

/**
 * Counts in the vocabulary of OpenAI's current models (`o200k_base`), with turns of the event loop in between. The first
 * call loads the vocabulary: where there are threads, a thread should call this.
 */
export async function countTokens(strings: readonly string[]): Promise<number> {
  const count = await loadTokenizer();
  let tokens = 0;
  let pieces = 0;
  for (const piece of strings.flatMap(cutText)) {
    tokens += count(piece);
    if (++pieces % piecesOfTurn === 0) await giveWay();
  }
  return tokens;
}
