import { isObject } from "../../lib/json.ts";

type Schema = Record<string, unknown>;

const combinators = ["anyOf", "oneOf", "allOf"] as const;

/** The schema behind a local reference to a definition; the schema itself where it is not a reference. */
function resolve(schema: unknown, root: Schema): unknown {
  if (!isObject(schema) || typeof schema.$ref !== "string") return schema;
  const [, holder = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(schema.$ref) ?? [];
  const definitions = root[holder];
  return isObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : schema;
}

const namesIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((name): name is string => typeof name === "string") : [];

/** Two schemas for one property: either. */
function joinProperty(known: unknown, other: unknown): unknown {
  if (known === undefined || JSON.stringify(known) === JSON.stringify(other)) return other;
  if (isObject(known) && isObject(other) && "const" in known && "const" in other) {
    return { enum: [known.const, other.const] };
  }
  if (isObject(known) && Array.isArray(known.enum) && isObject(other) && "const" in other) {
    return { ...known, enum: [...new Set([...known.enum, other.const])] };
  }
  const alternatives = isObject(known) && Array.isArray(known.anyOf) ? known.anyOf : [known];
  return { anyOf: [...alternatives, other] };
}

const schemaMaps = ["properties", "$defs", "definitions"] as const;
const schemaLists = ["anyOf", "oneOf", "allOf", "prefixItems"] as const;
/** Deeper schemas are sent as they are. */
const maxDepth = 32;

const isList = ({ type }: Schema): boolean => type === "array" || (Array.isArray(type) && type.includes("array"));

/** The schema with `items` in every list: hosts refuse lists without. The same schema where nothing is missing. */
function withItems(schema: unknown, depth = 0): unknown {
  if (!isObject(schema) || depth > maxDepth) return schema;
  let made = schema;
  const set = (name: string, value: unknown) => {
    if (value !== made[name]) made = { ...made, [name]: value };
  };
  if (isList(schema) && schema.items === undefined && schema.prefixItems === undefined) set("items", {});
  set("items", withItems(schema.items, depth + 1) ?? made.items);
  for (const name of schemaMaps) {
    const held = schema[name];
    if (!isObject(held)) continue;
    const entries = Object.entries(held).map(([key, one]) => [key, withItems(one, depth + 1)] as const);
    if (entries.some(([key, one]) => one !== held[key])) set(name, Object.fromEntries(entries));
  }
  for (const name of schemaLists) {
    const list = schema[name];
    if (!Array.isArray(list)) continue;
    const members = list.map((one: unknown) => withItems(one, depth + 1));
    if (members.some((one, index) => one !== list[index])) set(name, members);
  }
  return made;
}

/** A function's schema in the form that nearly all hosts take: one object at its root, and lists with `items`. */
export function fitSchema(
  schema: Schema,
  { takesRootCombinators = false }: { takesRootCombinators?: boolean },
): Schema {
  const folded = takesRootCombinators ? schema : foldRoot(schema);
  const made = withItems(folded);
  return isObject(made) ? made : folded;
}

/**
 * A function's schema as one object: `anyOf`, `oneOf` and `allOf` at its root are folded into the union of their properties.
 * Required is what all alternatives require. Most hosts refuse these keywords there. The same schema where it has none.
 */
function foldRoot(schema: Schema): Schema {
  if (!combinators.some((keyword) => Array.isArray(schema[keyword]))) {
    return schema.type === "object" ? schema : { ...schema, type: "object" };
  }
  const { anyOf: any, oneOf: one, allOf: all, ...rest } = schema;
  const properties: Schema = isObject(rest.properties) ? { ...rest.properties } : {};
  const required = new Set(namesIn(rest.required));
  const take = (value: unknown): string[] => {
    const member = resolve(value, schema);
    if (!isObject(member)) return [];
    const folded = foldRoot(member);
    const own = isObject(folded.properties) ? folded.properties : {};
    for (const [name, property] of Object.entries(own)) {
      const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
      Object.defineProperty(properties, name, {
        value: joinProperty(known, property),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return namesIn(folded.required);
  };
  for (const member of Array.isArray(all) ? all : []) for (const name of take(member)) required.add(name);
  for (const alternatives of [any, one]) {
    if (!Array.isArray(alternatives) || alternatives.length === 0) continue;
    const lists = alternatives.map(take);
    const common = lists.reduce((shared, names) => shared.filter((name) => names.includes(name)));
    for (const name of common) required.add(name);
  }
  const { required: _, ...kept } = rest;
  return { ...kept, type: "object", properties, ...(required.size > 0 && { required: [...required] }) };
}
