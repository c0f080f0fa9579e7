import * as v from "valibot";
import { JsonObject } from "./objects.ts";

/** Words for the effect of a verdict, and whether it denies. */
const words: Readonly<Record<string, boolean>> = {
  block: true,
  deny: true,
  allow: false,
  continue: false,
  log: false,
  monitor: false,
  none: false,
  pass: false,
};

const problem = `must be one of ${Object.keys(words).join(", ")}`;

/** The effect of a verdict: an object, or a word, either alone or as the object's `action`. */
export const VerdictOutcome = v.pipe(
  v.union([v.string(), JsonObject], "must be an object"),
  v.rawTransform<string | Record<string, unknown>, Record<string, unknown>>(({ dataset, addIssue, NEVER }) => {
    const { value } = dataset;
    const { action, ...others } = typeof value === "string" ? { action: value } : value;
    if (action === undefined) return others;
    const denies = typeof action === "string" && Object.hasOwn(words, action) ? words[action] : undefined;
    if (denies !== undefined) return denies ? { ...others, deny: true } : others;
    const path = { type: "object", origin: "value", input: { action }, key: "action", value: action } as const;
    addIssue({ message: problem, ...(typeof value !== "string" && { path: [path] }) });
    return NEVER;
  }),
);
