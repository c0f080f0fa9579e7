import { isObject, objectsIn } from "../../lib/json.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Deepest schema that is mended. */
const maxDepth = 64;
/** Keywords with a schema or a list of schemas, and with schemas by name. */
const within = new Set([
  "items",
  "prefixItems",
  "additionalProperties",
  "contains",
  "not",
  "if",
  "then",
  "else",
  "anyOf",
  "oneOf",
  "allOf",
]);
const named = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
/** Keywords that providers refuse beside the arguments of a function. */
const refusedAtTop = new Set(["anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else"]);

function typesOf({ type }: Schema): unknown[] {
  if (Array.isArray(type)) return type;
  return type === undefined ? [] : [type];
}

/** A schema and those within it, with `items` for each list: providers refuse lists without. */
function withItems(value: unknown, depth = 0): unknown {
  if (depth > maxDepth) return value;
  if (Array.isArray(value)) return value.map((one) => withItems(one, depth + 1));
  if (!isObject(value)) return value;
  const mended = Object.entries(value).map(([name, one]): [string, unknown] => {
    if (within.has(name)) return [name, withItems(one, depth + 1)];
    if (!named.has(name) || !isObject(one)) return [name, one];
    return [name, Object.fromEntries(Object.entries(one).map(([key, part]) => [key, withItems(part, depth + 1)]))];
  });
  const schema: Record<string, unknown> = Object.fromEntries(mended);
  // until draft 2019-09, a list of schemas stood for the items at their places
  const isUnknown = schema.items === undefined || Array.isArray(schema.items);
  return typesOf(schema).includes("array") && isUnknown ? { ...schema, items: {} } : schema;
}

/** Properties of a schema and of the schemas that it is composed of. */
function propertiesOf(schema: Schema, depth = 0): Record<string, unknown> {
  const parts = ["allOf", "anyOf", "oneOf"].flatMap((name) => objectsIn(schema[name]));
  const inner = depth < 4 ? parts.map((part) => propertiesOf(part, depth + 1)) : [];
  return Object.assign({}, ...inner, isObject(schema.properties) ? schema.properties : {});
}

/**
 * The schema of a tool's arguments in a form that providers take as parameters of a function: an object, not composed of
 * others, with `items` for each list. It may accept more than the tool does, whose call is checked by its own schema.
 *
 * @returns Undefined if arguments are no object.
 */
export function toModelSchema(schema: Schema): Record<string, unknown> | undefined {
  const types = typesOf(schema);
  if (types.length > 0 && !types.includes("object")) return undefined;
  const rest = Object.fromEntries(Object.entries(schema).filter(([name]) => !refusedAtTop.has(name)));
  const mended = withItems({ ...rest, properties: propertiesOf(schema) });
  return isObject(mended) ? { ...mended, type: "object" } : undefined;
}
