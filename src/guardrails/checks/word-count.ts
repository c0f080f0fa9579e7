import * as v from "valibot";
import { type Steps, stepsPerPiece } from "../../lib/steps.ts";
import { explainRange, isInRange } from "../ranges.ts";
import { bothPhases, type Check, CheckError } from "../types.ts";

const WordCount = v.object({
  minWords: v.optional(v.pipe(v.number(), v.integer()), 0),
  maxWords: v.optional(v.pipe(v.number(), v.integer()), 99_999),
  not: v.optional(v.boolean(), false),
});

function* countWords(text: string): Steps<number> {
  const word = /\S+/g;
  let count = 0;
  while (word.test(text)) if (++count % 5_000 === 0) yield stepsPerPiece;
  return count;
}

/** Number of words in a text, separated by white space. */
export const wordCount: Check<v.InferOutput<typeof WordCount>> = {
  id: "default.wordCount",
  phases: bothPhases,
  parameters: WordCount,
  *run({ text }, { minWords, maxWords, not }) {
    const range = { min: minWords, max: maxWords, not };
    if (text === "") throw new CheckError("Cannot check: there is no text", { verdict: isInRange(0, range) });
    const wordCount = yield* countWords(text);
    const explanation = explainRange(wordCount, "words", range);
    return { pass: isInRange(wordCount, range), data: { explanation, wordCount, ...range } };
  },
};
