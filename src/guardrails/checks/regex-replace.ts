import * as v from "valibot";
import type { Pattern } from "../../../packages/patterns/src/pattern.ts";
import type { Steps } from "../../lib/steps.ts";
import { charactersOf, findIn, lengthForPattern, toPattern } from "../tenant-patterns.ts";
import { bothPhases, type Check, CheckError, type CheckInput } from "../types.ts";
import { placeholdersOf } from "../values/value-check.ts";

/** A pattern between slashes, followed by flags. */
const slashForm = /^\/(.+)\/([dgimsuvy]*)$/s;

const Rule = v.pipe(
  v.string(),
  v.minLength(1),
  v.rawTransform<string, { pattern: Pattern; isGlobal: boolean }>(({ dataset, addIssue, NEVER }) => {
    const [, text = dataset.value, flags = ""] = slashForm.exec(dataset.value) ?? [];
    const unknown = flags.match(/[vy]/)?.[0];
    if (unknown) addIssue({ message: `cannot have the flag ${unknown}` });
    const pattern = toPattern(text, flags, addIssue);
    return pattern && !unknown ? { pattern, isGlobal: flags.includes("g") } : NEVER;
  }),
);
const RegexReplace = v.pipe(
  v.object({
    rule: Rule,
    redactText: v.optional(v.pipe(v.string(), v.maxLength(1_000))),
    restore: v.optional(v.boolean(), false),
    failOnDetection: v.optional(v.boolean(), false),
  }),
  v.check(
    ({ redactText, restore }) => redactText === undefined || !restore,
    "cannot have both redactText and restore: each match gets a placeholder",
  ),
  v.transform(({ redactText = "[REDACTED]", ...others }) => ({ ...others, redactText })),
);
type RegexReplace = v.InferOutput<typeof RegexReplace>;

/** The kind of its placeholders. */
const kind = "REDACTED";

/** Most characters the replacements of one check add. */
const maxAdded = 1024 * 1024;

/** Replaces the matches of a pattern. */
class Replacer {
  count = 0;
  readonly #parameters: RegexReplace;
  readonly #placeholderOf: ReturnType<typeof placeholdersOf> | undefined;

  constructor(parameters: RegexReplace, input: CheckInput) {
    this.#parameters = parameters;
    const isRestored = parameters.restore && input.phase === "beforeRequestHook";
    this.#placeholderOf = isRestored ? placeholdersOf(input, true) : undefined;
  }

  /** What takes the place of a match. */
  #replacementOf(match: string): string {
    return this.#placeholderOf?.(kind, match) ?? this.#parameters.redactText;
  }

  /** The text with the first match, or all, replaced; null without a match. Each match may scan the rest. */
  *replace(text: string): Steps<string | null> {
    const { rule } = this.#parameters;
    let changed = "";
    let end = 0;
    let from = 0;
    while (from <= text.length) {
      const match = yield* rule.pattern.find(text, from);
      if (!match) break;
      this.count++;
      const replacement = this.#replacementOf(text.slice(match.start, match.end));
      if (this.count * replacement.length > maxAdded)
        throw new CheckError("Cannot replace: there are too many matches");
      changed += text.slice(end, match.start) + replacement;
      end = match.end;
      from = match.end > match.start ? match.end : match.end + ((text.codePointAt(match.end) ?? 0) > 0xffff ? 2 : 1);
      if (!rule.isGlobal) break;
    }
    const isChanged = changed !== "" || end > 0;
    return isChanged ? changed + text.slice(end) : null;
  }
}

const elsewhere = "a match is outside the messages, such as in a tool or a schema, which cannot be changed";

/** Replaces the matches of a pattern in every text. */
export const regexReplace: Check<RegexReplace> = {
  id: "default.regexReplace",
  phases: bothPhases,
  parameters: RegexReplace,
  changes: () => true,
  restores: true,
  patterns: ({ rule }) => rule.pattern,
  window({ rule: { pattern, isGlobal }, redactText: replacement, failOnDetection: fails }) {
    return {
      characters: charactersOf(pattern),
      onlyFirst: !isGlobal,
      lacks: (text, from) => !pattern.mayMatch(text, from),
      find: (text, from) => findIn(pattern, text, { from, fails, replacement }),
      opensAt: (text, from) => pattern.opensAt(text, from),
    };
  },
  *run(input, parameters) {
    const { strings, rest, mustSeeAll } = input;
    const { pattern } = parameters.rule;
    const length = [...strings, ...rest].reduce((sum, text) => sum + text.length, 0);
    let left = lengthForPattern(pattern, length, mustSeeAll);
    const isCut = left < length;
    const replacer = new Replacer(parameters, input);
    const changed: (string | null)[] = [];
    for (const text of strings) {
      const seen = text.slice(0, left);
      left -= seen.length;
      const replaced = yield* replacer.replace(seen);
      changed.push(replaced === null ? null : replaced + text.slice(seen.length));
    }
    let isElsewhere = false;
    for (const text of rest) {
      const seen = text.slice(0, left);
      left -= seen.length;
      isElsewhere ||= seen !== "" && (yield* pattern.find(seen)) !== undefined;
    }
    if (isElsewhere && mustSeeAll) throw new CheckError(`Cannot replace every match: ${elsewhere}`);
    const count = replacer.count + Number(isElsewhere);
    const explanation = count === 0 ? "The pattern is not found in the text" : `${count} matches were replaced`;
    const pass = count === 0 || !parameters.failOnDetection;
    const data = { explanation, count, ...(isCut && { isCut }) };
    return { pass, strings: changed, data, ...(isElsewhere && { error: `Cannot replace every match: ${elsewhere}` }) };
  },
};
