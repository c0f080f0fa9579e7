import * as v from "valibot";
import { bothPhases, type Check } from "../types.ts";
import { ValueFinder, type ValueKind } from "../values/finder.ts";
import { secretKinds } from "../values/secret-kinds.ts";
import { searchValues, type ValueSearch, windowOf } from "../values/value-check.ts";

/** Most guardrails look for all kinds: they share what finds them. */
const allKinds = toSearch(secretKinds);
const names = secretKinds.map(({ name }) => name);

const Secrets = v.pipe(
  v.object({
    kinds: v.optional(v.pipe(v.array(v.picklist(names, `must be one of ${names.join(", ")}`)), v.minLength(1))),
    redact: v.optional(v.boolean(), false),
    restore: v.optional(v.boolean(), false),
    not: v.optional(v.boolean(), false),
  }),
  v.check(({ redact, not }) => !redact || !not, "cannot have both redact and not"),
  v.check(({ redact, restore }) => redact || !restore, "cannot have restore without redact"),
  v.transform(({ kinds, ...others }): ValueSearch => {
    const wanted = kinds ? toSearch(secretKinds.filter(({ name }) => kinds.includes(name))) : allKinds;
    return { ...others, ...wanted, noun: "credentials" };
  }),
);

/** What finds kinds of credentials, and its name. */
function toSearch(kinds: readonly ValueKind[]): Pick<ValueSearch, "finder" | "rules"> {
  return { finder: new ValueFinder(kinds), rules: `default.secrets ${kinds.map(({ name }) => name).join()}` };
}

/** Characters of a stream that are held back where a credential is only detected: its beginning suffices. */
const detected = 512;

/** Credentials in text, by the forms of their tokens. */
export const secrets: Check<ValueSearch> = {
  id: "default.secrets",
  phases: bothPhases,
  parameters: Secrets,
  readsAll: () => true,
  changes: ({ redact }) => redact,
  restores: true,
  window: (search) =>
    windowOf(search, search.redact ? search.finder.longest : Math.min(detected, search.finder.longest)),
  run: searchValues,
};
