import * as v from "valibot";
import { compilePattern, type Pattern, PatternSum } from "../lib/pattern.ts";
import { CheckError } from "./types.ts";

/** Most instructions of the patterns of one check, and of the checks of a saved guardrail. */
export const maxCheckPatterns = 10_000;
export const maxSavedPatterns = 25_000;
/** Most steps of one look, each instruction at each character being one: about a second. */
const maxSteps = 48 * 1024 * 1024;
/** Longest text a tenant's pattern looks at, in characters. */
const maxPatternTextLength = 256 * 1024;

/** Adds to the problems of parameters what is wrong with a pattern; the pattern itself where nothing is. */
export function toPattern(text: string, flags: string, addIssue: (info: { message: string }) => void) {
  const pattern = compilePattern(text, new PatternSum(maxCheckPatterns), flags);
  if (typeof pattern !== "string") return pattern;
  addIssue({ message: pattern });
  return undefined;
}

/** A pattern as tenants write it, compiled. */
export const TenantPattern = v.pipe(
  v.string(),
  v.minLength(1),
  v.rawTransform<string, Pattern>(({ dataset, addIssue, NEVER }) => toPattern(dataset.value, "", addIssue) ?? NEVER),
);

/**
 * How much of a text a pattern looks at.
 *
 * @throws {CheckError} If they cannot look at all of it and must.
 */
export function lengthForPattern(pattern: Pattern, length: number, mustSeeAll: boolean): number {
  const longest = Math.min(maxPatternTextLength, Math.floor(maxSteps / Math.max(1, pattern.size)));
  if (length <= longest) return length;
  if (!mustSeeAll) return longest;
  throw new CheckError(`Cannot check: patterns look at ${longest} characters at most`);
}
