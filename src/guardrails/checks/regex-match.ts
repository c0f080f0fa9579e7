import * as v from "valibot";
import type { Steps } from "../../lib/steps.ts";
import { charactersOf, findIn, lengthForPattern, TenantPattern } from "../tenant-patterns.ts";
import { bothPhases, type Check, CheckError, type CheckOutcome } from "../types.ts";

const RegexMatch = v.object({ rule: TenantPattern, not: v.optional(v.boolean(), false) });

/** Longest match or group that a result shows. */
const maxShownLength = 500;

const shorten = (text: string | null | undefined): string | null => text?.slice(0, maxShownLength) ?? null;

/** What a result says of a match. */
type Shown = Readonly<Record<string, unknown>>;

const explanations = {
  wanted: {
    found: "The pattern is found in the text, expected a match",
    lacking: "The pattern is not found in the text, expected a match",
  },
  unwanted: {
    found: "The pattern is found in the text, expected no match",
    lacking: "The pattern is not found in the text, expected no match",
  },
} as const;

function toOutcome(found: Shown | undefined, not: boolean, isCut: boolean): CheckOutcome {
  const explanation = explanations[not ? "unwanted" : "wanted"][found ? "found" : "lacking"];
  const data: Record<string, unknown> = found ? { explanation, ...found } : { explanation };
  if (isCut) data.isCut = true;
  return { pass: (found !== undefined) !== not, data };
}

/** Looks for a match in all of a text. */
function* search(
  text: string,
  { rule, not, isCut }: v.InferOutput<typeof RegexMatch> & { isCut: boolean },
): Steps<CheckOutcome> {
  const match = yield* rule.find(text);
  if (text === "") throw new CheckError("Cannot check: there is no text", { verdict: (match !== undefined) !== not });
  const groups = match && (yield* rule.findGroups(text, match));
  const found = match && {
    matchedText: shorten(text.slice(match.start, match.end)),
    index: match.start,
    captures: groups?.slice(1).map(shorten),
    groups: Object.fromEntries(Object.entries(rule.names).map(([name, group]) => [name, shorten(groups?.[group])])),
  };
  return toOutcome(found, not, isCut);
}

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
      lacks: (text, from) => !rule.mayMatch(text, from),
      find: (text, from) => findIn(rule, text, { from, fails: true }),
      opensAt: (text, from) => rule.opensAt(text, from),
    };
  },
  run({ text, mustSeeAll }, { rule, not }) {
    const length = lengthForPattern(rule, text.length, mustSeeAll);
    const seen = length < text.length ? text.slice(0, length) : text;
    // most of them show at once that they have no match
    if (seen !== "" && !rule.mayMatch(seen)) return toOutcome(undefined, not, length < text.length);
    return search(seen, { rule, not, isCut: length < text.length });
  },
};
