import * as v from "valibot";
import { compilePattern, type Pattern } from "../lib/pattern.ts";
import { CheckError } from "./types.ts";

/** Longest text a tenant's pattern looks at, in characters. */
export const maxPatternTextLength = 256 * 1024;

/** Adds to the problems of parameters what is wrong with a pattern; the pattern itself where nothing is. */
export function toPattern(text: string, flags: string, addIssue: (info: { message: string }) => void) {
  const pattern = compilePattern(text, flags);
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
 * How much of a text patterns look at.
 *
 * @throws {CheckError} If they cannot look at all of it and must.
 */
export function lengthForPatterns(length: number, mustSeeAll: boolean): number {
  if (length <= maxPatternTextLength) return length;
  if (!mustSeeAll) return maxPatternTextLength;
  throw new CheckError(`Cannot check: patterns look at ${maxPatternTextLength} characters at most`);
}
