import { compilePattern, PatternSum } from "../lib/pattern.ts";
import { runNow, type Steps } from "../lib/steps.ts";
import { maxCheckPatterns } from "./tenant-patterns.ts";

/** How the value of a claim, or of a fact, is held against the values wanted. */
type MatchType = (typeof matchTypes)[number];

export const matchTypes = ["exact", "contains", "containsAll", "regex"] as const;

/** Says, step by step, whether a value fits. */
export type ClaimMatcher = (actual: unknown) => Steps<boolean>;

/** Most steps of one comparison that is done at once. */
const maxStepsAtOnce = 1_000_000;

/** A value as the text it is compared as. */
function toText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The values a claim holds: those of a list, or the one it is. Null and undefined are none. */
function valuesOf(actual: unknown): string[] {
  const list: unknown[] = Array.isArray(actual) ? actual : [actual];
  return list.filter((value) => value !== null && value !== undefined).map(toText);
}

/** A matcher that decides at once. */
function decide(test: (actual: unknown) => boolean): ClaimMatcher {
  return function* (actual) {
    yield 1;
    return test(actual);
  };
}

function createPatternMatcher(expected: readonly string[], sum: PatternSum): ClaimMatcher | string {
  const patterns = expected.map((text) => compilePattern(text, sum));
  const problem = patterns.find((pattern) => typeof pattern === "string");
  if (problem !== undefined) return problem;
  const compiled = patterns.filter((pattern) => typeof pattern !== "string");
  return function* (actual) {
    for (const value of valuesOf(actual)) {
      for (const pattern of compiled) if (yield* pattern.find(value)) return true;
    }
    return false;
  };
}

/**
 * Prepares the comparison with the values wanted, so that patterns are compiled once.
 *
 * @param sum Of the patterns of the check; it grows by those of this comparison.
 * @returns The comparison, or what is wrong with a pattern.
 */
export function createClaimMatcher(
  expected: readonly string[],
  matchType: MatchType,
  sum = new PatternSum(maxCheckPatterns),
): ClaimMatcher | string {
  const wanted = new Set(expected);
  switch (matchType) {
    case "exact":
      return decide(
        (actual) =>
          !Array.isArray(actual) && expected.length === 1 && valuesOf(actual).some((value) => value === expected[0]),
      );
    case "contains":
      return decide((actual) => valuesOf(actual).some((value) => wanted.has(value)));
    case "containsAll":
      return decide((actual) => {
        const values = new Set(valuesOf(actual));
        return expected.length > 0 && expected.every((value) => values.has(value));
      });
    case "regex":
      return createPatternMatcher(expected, sum);
  }
}

/**
 * Whether a claim's value fits those wanted. Values are compared whole and as text: a role `super-admin` does not
 * hold `admin`.
 *
 * - `exact`: one value on each side, and they are equal; a list never fits.
 * - `contains`: at least one of those wanted is among the claim's.
 * - `containsAll`: all of those wanted, and at least one, are among the claim's.
 * - `regex`: any of the patterns is found in any value; where one of them is no pattern, nothing fits.
 *
 * @param actual A list is taken as several values. A `scope` is to be split by the caller.
 * @throws {StepsError} If it takes too many steps.
 */
export function matchesClaim(actual: unknown, expected: readonly string[], matchType: MatchType): boolean {
  const matcher = createClaimMatcher(expected, matchType);
  return typeof matcher !== "string" && runNow(matcher(actual), maxStepsAtOnce);
}
