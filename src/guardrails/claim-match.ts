import { compilePattern } from "../lib/pattern.ts";

/** How the value of a claim, or of a fact, is held against the values wanted. */
export type MatchType = (typeof matchTypes)[number];

export const matchTypes = ["exact", "contains", "containsAll", "regex"] as const;

/** Says whether a value fits. */
export type ClaimMatcher = (actual: unknown) => boolean;

/** A value as the text it is compared as. */
function toText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The values a claim holds: those of a list, or the one it is. Null and undefined are none. */
function valuesOf(actual: unknown): string[] {
  const list: unknown[] = Array.isArray(actual) ? actual : [actual];
  return list.filter((value) => value !== null && value !== undefined).map(toText);
}

function createPatternMatcher(expected: readonly string[]): ClaimMatcher | string {
  const patterns = expected.map((text) => compilePattern(text));
  const problem = patterns.find((pattern) => typeof pattern === "string");
  if (problem !== undefined) return problem;
  const compiled = patterns.filter((pattern) => typeof pattern !== "string");
  return (actual) => valuesOf(actual).some((value) => compiled.some((pattern) => pattern.matcher(value).find()));
}

/**
 * Prepares the comparison with the values wanted, so that patterns are compiled once.
 *
 * @returns The comparison, or what is wrong with a pattern.
 */
export function createClaimMatcher(expected: readonly string[], matchType: MatchType): ClaimMatcher | string {
  switch (matchType) {
    case "exact":
      return (actual) =>
        !Array.isArray(actual) && expected.length === 1 && valuesOf(actual).some((value) => value === expected[0]);
    case "contains":
      return (actual) => valuesOf(actual).some((value) => expected.includes(value));
    case "containsAll":
      return (actual) => {
        const values = valuesOf(actual);
        return expected.length > 0 && expected.every((value) => values.includes(value));
      };
    case "regex":
      return createPatternMatcher(expected);
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
 */
export function matchesClaim(actual: unknown, expected: readonly string[], matchType: MatchType): boolean {
  const matcher = createClaimMatcher(expected, matchType);
  return typeof matcher !== "string" && matcher(actual);
}
