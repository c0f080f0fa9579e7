import * as v from "valibot";
import { explainRange, isInRange } from "../ranges.ts";
import { bothPhases, type Check } from "../types.ts";

// both ends must be given: a range with one end is more often a slip than meant
const SentenceCount = v.object({
  minSentences: v.number(),
  maxSentences: v.number(),
  not: v.optional(v.boolean(), false),
});

/** How many sentences a text has, by the marks that end them. */
export const sentenceCount: Check<v.InferOutput<typeof SentenceCount>> = {
  id: "default.sentenceCount",
  phases: bothPhases,
  parameters: SentenceCount,
  run({ text }, { minSentences, maxSentences, not }) {
    const range = { min: minSentences, max: maxSentences, not };
    const sentenceCount = text.match(/[.!?]/g)?.length ?? 0;
    const explanation = explainRange(sentenceCount, "sentences", range);
    return { pass: isInRange(sentenceCount, range), data: { explanation, sentenceCount, ...range } };
  },
};
