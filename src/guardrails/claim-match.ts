import { compilePattern, PatternSum } from "../../packages/patterns/src/pattern.ts";
import { valueText } from "../lib/json.ts";
import { runNow, type Steps } from "../lib/steps.ts";
import { maxCheckPatterns } from "./tenant-patterns.ts";

/** How a claim or metadata value is compared with the expected values. */
type MatchType = (typeof matchTypes)[number];

export const matchTypes = ["exact", "contains", "containsAll", "regex"] as const;

/** Compares a value, in steps. */
export type ClaimMatcher = (actual: unknown) => Steps<boolean>;

/** Most steps of a comparison that runs synchronously. */
const maxStepsAtOnce = 1_000_000;

/** The values of a claim: the items of a list, or the single value. Null and undefined yield no value. */
function valuesOf(actual: unknown): string[] {
  const list: unknown[] = Array.isArray(actual) ? actual : [actual];
  return list.filter((value) => value !== null && value !== undefined).map(valueText);
}

/** A matcher that needs a single step. */
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
 * Prepares a comparison with the expected values; patterns are compiled once.
 *
 * @param sum Size of the check's patterns so far; this comparison adds its own.
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
 * Whether a claim's value matches the expected ones. Values are compared whole and as strings: `super-admin` does
 * not match `admin`.
 *
 * - `exact`: one value on each side, and they are equal; a list never matches.
 * - `contains`: the claim has at least one of the expected values.
 * - `containsAll`: the claim has all of the expected values, of which there is at least one.
 * - `regex`: any pattern matches any value; if one pattern is invalid, nothing matches.
 *
 * @param actual A list counts as several values. Split a `scope` before the call.
 * @throws {StepsError} If it takes too many steps.
 */
export function matchesClaim(actual: unknown, expected: readonly string[], matchType: MatchType): boolean {
  const matcher = createClaimMatcher(expected, matchType);
  return typeof matcher !== "string" && runNow(matcher(actual), maxStepsAtOnce);
}
