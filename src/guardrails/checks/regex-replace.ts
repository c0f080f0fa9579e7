import * as v from "valibot";
import type { Clock } from "../../lib/clock.ts";
import type { Pattern } from "../../lib/pattern.ts";
import { lengthForPattern, toPattern } from "../tenant-patterns.ts";
import { bothPhases, type Check, CheckError, type CheckTools } from "../types.ts";

/** A pattern between slashes with flags behind it. */
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
const RegexReplace = v.object({
  rule: Rule,
  redactText: v.optional(v.pipe(v.string(), v.maxLength(1_000)), "[REDACTED]"),
  failOnDetection: v.optional(v.boolean(), false),
});
type RegexReplace = v.InferOutput<typeof RegexReplace>;

/** Time for all matches of a check: one match takes time linear in the text, many may each look at all that is left. */
const maxMs = 500;
/** Most characters the replacements of one check add. */
const maxAdded = 1024 * 1024;

/** Replaces in texts what a pattern matches. */
class Replacer {
  count = 0;
  readonly #parameters: RegexReplace;
  readonly #clock: Clock;
  readonly #startedAt: number;

  constructor(parameters: RegexReplace, clock: Clock) {
    this.#parameters = parameters;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
  }

  /** The text with the first match, or all, replaced; null where there is none. */
  replace(text: string): string | null {
    const { rule, redactText } = this.#parameters;
    const matcher = rule.pattern.matcher(text);
    let changed = "";
    let end = 0;
    while (matcher.find()) {
      this.count++;
      if (this.#clock.monotonic() - this.#startedAt > maxMs) throw new CheckError("Cannot replace: it takes too long");
      if (this.count * redactText.length > maxAdded) throw new CheckError("Cannot replace: there are too many matches");
      changed += text.slice(end, matcher.start()) + redactText;
      end = matcher.end();
      if (!rule.isGlobal) break;
    }
    const isChanged = changed !== "" || end > 0;
    return isChanged ? changed + text.slice(end) : null;
  }
}

const elsewhere = "some stands outside the messages, such as in a tool or a schema, where nothing can be changed";

/** Replaces what a pattern matches, text by text. */
export function createRegexReplaceCheck({ clock }: CheckTools): Check<RegexReplace> {
  return {
    id: "default.regexReplace",
    phases: bothPhases,
    parameters: RegexReplace,
    changes: () => true,
    size: ({ rule }) => rule.pattern.programSize(),
    run({ texts, rest, mustSeeAll, work }, parameters) {
      const length = [...texts, ...rest].reduce((sum, text) => sum + text.length, 0);
      let left = lengthForPattern(parameters.rule.pattern, length, mustSeeAll);
      const isCut = left < length;
      const replacer = new Replacer(parameters, clock);
      const changed = texts.map((text) => {
        const seen = text.slice(0, left);
        left -= seen.length;
        const replaced = work.spend(() => replacer.replace(seen));
        return replaced === null ? null : replaced + text.slice(seen.length);
      });
      const { pattern } = parameters.rule;
      const isElsewhere = rest.some((text) => {
        const seen = text.slice(0, left);
        left -= seen.length;
        return seen !== "" && work.spend(() => pattern.matcher(seen).find());
      });
      if (isElsewhere && mustSeeAll) throw new CheckError(`Cannot replace all of it: ${elsewhere}`);
      const count = replacer.count + Number(isElsewhere);
      const explanation = count === 0 ? "The pattern is not found in the text" : `${count} matches were replaced`;
      const pass = count === 0 || !parameters.failOnDetection;
      const data = { explanation, count, ...(isCut && { isCut }) };
      return { pass, texts: changed, data, ...(isElsewhere && { error: `Cannot replace all of it: ${elsewhere}` }) };
    },
  };
}
