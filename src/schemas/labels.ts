import * as v from "valibot";
import { isObject } from "../lib/json.ts";

/** Most labels of one integration, target or rule, and most values that a rule takes for one. */
const maxLabels = 20;
const maxValues = 100;

const LabelName = v.pipe(
  v.string(),
  v.regex(/^[a-z][a-z0-9_]{0,63}$/, "names must be 1 to 64 lower-case letters, digits or _, and begin with a letter"),
);
const LabelText = v.pipe(
  v.string("must be a string"),
  v.regex(/^[^\s\p{C}](?:[^\p{C}]{0,126}[^\s\p{C}])?$/u, "must be 1 to 128 characters, without spaces around them"),
);
const LabelValue = v.union([LabelText, v.boolean()], "must be a string, or true or false");

/** What one of several values, or any other, must be: labels with a meaning have one type. */
function findTypeProblem(labels: Readonly<Record<string, unknown>>): string | undefined {
  const { region, zero_retention: retention } = labels;
  const all = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);
  if (all(region).some((value) => typeof value !== "string")) return "region must be a string";
  if (all(retention).some((value) => typeof value !== "boolean")) return "zero_retention must be true or false";
  return undefined;
}

const labelsOf = <Value extends v.GenericSchema>(value: Value) =>
  v.pipe(
    v.custom<Record<string, unknown>>(isObject, "must be an object"),
    v.record(LabelName, value),
    v.check((labels) => Object.keys(labels).length <= maxLabels, `must have at most ${maxLabels} labels`),
    v.rawCheck(({ dataset, addIssue }) => {
      const problem = dataset.typed ? findTypeProblem(dataset.value) : undefined;
      if (problem !== undefined) addIssue({ message: problem });
    }),
  );

/** Labels of an integration or of a target: `region`, `zero_retention` and free ones. */
export const Labels = labelsOf(LabelValue);
export type Labels = Readonly<Record<string, string | boolean>>;

/** Labels that a target must have, each with one of its values. */
export const LabelRules = v.pipe(
  labelsOf(
    v.union(
      [
        LabelText,
        v.boolean(),
        v.pipe(
          v.array(LabelValue),
          v.minLength(1, "must have at least one entry"),
          v.maxLength(maxValues, `must have at most ${maxValues} entries`),
        ),
      ],
      "must be a string, true or false, or a list of them",
    ),
  ),
  v.check((rules) => Object.keys(rules).length > 0, "must name at least one label"),
);
export type LabelRules = Readonly<Record<string, string | boolean | readonly (string | boolean)[]>>;

const shownValue = v.union([v.string(), v.boolean()]);

/** Labels in responses. */
export const ShownLabels = v.record(v.string(), shownValue);
/** Rules in responses. */
export const ShownLabelRules = v.record(v.string(), v.union([shownValue, v.array(shownValue)]));

/** The first label that a rule asks for and a target does not have, as `region: eu or ch`; undefined where it has all. */
export function findUnmet(labels: Labels, rules: LabelRules): string | undefined {
  for (const [name, wanted] of Object.entries(rules)) {
    const values = Array.isArray(wanted) ? wanted : [wanted];
    const own = Object.hasOwn(labels, name) ? labels[name] : undefined;
    if (own === undefined || !values.includes(own)) return `${name}: ${values.join(" or ")}`;
  }
  return undefined;
}
