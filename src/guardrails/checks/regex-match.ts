import * as v from "valibot";
import { charactersOf, findIn, lengthForPattern, TenantPattern } from "../tenant-patterns.ts";
import { bothPhases, type Check, CheckError } from "../types.ts";

const RegexMatch = v.object({ rule: TenantPattern, not: v.optional(v.boolean(), false) });

/** Longest match or group that a result shows. */
const maxShownLength = 500;

const shorten = (text: string | null | undefined): string | null => text?.slice(0, maxShownLength) ?? null;

/** Whether a pattern matches a text. */
export const regexMatch: Check<v.InferOutput<typeof RegexMatch>> = {
  id: "default.regexMatch",
  phases: bothPhases,
  parameters: RegexMatch,
  readsAll: ({ not }) => not,
  patterns: ({ rule }) => rule,
  window({ rule, not }) {
    if (!not) return undefined;
    return {
      characters: charactersOf(rule),
      lacks: (text) => !rule.mayMatch(text),
      find: (text, from) => findIn(rule, text, { from, fails: true }),
      opensAt: (text, from) => rule.opensAt(text, from),
    };
  },
  *run({ text, mustSeeAll }, { rule, not }) {
    if (text === "") {
      const isEmptyFound = (yield* rule.find("")) !== undefined;
      throw new CheckError("Cannot check: there is no text", { verdict: isEmptyFound !== not });
    }
    const length = lengthForPattern(rule, text.length, mustSeeAll);
    const seen = text.slice(0, length);
    const match = yield* rule.find(seen);
    const isFound = match !== undefined;
    const groups = match && (yield* rule.findGroups(seen, match));
    const expected = not ? "expected no match" : "expected a match";
    const found = match && {
      matchedText: shorten(seen.slice(match.start, match.end)),
      index: match.start,
      captures: groups?.slice(1).map(shorten),
      groups: Object.fromEntries(Object.entries(rule.names).map(([name, group]) => [name, shorten(groups?.[group])])),
    };
    const explanation = `The pattern is ${isFound ? "found" : "not found"} in the text, ${expected}`;
    const data: Record<string, unknown> = found ? { explanation, ...found } : { explanation };
    if (length < text.length) data.isCut = true;
    return { pass: isFound !== not, data };
  },
};
