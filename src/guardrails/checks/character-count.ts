import * as v from "valibot";
import { explainRange, isInRange } from "../ranges.ts";
import { bothPhases, type Check, CheckError } from "../types.ts";

const CharacterCount = v.object({
  minCharacters: v.optional(v.number(), 0),
  maxCharacters: v.optional(v.number(), 9_999_999),
  not: v.optional(v.boolean(), false),
});

/** Length of the text in UTF-16 code units. */
export const characterCount: Check<v.InferOutput<typeof CharacterCount>> = {
  id: "default.characterCount",
  phases: bothPhases,
  parameters: CharacterCount,
  run({ text }, { minCharacters, maxCharacters, not }) {
    const range = { min: minCharacters, max: maxCharacters, not };
    const characterCount = text.length;
    const pass = isInRange(characterCount, range);
    if (text === "") throw new CheckError("Cannot check: there is no text", { verdict: pass });
    const explanation = explainRange(characterCount, "characters", range);
    return { pass, data: { explanation, characterCount, ...range } };
  },
};
