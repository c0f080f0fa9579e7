import { asObject, isJsonObject, type JsonObject } from "../lib/json.ts";
import { text } from "../text/text.ts";

// What the schema of a row refuses in a body, found before it is sent. Where several schemas may apply and none fits, the one
// that fits best says what is wrong. The gateway checks more than schemas say, so that it has the last word.

/** What is wrong with a value of a body. */
export interface Complaint {
  /** Names of members and places in lists that lead to it, separated by dots: `conditions.0.key`. */
  readonly path: string;
  readonly message: string;
}

const words = text.forms;

interface Place {
  readonly path: string;
  /** The whole document, for references to its definitions. */
  readonly root: JsonObject;
}

const below = ({ path, root }: Place, name: string | number): Place => ({
  path: path === "" ? String(name) : `${path}.${name}`,
  root,
});

/** The types that a schema names; none: any. */
function typesOf({ type }: JsonObject): readonly string[] {
  return Array.isArray(type) ? type.map(String) : typeof type === "string" ? [type] : [];
}

function hasType(value: unknown, type: string): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

const isNumber = (value: unknown): value is number => typeof value === "number";

/** A pattern of a schema; one that this engine cannot read refuses nothing. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

/** What is wrong with a number by its bounds. */
function boundOf(schema: JsonObject, value: number): string | undefined {
  const { minimum, maximum, exclusiveMinimum: above } = schema;
  if (isNumber(minimum) && value < minimum) return words.atLeast({ least: minimum });
  if (isNumber(above) && value <= above) return words.above({ least: above });
  return isNumber(maximum) && value > maximum ? words.atMost({ most: maximum }) : undefined;
}

function lengthOf({ minLength: least, maxLength: most, pattern }: JsonObject, value: string): string | undefined {
  if (isNumber(least) && value.length < least) return value === "" ? text.common.required : words.longer({ least });
  if (isNumber(most) && value.length > most) return words.shorter({ most });
  return typeof pattern === "string" && !matches(pattern, value) ? words.form : undefined;
}

function countOf({ minItems: least, maxItems: most }: JsonObject, value: readonly unknown[]): string | undefined {
  if (isNumber(least) && value.length < least) return value.length === 0 ? text.common.required : words.more({ least });
  return isNumber(most) && value.length > most ? words.fewer({ most }) : undefined;
}

/** What is wrong with a value itself, apart from what is in it. */
function problemOf(schema: JsonObject, value: unknown): string | undefined {
  const types = typesOf(schema);
  if (types.length > 0 && !types.some((type) => hasType(value, type))) {
    return value === null ? text.common.required : words.type({ types: types.join(", ") });
  }
  if ("const" in schema && value !== schema.const) return words.choice({ choices: String(schema.const) });
  if (Array.isArray(schema.enum) && !schema.enum.includes(value))
    return words.choice({ choices: schema.enum.join(", ") });
  if (isNumber(value)) return boundOf(schema, value);
  if (typeof value === "string") return lengthOf(schema, value);
  return Array.isArray(value) ? countOf(schema, value) : undefined;
}

/** Complaints about members of an object and entries of a list. */
function innerComplaints(schema: JsonObject, value: unknown, place: Place): readonly Complaint[] {
  if (Array.isArray(value)) {
    return value.flatMap((entry, index) => check(schema.items, entry, below(place, index)));
  }
  if (!isJsonObject(value)) return [];
  const properties = asObject(schema.properties);
  const missing = (Array.isArray(schema.required) ? schema.required.map(String) : [])
    .filter((name) => value[name] === undefined)
    .map((name) => ({ path: below(place, name).path, message: text.common.required }));
  const inside = Object.entries(value).flatMap(([name, member]) =>
    Object.hasOwn(properties, name) ? check(properties[name], member, below(place, name)) : [],
  );
  return [...missing, ...inside];
}

/** The complaints of the schema that fits best: one of the value's type, then the one with the fewest. */
function bestOf(schemas: readonly unknown[], value: unknown, place: Place): readonly Complaint[] {
  const tried = schemas.map((schema) => check(schema, value, place));
  const isWhole = (complaints: readonly Complaint[]) => complaints.some(({ path }) => path === place.path);
  const [best = []] = tried.toSorted(
    (one, other) => Number(isWhole(one)) - Number(isWhole(other)) || one.length - other.length,
  );
  // with null alone beside it, the other schema says what is wrong
  const [only, ...others] = tried.filter((_, index) => asObject(schemas[index]).type !== "null");
  return best.length > 0 && only !== undefined && others.length === 0 ? only : best;
}

function check(written: unknown, value: unknown, place: Place): readonly Complaint[] {
  const named = asObject(written).$ref;
  const schema =
    typeof named === "string" ? asObject(asObject(place.root.$defs)[named.replace("#/$defs/", "")]) : asObject(written);
  const problem = problemOf(schema, value);
  if (problem !== undefined) return [{ path: place.path, message: problem }];
  const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray);
  return [
    ...innerComplaints(schema, value, place),
    ...(alternatives === undefined ? [] : bestOf(alternatives, value, place)),
  ];
}

/** What the schema of a row refuses in a body. */
export function complaintsOf(schema: JsonObject, body: unknown): readonly Complaint[] {
  return check(schema, body, { path: "", root: schema });
}

/** Whether a member must be in a body, by its dotted path: each schema that may apply asks for it. */
export function isRequired(schema: JsonObject, name: string): boolean {
  const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (alternatives !== undefined) return alternatives.every((one) => isRequired(asObject(one), name));
  const [first = "", ...rest] = name.split(".");
  const isNamed = Array.isArray(schema.required) && schema.required.includes(first);
  return isNamed && (rest.length === 0 || isRequired(asObject(asObject(schema.properties)[first]), rest.join(".")));
}
