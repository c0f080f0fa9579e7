import * as v from "valibot";
import { compilePattern, type Pattern, PatternSum } from "../../packages/patterns/src/pattern.ts";
import type { Steps } from "../lib/steps.ts";
import { CheckError, type WindowFinding } from "./types.ts";

/** Most instructions of the patterns of one check, and of one saved guardrail. */
export const maxCheckPatterns = 10_000;
export const maxSavedPatterns = 25_000;
/** Most steps of one match (instructions times characters): about a second. */
const maxSteps = 48 * 1024 * 1024;
/** Longest text a tenant's pattern is matched against, in characters. */
const maxPatternTextLength = 256 * 1024;

/** Compiles a pattern, or adds its problem to those of the parameters. */
export function toPattern(text: string, flags: string, addIssue: (info: { message: string }) => void) {
  const pattern = compilePattern(text, new PatternSum(maxCheckPatterns), flags);
  if (typeof pattern !== "string") return pattern;
  addIssue({ message: pattern });
  return undefined;
}

/** A pattern written by a tenant, compiled. */
export const TenantPattern = v.pipe(
  v.string(),
  v.minLength(1),
  v.rawTransform<string, Pattern>(({ dataset, addIssue, NEVER }) => toPattern(dataset.value, "", addIssue) ?? NEVER),
);

/**
 * How many characters of a text a pattern sees.
 *
 * @throws {CheckError} If it has to see all of the text and cannot.
 */
export function lengthForPattern(pattern: Pattern, length: number, mustSeeAll: boolean): number {
  const longest = Math.min(maxPatternTextLength, Math.floor(maxSteps / Math.max(1, pattern.size)));
  if (length <= longest) return length;
  if (!mustSeeAll) return longest;
  throw new CheckError(`Cannot check: patterns match at most ${longest} characters`);
}

/** Characters of a streamed text that are held back for a pattern whose matches can have any length. */
export const unboundedWindow = 256;

/** Most characters of a match in a streamed text. */
export function charactersOf({ longest }: Pattern): number {
  return longest ?? unboundedWindow;
}

/** The first match at or after `from` in a part of a streamed text. */
export function* findIn(
  pattern: Pattern,
  text: string,
  { from, ...finding }: { from: number } & Pick<WindowFinding, "fails" | "replacement">,
): Steps<WindowFinding | undefined> {
  if (!pattern.mayMatch(text)) return undefined;
  const match = yield* pattern.find(text, from);
  return match && { ...match, ...finding };
}
