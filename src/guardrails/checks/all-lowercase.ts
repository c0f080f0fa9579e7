import * as v from "valibot";
import { bothPhases, type Check } from "../types.ts";

const AllLowercase = v.object({ not: v.optional(v.boolean(), false) });

/** Whether all ASCII letters of a text are in lower case; true where it has none. */
export const allLowercase: Check<v.InferOutput<typeof AllLowercase>> = {
  id: "default.alllowercase",
  aliases: ["default.isAllLowerCase"],
  phases: bothPhases,
  parameters: AllLowercase,
  run({ text }, { not }) {
    const isAll = !/[A-Z]/.test(text);
    const explanation = `${isAll ? "All" : "Not all"} letters are in lower case, wanted is ${not ? "that not all are" : "that all are"}`;
    return { pass: isAll !== not, data: { explanation, not } };
  },
};
