import type * as v from "valibot";

/** Names of the schema library's types for users of JSON. */
const typeNames: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  Array: "a list",
  Object: "an object",
  null: "null",
};

/** The types and values of a union in the schema library's notation: `(string | Array)`. */
function readUnion(expected: string): readonly string[] {
  return expected.startsWith("(") && expected.endsWith(")") ? expected.slice(1, -1).split(" | ") : [expected];
}

function describeExpected(expected: string | null): string | undefined {
  const names = readUnion(expected ?? "")
    .filter((name) => name !== "undefined")
    .map((name) => typeNames[name] ?? (/^(?:"|-?\d)/.test(name) ? name : undefined));
  if (names.length === 0 || names.includes(undefined)) return undefined;
  const unique = [...new Set(names)];
  const last = unique.pop();
  return unique.length === 0 ? `must be ${last}` : `must be ${unique.join(", ")} or ${last}`;
}

function describeLength({ expected, input }: v.BaseIssue<unknown>): string {
  const [, sign, count] = /^([<>]=?|!)?(\d+)$/.exec(expected ?? "") ?? [];
  if (sign === ">=" && count === "1") return "must not be empty";
  const unit = typeof input === "string" ? "characters" : Array.isArray(input) ? "items" : "members";
  if (sign === ">=") return `must have at least ${count} ${unit}`;
  return sign === "<=" ? `must have at most ${count} ${unit}` : `must have ${count} ${unit}`;
}

const valueSigns: Readonly<Record<string, string>> = {
  ">=": "must be at least",
  "<=": "must be at most",
  ">": "must be above",
  "<": "must be below",
};

/** Problems by the type of a failed check that has no message. */
const checks: Readonly<Record<string, string>> = {
  integer: "must be a whole number",
  safe_integer: "must be a whole number up to 2^53",
  finite: "must be a finite number",
  uuid: "must be a UUID",
  non_empty: "must not be empty",
};

function describeCheck(issue: v.BaseIssue<unknown>): string {
  const { type, expected } = issue;
  const known = Object.hasOwn(checks, type) ? checks[type] : undefined;
  if (known !== undefined) return known;
  if (/(?:length|entries|size)$/.test(type)) return describeLength(issue);
  const [, sign = "", bound] = /^([<>]=?)(.+)$/.exec(expected ?? "") ?? [];
  const words = valueSigns[sign];
  return words === undefined ? "has a value that cannot be used" : `${words} ${bound}`;
}

/**
 * Describes an issue, to follow the name of its field. The value is left out: it may be long, or secret.
 */
function describeIssue(issue: v.BaseIssue<unknown>): string {
  const { kind, expected, received } = issue;
  if (kind !== "schema") return describeCheck(issue);
  if (expected === "never") return "is not a known field";
  if (received === "undefined") return "required";
  return describeExpected(expected) ?? "has a value that cannot be used";
}

/** Schema options that replace the library's messages by plain ones. */
export const plainIssues = { message: describeIssue } as const;

/** As `plainIssues`, and stops at the first issue. */
export const firstPlainIssue = { message: describeIssue, abortEarly: true } as const;
