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
/** Schemas of one that is cut off at a depth of references, since it is larger than that when they are expanded. */
const maxSchemasCut = 1_000;
/** Depths of references that are tried, until what they expand to is small enough. */
const depths = [maxDepth, 4, 3, 2, 1, 0];
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
  following: ReadonlySet<string>;
  /** Most references that are expanded within each other. */
  deepest: number;
  depth: number;
  /** Whether a reference was cut off. */
  cut: { off: boolean };
}

/** A schema exceeds what it may be once its references are expanded. */
class TooLarge extends Error {}

/** What converting all schemas of a request may take. */
export function createSchemaBudget(): Budget {
  return new Budget({ source: "caller", what: "the schemas", values: maxSchemasInAll, bytes: maxCharacters });
}

/** Characters of a value that is copied, roughly. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  return typeof value === "object" && value !== null ? JSON.stringify(value).length : 1;
}

function refuseSchema(problem: string): never {
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

/** The type of a schema alone: what is left where its references are not expanded. */
function outlineOf(schema: unknown): Schema {
  if (!isObject(schema)) return {};
  const { type, description, enum: values, const: value, properties, allOf } = schema;
  const isObjects = isObject(properties) || Array.isArray(allOf);
  return {
    ...(type === undefined && isObjects ? { type: "object" } : { type }),
    ...(description !== undefined && { description }),
    ...(values !== undefined && { enum: values }),
    ...(value !== undefined && { const: value }),
  };
}

/** What a reference points to, with the references that lead there; its outline where it cannot be expanded further. */
function expand(reference: string, walk: Walk): { target: Schema; following: ReadonlySet<string> } {
  walk.budget.bytes(reference.length + walk.following.size);
  const target = follow(walk.root, reference);
  if (!isObject(target)) refuseSchema(`${reference.slice(0, 200)} points to nothing`);
  if (walk.following.has(reference) || walk.following.size >= walk.deepest) {
    walk.cut.off = true;
    return { target: outlineOf(target), following: walk.following };
  }
  return { target, following: new Set([...walk.following, reference]) };
}

function withReference(schema: Schema, reference: string, walk: Walk): Schema {
  const { $ref: _, ...rest } = schema;
  const { target, following } = expand(reference, walk);
  return convert({ ...target, ...rest }, { ...walk, following });
}

/** Merges the schemas of `allOf`, and of those in its members, into the rest of the schema. */
class Merger {
  readonly #merged: Schema = {};
  readonly #properties = new Map<string, unknown>();
  readonly #required: unknown[] = [];
  #walk: Walk;

  constructor(walk: Walk) {
    this.#walk = walk;
  }

  add(schema: Schema, depth: number): void {
    if (depth > maxDepth) throw new TooLarge();
    const { allOf: members, $ref: reference, ...own } = schema;
    for (const member of Array.isArray(members) ? members : []) {
      this.#walk.budget.bytes(1);
      if (isObject(member)) this.add(member, depth + 1);
    }
    if (typeof reference === "string") {
      const { target, following } = expand(reference, this.#walk);
      this.#walk = { ...this.#walk, following };
      this.add(target, depth + 1);
    }
    this.#take(own);
  }

  #take({ properties, required, ...rest }: Schema): void {
    const added = Object.entries(isObject(properties) ? properties : {});
    const names: readonly unknown[] = Array.isArray(required) ? required : [];
    this.#walk.budget.bytes(Object.keys(rest).length + added.length + names.length);
    for (const [name, property] of added) this.#properties.set(name, property);
    for (const name of names) this.#required.push(name);
    Object.assign(this.#merged, rest);
  }

  /** The merged schema, converted. */
  convert(): Schema {
    const { type: _, ...untyped } = this.#merged;
    const merged = this.#merged.type === undefined ? untyped : this.#merged;
    return convert(
      {
        ...merged,
        ...(this.#properties.size > 0 && { properties: Object.fromEntries(this.#properties) }),
        ...(this.#required.length > 0 && { required: this.#required }),
      },
      this.#walk,
    );
  }
}

function isNull(schema: unknown): boolean {
  return isObject(schema) && (schema.type === "null" || schema.const === null);
}

/** An alternative with what the schema around it says of each: `anyOf` must be the only keyword there. */
function asAlternative(one: unknown, { type, description }: Schema, walk: Walk): Schema {
  if (!isObject(one)) return {};
  const reference = typeof one.$ref === "string" ? follow(walk.root, one.$ref) : undefined;
  const isDescribed = one.description !== undefined || (isObject(reference) && reference.description !== undefined);
  const isTyped = one.type !== undefined || one.$ref !== undefined || one.const !== undefined || one.enum !== undefined;
  return {
    ...one,
    ...(!isDescribed && description !== undefined && { description }),
    ...(!isTyped && type !== undefined && !combinators.some((name) => one[name] !== undefined) && { type }),
  };
}

const combinators = ["anyOf", "oneOf", "allOf"] as const;

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
  const converted = others.map((one) => convert(asAlternative(one, rest, walk), walk));
  const anyOf = converted.flatMap((one) => (Array.isArray(one.anyOf) ? one.anyOf.filter(isObject) : [one]));
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

/** Enum values: Gemini only accepts strings that are not empty; other values are listed in the description. */
function chooseFrom(values: readonly unknown[], schema: Schema): Schema {
  const others = values.filter((value) => value !== null);
  const nullable = others.length < values.length && { nullable: true };
  if (others.length === 0) return { type: typeOf(schema) ?? "string", ...nullable };
  if (others.every((value) => typeof value === "string" && value !== "")) {
    return { type: "string", enum: others, ...nullable };
  }
  const said = typeof schema.description === "string" ? `${schema.description} ` : "";
  const description = `${said}(one of ${JSON.stringify(others)})`;
  const type = typeOf(schema) ?? (Array.isArray(others[0]) ? "array" : typeof others[0]);
  return { type, description, ...(type === "array" && { items: { type: "string" } }), ...nullable };
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

const types = ["string", "number", "integer", "boolean", "array", "object", "null"];
/** Types of a value of any type. */
const anyType = ["string", "number", "boolean", "object", "array"];

function typeOf(schema: Schema): string | undefined {
  if (typeof schema.type === "string" && types.includes(schema.type.toLowerCase())) return schema.type;
  if (isObject(schema.properties)) return "object";
  return schema.items !== undefined || schema.prefixItems !== undefined ? "array" : undefined;
}

/** A value of any type: each schema must have one, and beside `anyOf` nothing may stand. */
function withAnyType({ description, nullable }: Schema, { budget }: Walk): Schema {
  const said = description === undefined ? {} : { description };
  budget.bytes(anyType.length * (1 + sizeOf(description)));
  const anyOf: Schema[] = anyType.map((type) => ({
    type,
    ...said,
    ...(type === "array" && { items: { type: "string" } }),
  }));
  if (nullable === true) anyOf[0] = { ...anyOf[0], nullable };
  return { anyOf };
}

function convertPlain(schema: Schema, walk: Walk): Schema {
  const type = typeOf(schema);
  const values = schema.const === undefined ? schema.enum : [schema.const];
  if (type === undefined && !Array.isArray(values)) return withAnyType(schema, walk);
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
  if (!Array.isArray(values) || values.length === 0) return type === undefined ? { ...made, type: "string" } : made;
  walk.budget.bytes(sizeOf(values));
  return { ...made, ...chooseFrom(values, schema) };
}

function convert(value: unknown, walk: Walk): Schema {
  const schema = isObject(value) ? value : {};
  walk.budget.value();
  walk.budget.bytes(Object.keys(schema).length);
  if (walk.left.schemas-- <= 0 || walk.depth > maxDepth) throw new TooLarge();
  return convertOne(schema, { ...walk, depth: walk.depth + 1 });
}

function convertOne(value: Schema, walk: Walk): Schema {
  if (typeof value.$ref === "string") return withReference(value, value.$ref, walk);
  if (Array.isArray(value.allOf)) {
    const merger = new Merger(walk);
    merger.add(value, 0);
    return merger.convert();
  }
  const alternatives = value.anyOf ?? value.oneOf;
  if (Array.isArray(alternatives)) return withAlternatives(value, alternatives, walk);
  if (Array.isArray(value.type)) return withTypes(value, value.type, walk);
  return convertPlain(value, walk);
}

/**
 * A JSON schema in Gemini's subset of OpenAPI (https://ai.google.dev/api/caching#Schema): references expanded, null as
 * `nullable`, a type in each schema, unknown keywords removed. References that recur, or expand to too much, are cut off at a
 * depth. The argument is not changed.
 *
 * @param budget Shared by all schemas of a request.
 * @param onCut Called once if something was cut off.
 * @throws {InvalidRequestError} If a reference points to nothing, or the schema is too large without its references.
 * @throws {ExcessError} If all schemas together are too large.
 */
export function toOpenapiSchema(schema: Schema, budget = createSchemaBudget(), onCut: () => void = () => {}): Schema {
  for (const deepest of depths) {
    const isWhole = deepest === maxDepth || deepest === 0;
    const left = { schemas: isWhole ? maxSchemas : maxSchemasCut };
    const cut = { off: false };
    try {
      const made = convert(schema, { root: schema, left, budget, following: new Set(), deepest, depth: 0, cut });
      if (cut.off) onCut();
      return made;
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error;
    }
  }
  return refuseSchema("it is too large");
}
