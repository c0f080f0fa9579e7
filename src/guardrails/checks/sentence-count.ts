import * as v from "valibot";
import { explainRange, isInRange } from "../ranges.ts";
import { bothPhases, type Check } from "../types.ts";

// both ends are required: leaving one out is more often a mistake than intended
const SentenceCount = v.object({
  minSentences: v.number(),
  maxSentences: v.number(),
  not: v.optional(v.boolean(), false),
});

/** Characters that end sentences. */
const marks = new Set([".", "!", "?"].map((mark) => mark.charCodeAt(0)));

function countMarks(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index++) if (marks.has(text.charCodeAt(index))) count++;
  return count;
}

/** Number of sentences in a text, by the characters that end them. */
export const sentenceCount: Check<v.InferOutput<typeof SentenceCount>> = {
  id: "default.sentenceCount",
  phases: bothPhases,
  parameters: SentenceCount,
  run({ text, work }, { minSentences, maxSentences, not }) {
    const range = { min: minSentences, max: maxSentences, not };
    const sentenceCount = work.spend(() => countMarks(text));
    const explanation = explainRange(sentenceCount, "sentences", range);
    return { pass: isInRange(sentenceCount, range), data: { explanation, sentenceCount, ...range } };
  },
};
