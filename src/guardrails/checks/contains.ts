import * as v from "valibot";
import { bothPhases, type Check } from "../types.ts";

const Contains = v.object({
  words: v.pipe(v.array(v.string()), v.minLength(1)),
  operator: v.optional(v.picklist(["any", "all", "none"]), "any"),
});

/** Words a text holds, letter by letter. */
export const contains: Check<v.InferOutput<typeof Contains>> = {
  id: "default.contains",
  phases: bothPhases,
  parameters: Contains,
  readsAll: ({ operator }) => operator === "none",
  run({ text, work }, { words, operator }) {
    const found = new Set(words.filter((word) => work.spend(() => text.includes(word))));
    const foundWords = words.filter((word) => found.has(word));
    const missingWords = words.filter((word) => !found.has(word));
    const pass = { any: foundWords.length > 0, all: missingWords.length === 0, none: foundWords.length === 0 }[
      operator
    ];
    const explanation = `${foundWords.length} of ${words.length} words are in the text, wanted is ${operator}`;
    return { pass, data: { explanation, operator, foundWords, missingWords } };
  },
};
