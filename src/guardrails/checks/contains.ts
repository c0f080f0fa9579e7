import * as v from "valibot";
import type { Steps } from "../../lib/steps.ts";
import { includesWord, indexOfWord } from "../../lib/text-search.ts";
import { WordList } from "../lists.ts";
import { bothPhases, type Check, type CheckWindow, type WindowFinding } from "../types.ts";

const Contains = v.object({
  words: WordList,
  operator: v.optional(v.picklist(["any", "all", "none"]), "any"),
});

/** The words that occur in a text. */
function* findWords(text: string, words: readonly string[]): Steps<Set<string>> {
  const found = new Set<string>();
  for (const word of words) {
    if (yield* includesWord(text, word)) found.add(word);
    yield 20 + (Math.min(text.length, 64 * 1024) >> 4);
  }
  return found;
}

/** The first of the words in a part of a text. */
function* findFirst(text: string, words: readonly string[], from: number): Steps<WindowFinding | undefined> {
  let first: WindowFinding | undefined;
  for (const word of words) {
    // what begins behind the first one so far is not sought
    const seen = first ? text.slice(0, first.start + word.length) : text;
    const start = yield* indexOfWord(seen, word, from);
    if (start >= 0 && (!first || start < first.start)) {
      first = { start, end: start + word.length, fails: true, label: word };
    }
    yield 1 + ((seen.length - from) >> 4);
  }
  return first;
}

/** Most words, and characters of each, that are looked for at once in a part of a text. */
const fewWords = 32;
const shortWord = 32;
const shortPart = 4_096;

/** Where a word begins that a text has, or whose beginning it ends with; the length of the text if nowhere. */
function startOf(word: string, text: string, from: number): number {
  const found = text.indexOf(word, from);
  if (found >= 0) return found;
  for (let start = Math.max(from, text.length - word.length + 1); start < text.length; start++) {
    if (word.startsWith(text.slice(start))) return start;
  }
  return text.length;
}

/** What can be seen at once of a part of a text and a few words; nothing for many words, or long ones. */
function createQuickTests(words: readonly string[]): Pick<CheckWindow, "lacks" | "opensAt"> {
  if (words.length > fewWords || words.some(({ length }) => length > shortWord)) return {};
  return {
    lacks: (text, from) => text.length <= shortPart && !words.some((word) => text.includes(word, from)),
    opensAt: (text, from) => words.reduce((first, word) => Math.min(first, startOf(word, text, from)), text.length),
  };
}

/** Words that occur in a text, compared exactly. */
export const contains: Check<v.InferOutput<typeof Contains>> = {
  id: "default.contains",
  phases: bothPhases,
  parameters: Contains,
  readsAll: ({ operator }) => operator === "none",
  window({ words, operator }) {
    if (operator !== "none") return undefined;
    const characters = words.reduce((longest, { length }) => Math.max(longest, length), 0);
    return { characters, find: (text, from) => findFirst(text, words, from), ...createQuickTests(words) };
  },
  *run({ text }, { words, operator }) {
    const found = yield* findWords(text, words);
    const foundWords = words.filter((word) => found.has(word));
    const missingWords = words.filter((word) => !found.has(word));
    const pass = { any: foundWords.length > 0, all: missingWords.length === 0, none: foundWords.length === 0 }[
      operator
    ];
    const explanation = `${foundWords.length} of ${words.length} words are in the text, expected ${operator}`;
    return { pass, data: { explanation, operator, foundWords, missingWords } };
  },
};
