import { InvalidRequestError } from "../../errors.ts";
import { Budget } from "../../lib/budget.ts";
import { isObject } from "../../lib/json.ts";

type Schema = Record<string, unknown>;

/** Keywords that are copied unchanged (https://ai.google.dev/api/caching#Schema). */
const plainKeywords = [
  "title",
  "description",
  "pattern",
  "minimum",
  "maximum",
  "nullable",
  "propertyOrdering",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
];
const formats: Readonly<Record<string, readonly string[]>> = {
  string: ["enum", "date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};

/** Limits of one schema, and of all schemas of a request: references can expand a short schema without end. */
const maxSchemas = 10_000;
const maxSchemasInAll = 200_000;
const maxDepth = 60;
/** Most characters that are copied, of all schemas of a request. */
const maxCharacters = 4 * 2 ** 20;

/** State of one conversion: its references and its remaining budget. */
interface Walk {
  root: Schema;
  /** Schemas that this one may still have once it is expanded. */
  left: { schemas: number };
  /** Shared by all schemas of a request. */
  budget: Budget;
  /** References that are being expanded. */
  following: readonly string[];
  depth: number;
}

/** What converting all schemas of a request may take. */
export function createSchemaBudget(): Budget {
  return new Budget({ source: "caller", what: "the schemas", values: maxSchemasInAll, bytes: maxCharacters });
}

/** Characters of a value that is copied, roughly. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  return typeof value === "object" && value !== null ? JSON.stringify(value).length : 1;
}

function refuse(problem: string): never {
  throw new InvalidRequestError(`Cannot send this schema: ${problem}`, { code: "invalid_schema" });
}

/** The schema a local reference points to. */
function follow(root: Schema, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let found: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = Reflect.get(found, name);
  }
  return found;
}

function withReference(schema: Schema, reference: string, walk: Walk): Schema {
  const { $ref: _, ...rest } = schema;
  walk.budget.bytes(reference.length);
  // a recursive schema cannot be expanded
  if (walk.following.includes(reference)) return convert({ type: "object", ...rest }, walk);
  const target = follow(walk.root, reference);
  if (!isObject(target)) refuse(`${reference.slice(0, 200)} points to nothing`);
  return convert({ ...target, ...rest }, { ...walk, following: [...walk.following, reference] });
}

/** Merges the schemas of `allOf` into the rest of the schema. */
function mergeAll(members: readonly unknown[], rest: Schema, { root, budget }: Walk): Schema {
  const merged: Schema = { ...rest };
  const properties = new Map<string, unknown>();
  const required: unknown[] = [];
  const take = (schema: Schema) => {
    const added = Object.entries(isObject(schema.properties) ? schema.properties : {});
    const names: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
    budget.bytes(Object.keys(schema).length + added.length + names.length);
    for (const [name, property] of added) properties.set(name, property);
    for (const name of names) required.push(name);
  };
  take(rest);
  for (const member of members) {
    const reference = isObject(member) && typeof member.$ref === "string" ? member.$ref : "";
    budget.bytes(1 + reference.length);
    const target = reference === "" ? member : follow(root, reference);
    if (!isObject(target)) continue;
    take(target);
    Object.assign(merged, target);
  }
  if (properties.size > 0) merged.properties = Object.fromEntries(properties);
  if (required.length > 0) merged.required = required;
  return merged;
}

function isNull(schema: unknown): boolean {
  return isObject(schema) && (schema.type === "null" || schema.const === null);
}

/** Alternatives: `null` becomes `nullable`, and a single alternative replaces the list. */
function withAlternatives(schema: Schema, alternatives: readonly unknown[], walk: Walk): Schema {
  walk.budget.bytes(alternatives.length);
  const { anyOf: _any, oneOf: _one, ...rest } = schema;
  const others = alternatives.filter((one) => !isNull(one));
  const nullable = others.length < alternatives.length || rest.nullable === true;
  const [first] = others;
  if (others.length === 1 && isObject(first))
    return convert({ ...rest, ...first, ...(nullable && { nullable }) }, walk);
  // anyOf must be the only keyword, and the keywords beside it are more specific
  if (isObject(rest.properties) || rest.items !== undefined || others.length === 0) {
    return convert({ ...rest, ...(nullable && { nullable }) }, walk);
  }
  const anyOf = others.map((one) => convert(one, walk));
  if (nullable && anyOf[0]) anyOf[0] = { ...anyOf[0], nullable };
  return { anyOf };
}

/** Several types as alternatives; each gets the keywords that belong to it. */
function withTypes(schema: Schema, types: readonly unknown[], walk: Walk): Schema {
  walk.budget.bytes(types.length);
  const { type: _, items, prefixItems, properties, required, ...rest } = schema;
  const members = types.map((type) => {
    if (type === "array") return { type, items, prefixItems };
    return type === "object" ? { type, properties, required } : { type };
  });
  return withAlternatives(rest, members, walk);
}

/** Enum values: Gemini only accepts strings; other values are listed in the description. */
function chooseFrom(values: readonly unknown[], schema: Schema): Schema {
  const others = values.filter((value) => value !== null);
  const nullable = others.length < values.length && { nullable: true };
  if (others.length > 0 && others.every((value) => typeof value === "string")) {
    return { type: "string", enum: others, ...nullable };
  }
  const said = typeof schema.description === "string" ? `${schema.description} ` : "";
  const description = `${said}(one of ${JSON.stringify(others)})`;
  const type = schema.type ?? (typeof others[0] === "object" ? "object" : typeof others[0]);
  return { type, description, ...nullable };
}

function itemsOf({ items, prefixItems }: Schema, walk: Walk): Schema {
  if (isObject(items) && Object.keys(items).length > 0) return convert(items, walk);
  if (Array.isArray(prefixItems) && prefixItems.length > 0) return withAlternatives({}, prefixItems, walk);
  return { type: "string" }; // Gemini requires an item type
}

function convertNamed(name: string, schema: unknown, walk: Walk): Schema {
  walk.budget.bytes(name.length);
  return convert(schema, walk);
}

/** Properties of an object; `required` may name only properties that exist. */
function membersOf({ properties, required }: Schema, walk: Walk): Schema {
  if (Array.isArray(required)) walk.budget.bytes(sizeOf(required));
  if (!isObject(properties) || Object.keys(properties).length === 0) return {};
  const converted = Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [name, convertNamed(name, one, walk)]),
  );
  const names = Array.isArray(required)
    ? [...new Set(required)].filter((name) => typeof name === "string" && Object.hasOwn(converted, name))
    : [];
  return { properties: converted, ...(names.length > 0 && { required: names }) };
}

function typeOf(schema: Schema): string | undefined {
  if (typeof schema.type === "string") return schema.type;
  if (isObject(schema.properties)) return "object";
  return schema.items !== undefined || schema.prefixItems !== undefined ? "array" : undefined;
}

function convertPlain(schema: Schema, walk: Walk): Schema {
  const type = typeOf(schema);
  const made: Schema = type === undefined ? {} : { type };
  for (const keyword of plainKeywords) {
    if (schema[keyword] === undefined) continue;
    walk.budget.bytes(sizeOf(schema[keyword]));
    made[keyword] = schema[keyword];
  }
  const { format } = schema;
  const known = type !== undefined && Object.hasOwn(formats, type) ? formats[type] : undefined;
  if (typeof format === "string" && known?.includes(format)) made.format = format;
  const kind = type?.toLowerCase();
  if (kind === "object") Object.assign(made, membersOf(schema, walk));
  if (kind === "array") made.items = itemsOf(schema, walk);
  const values = schema.const === undefined ? schema.enum : [schema.const];
  if (!Array.isArray(values)) return made;
  walk.budget.bytes(sizeOf(values));
  return { ...made, ...chooseFrom(values, schema) };
}

function convert(value: unknown, walk: Walk): Schema {
  if (!isObject(value)) return {};
  walk.budget.value();
  walk.budget.bytes(Object.keys(value).length);
  if (walk.left.schemas-- <= 0 || walk.depth > maxDepth) refuse("it is too large once its references are expanded");
  return convertOne(value, { ...walk, depth: walk.depth + 1 });
}

function convertOne(value: Schema, walk: Walk): Schema {
  if (typeof value.$ref === "string") return withReference(value, value.$ref, walk);
  if (Array.isArray(value.allOf)) {
    const { allOf, ...rest } = value;
    return convert(mergeAll(allOf, rest, walk), walk);
  }
  const alternatives = value.anyOf ?? value.oneOf;
  if (Array.isArray(alternatives)) return withAlternatives(value, alternatives, walk);
  if (Array.isArray(value.type)) return withTypes(value, value.type, walk);
  return convertPlain(value, walk);
}

/**
 * A JSON schema in Gemini's subset of OpenAPI (https://ai.google.dev/api/caching#Schema): references expanded, null as
 * `nullable`, unknown keywords removed. The argument is not changed.
 *
 * @param budget Shared by all schemas of a request.
 * @throws {InvalidRequestError} If a reference points to nothing, or the expanded schema is too large.
 * @throws {ExcessError} If all schemas together are too large.
 */
export function toOpenapiSchema(schema: Schema, budget = createSchemaBudget()): Schema {
  return convert(schema, { root: schema, left: { schemas: maxSchemas }, budget, following: [], depth: 0 });
}
