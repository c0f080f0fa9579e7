import * as v from "valibot";
import { bothPhases, type Check } from "../types.ts";

const EndsWith = v.object({
  suffix: v.pipe(v.string(), v.minLength(1)),
  not: v.optional(v.boolean(), false),
});

/** Whether a text ends with a suffix; a final full stop is ignored. */
export const endsWith: Check<v.InferOutput<typeof EndsWith>> = {
  id: "default.endsWith",
  phases: bothPhases,
  parameters: EndsWith,
  run({ text }, { suffix, not }) {
    const isEnd = text.endsWith(suffix) || text.endsWith(`${suffix}.`);
    const explanation = `The text ${isEnd ? "ends" : "does not end"} with the suffix, expected ${not ? "not to" : "it to"}`;
    return { pass: isEnd !== not, data: { explanation, suffix, not } };
  },
};
