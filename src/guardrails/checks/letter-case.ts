import * as v from "valibot";
import { bothPhases, type Check } from "../types.ts";

const LetterCase = v.object({ not: v.optional(v.boolean(), false) });
type LetterCase = v.InferOutput<typeof LetterCase>;

/** A check whether all ASCII letters of a text are in one case; true where it has no letters. */
function createCaseCheck(id: string, name: "lower" | "upper", aliases: readonly string[] = []): Check<LetterCase> {
  const others = name === "lower" ? /[A-Z]/ : /[a-z]/;
  return {
    id,
    aliases,
    phases: bothPhases,
    parameters: LetterCase,
    run({ text, work }, { not }) {
      const isAll = !work.spend(() => others.test(text));
      const expectation = not ? "not all of them" : "all of them";
      const explanation = `${isAll ? "All" : "Not all"} letters are in ${name} case, expected ${expectation}`;
      return { pass: isAll !== not, data: { explanation, not } };
    },
  };
}

export const allLowercase = createCaseCheck("default.alllowercase", "lower", ["default.isAllLowerCase"]);
export const allUppercase = createCaseCheck("default.alluppercase", "upper");
