import { RE2JS } from "re2js";

/** Longest pattern a tenant may write. */
export const maxPatternLength = 1_000;

/** A tenant's pattern; matching takes time linear in the text. */
export type Pattern = RE2JS;

/**
 * Compiles a pattern a tenant wrote (https://github.com/google/re2/wiki/Syntax).
 *
 * @param flags Letters `i`, `m` and `s`.
 * @returns The pattern, or what is wrong with it: it is too long, or names what cannot be matched in linear time.
 */
export function compilePattern(text: string, flags = ""): Pattern | string {
  if (text.length > maxPatternLength) return `must have at most ${maxPatternLength} characters`;
  const known = { i: RE2JS.CASE_INSENSITIVE, m: RE2JS.MULTILINE, s: RE2JS.DOTALL };
  const bits = Object.entries(known).reduce((sum, [letter, bit]) => (flags.includes(letter) ? sum | bit : sum), 0);
  try {
    return RE2JS.compile(text, bits);
  } catch (error) {
    return `is no pattern: ${error instanceof Error ? error.message : String(error)}`;
  }
}
