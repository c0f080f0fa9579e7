import * as v from "valibot";
import { bothPhases, type Check } from "../types.ts";

const AllUppercase = v.object({ not: v.optional(v.boolean(), false) });

/** Whether all ASCII letters of a text are in upper case; true where it has none. */
export const allUppercase: Check<v.InferOutput<typeof AllUppercase>> = {
  id: "default.alluppercase",
  phases: bothPhases,
  parameters: AllUppercase,
  run({ text }, { not }) {
    const isAll = !/[a-z]/.test(text);
    const explanation = `${isAll ? "All" : "Not all"} letters are in upper case, wanted is ${not ? "that not all are" : "that all are"}`;
    return { pass: isAll !== not, data: { explanation, not } };
  },
};
