/** Longest `$id`, `$anchor` and `$ref`. */
const maxReferenceLength = 1_000;

/** Keywords of one schema, without those whose values contain schemas. */
export interface SchemaKeywords {
  readonly $id?: string;
  readonly $anchor?: string;
  readonly $ref?: string;
  readonly pattern?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly type?: string | readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minContains?: number;
  readonly maxContains?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly uniqueItems?: boolean;
  readonly required?: readonly string[];
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>;
}

/** Why the value of a keyword cannot be used. */
interface KeywordProblem {
  readonly problem: string;
  /** The keyword, and names or indexes inside its value, with dots between them. */
  readonly path: string;
}

/** What is wrong with a value, and where inside it; undefined if nothing is. */
type Check = (value: unknown) => { problem: string; inside?: string } | undefined;

/** Whether a value is a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const must = (problem: string, isMet: (value: unknown) => boolean): Check => {
  return (value) => (isMet(value) ? undefined : { problem: `must be ${problem}` });
};

/** The first problem of a value that each check may have. */
const all = (...checks: readonly Check[]): Check => {
  return (value) => {
    for (const check of checks) {
      const found = check(value);
      if (found) return found;
    }
    return undefined;
  };
};

/** The first problem of the members of a list or an object. */
const each = (check: Check): Check => {
  return (value) => {
    for (const [name, member] of Object.entries(value as object)) {
      const found = check(member);
      if (found) return { ...found, inside: found.inside === undefined ? name : `${name}.${found.inside}` };
    }
    return undefined;
  };
};

const text = must("a string", (value) => typeof value === "string");
const shortText: Check = (value) =>
  (value as string).length > maxReferenceLength
    ? { problem: `must have at most ${maxReferenceLength} characters` }
    : undefined;
const reference = all(text, shortText);
const number = must("a number", (value) => typeof value === "number" && !Number.isNaN(value));
const divisor = all(
  number,
  must("above 0", (value) => (value as number) > 0),
);
const count = all(
  number,
  must("a whole number", Number.isInteger),
  must("at least 0", (value) => (value as number) >= 0),
);
const list = must("a list", Array.isArray);
const names = all(list, each(text));
const types = ["array", "boolean", "integer", "null", "number", "object", "string"];
const unusable = { problem: "has a value that cannot be used" };
const type: Check = (value) =>
  (Array.isArray(value) ? value : [value]).every((one) => types.includes(one)) ? undefined : unusable;

/** Keywords that are read. All others have no effect, or belong to other drafts: they are ignored. */
const checks: Readonly<Record<keyof SchemaKeywords, Check>> = {
  $id: reference,
  $anchor: reference,
  $ref: reference,
  pattern: text,
  format: text,
  enum: list,
  const: () => undefined,
  type,
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: divisor,
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minContains: count,
  maxContains: count,
  minProperties: count,
  maxProperties: count,
  uniqueItems: must("true or false", (value) => typeof value === "boolean"),
  required: names,
  dependentRequired: all(
    must("an object", (value) => typeof value === "object" && value !== null),
    each(names),
  ),
};

/** The known keywords of a schema, or why one of them cannot be used. */
export function readKeywords(written: Readonly<Record<string, unknown>>): SchemaKeywords | KeywordProblem {
  const found: Record<string, unknown> = {};
  for (const [keyword, check] of Object.entries(checks)) {
    if (!Object.hasOwn(written, keyword) || written[keyword] === undefined) continue;
    const wrong = check(written[keyword]);
    if (wrong) {
      return { problem: wrong.problem, path: wrong.inside === undefined ? keyword : `${keyword}.${wrong.inside}` };
    }
    found[keyword] = written[keyword];
  }
  return found;
}
