import * as v from "valibot";
import { bothPhases, type Check } from "../types.ts";
import { ValueFinder } from "../values/finder.ts";
import { personalKinds } from "../values/personal-values.ts";
import { searchValues, type ValueSearch, windowOf } from "../values/value-check.ts";

const names = personalKinds.map(({ name }) => name);

const Pii = v.pipe(
  v.object({
    categories: v.optional(v.pipe(v.array(v.picklist(names, `must be one of ${names.join(", ")}`)), v.minLength(1))),
    redact: v.optional(v.boolean(), false),
    not: v.optional(v.boolean(), false),
  }),
  v.check(({ redact, not }) => !redact || !not, "cannot have both redact and not"),
  v.transform(({ categories, ...others }): ValueSearch => {
    const chosen = personalKinds.filter(({ name }) => categories === undefined || categories.includes(name));
    return { ...others, finder: new ValueFinder(chosen), noun: "personal data" };
  }),
);

/** Personal data in text, by the forms of its values. */
export const pii: Check<ValueSearch> = {
  id: "gateway.pii",
  phases: bothPhases,
  parameters: Pii,
  readsAll: () => true,
  changes: ({ redact }) => redact,
  window: (search) => windowOf(search),
  run: searchValues,
};
