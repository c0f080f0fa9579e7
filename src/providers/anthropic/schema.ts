import { isObject } from "../../lib/json.ts";

type Schema = Record<string, unknown>;

/**
 * Keywords Claude rejects in response schemas (https://docs.claude.com/en/docs/build-with-claude/structured-outputs).
 */
const refusedKeywords = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "minContains",
  "maxContains",
]);
const schemaMaps = new Set(["properties", "$defs", "definitions"]);
const schemaLists = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);

/** Whether a schema asks for members that it does not name. */
const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== false;

const mapSchema = (value: unknown, onRefused: (keyword: string) => void): unknown =>
  isObject(value) ? toAnswerSchema(value, onRefused) : value;

function mapMember(name: string, value: unknown, onRefused: (keyword: string) => void): unknown {
  if (schemaMaps.has(name) && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, schema]) => [key, mapSchema(schema, onRefused)]));
  }
  if (schemaLists.has(name) && Array.isArray(value)) return value.map((schema) => mapSchema(schema, onRefused));
  return name === "items" || name === "not" ? mapSchema(value, onRefused) : value;
}

/** The schema as Claude accepts it: `additionalProperties: false` on every object, and no unsupported keywords. */
export function toAnswerSchema(schema: Schema, onRefused: (keyword: string) => void): Schema {
  const converted: Schema = {};
  for (const [name, value] of Object.entries(schema)) {
    const isRefused = refusedKeywords.has(name) || (name === "minItems" && Number(value) > 1);
    if (isRefused) onRefused(name);
    // Claude has no oneOf: anyOf is the nearest keyword
    else converted[name === "oneOf" && !("anyOf" in schema) ? "anyOf" : name] = mapMember(name, value, onRefused);
  }
  const { type } = converted;
  const isObjectType =
    type === "object" || (Array.isArray(type) && type.includes("object")) || isObject(converted.properties);
  if (isObjectType) {
    // members without a name in the schema cannot be in the response
    if (isGiven(converted.additionalProperties)) onRefused("additionalProperties");
    converted.additionalProperties = false;
  }
  return converted;
}
