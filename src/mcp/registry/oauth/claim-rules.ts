import { compilePattern, type Pattern, PatternSum } from "../../../../packages/patterns/src/pattern.ts";
import type { Claims } from "../../../auth/jwt-claims.ts";
import { memoizeText } from "../../../lib/bounded-map.ts";
import { maxConfigPatterns } from "../../../lib/pattern-limits.ts";
import { runNow } from "../../../lib/steps.ts";

/** What the claims of a token must satisfy. */
interface ClaimRules {
  readonly requiredClaims: readonly string[];
  readonly claimValues: Readonly<
    Record<
      string,
      { readonly values: readonly string[]; readonly matchType: "exact" | "contains" | "containsAll" | "regex" }
    >
  >;
  /** Headers of the request that must equal a claim. */
  readonly headerPayloadMatch: Readonly<Record<string, string>>;
}

/** Longest value that patterns search. */
const maxSearched = 4_096;
/** More than any pattern takes for such a value. */
const maxSteps = 20_000_000;

const toPattern = memoizeText(500, (text): Pattern | undefined => {
  const made = compilePattern(text, new PatternSum(maxConfigPatterns));
  return typeof made === "string" ? undefined : made;
});

/** A claim as a list of strings; names never reach a prototype. */
function stringsOf(claims: Claims, name: string): string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  const list = Array.isArray(value) ? value : [value];
  return list.flatMap((one) => (["string", "number", "boolean"].includes(typeof one) ? [String(one)] : []));
}

function isMatched(found: readonly string[], { values, matchType }: ClaimRules["claimValues"][string]): boolean {
  switch (matchType) {
    case "exact":
      return found.some((one) => values.includes(one));
    case "contains":
      // a scope is a list too: its parts are separated by spaces
      return found.flatMap((one) => one.split(" ")).some((one) => values.includes(one));
    case "containsAll": {
      const parts = new Set(found.flatMap((one) => [one, ...one.split(" ")]));
      return values.length > 0 && values.every((one) => parts.has(one));
    }
    case "regex":
      return found.some((one) => values.some((value) => isFound(value, one)));
  }
}

function isFound(value: string, text: string): boolean {
  const pattern = text.length <= maxSearched ? toPattern(value) : undefined;
  return pattern !== undefined && runNow(pattern.find(text), maxSteps) !== undefined;
}

/** Why claims are not accepted; undefined if they are. */
export function findClaimProblem(
  claims: Claims,
  { requiredClaims, claimValues, headerPayloadMatch }: ClaimRules,
  header: (name: string) => string | undefined,
): string | undefined {
  const missing = requiredClaims.find((name) => stringsOf(claims, name).length === 0);
  if (missing !== undefined) return `the claim ${missing} is missing`;
  for (const [name, rule] of Object.entries(claimValues)) {
    if (!isMatched(stringsOf(claims, name), rule)) return `the claim ${name} has another value`;
  }
  for (const [name, claim] of Object.entries(headerPayloadMatch)) {
    const value = header(name.toLowerCase());
    if (value === undefined || !stringsOf(claims, claim).includes(value))
      return `the header ${name} differs from the claim`;
  }
  return undefined;
}
