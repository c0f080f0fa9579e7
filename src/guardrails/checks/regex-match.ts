import * as v from "valibot";
import { lengthForPattern, TenantPattern } from "../tenant-patterns.ts";
import { bothPhases, type Check, CheckError } from "../types.ts";

const RegexMatch = v.object({ rule: TenantPattern, not: v.optional(v.boolean(), false) });

/** Longest text of a match or a group that is told. */
const maxToldLength = 500;

const tell = (text: string | null | undefined): string | null => text?.slice(0, maxToldLength) ?? null;

/** Whether a pattern is found in a text. */
export const regexMatch: Check<v.InferOutput<typeof RegexMatch>> = {
  id: "default.regexMatch",
  phases: bothPhases,
  parameters: RegexMatch,
  readsAll: ({ not }) => not,
  size: ({ rule }) => rule.programSize(),
  run({ text, mustSeeAll, work }, { rule, not }) {
    if (text === "") throw new CheckError("Cannot check: there is no text", { verdict: rule.test("") !== not });
    const length = lengthForPattern(rule, text.length, mustSeeAll);
    const matcher = rule.matcher(text.slice(0, length));
    const isFound = work.spend(() => matcher.find());
    const wanted = not ? "wanted is that it is not" : "wanted is that it is";
    const found = isFound && {
      ...{ matchedText: tell(matcher.group()), index: matcher.start() },
      captures: Array.from({ length: matcher.groupCount() }, (_, index) => tell(matcher.group(index + 1))),
      groups: Object.fromEntries(Object.entries(matcher.getNamedGroups()).map(([name, one]) => [name, tell(one)])),
    };
    const explanation = `The pattern is ${isFound ? "found" : "not found"} in the text, ${wanted}`;
    return { pass: isFound !== not, data: { explanation, ...found, ...(length < text.length && { isCut: true }) } };
  },
};
