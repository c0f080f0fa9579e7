import { isObject } from "../../lib/json.ts";
import { type Members, membersOf, numberOf } from "./members.ts";

/** 64-bit integers, which the Gemini API writes as strings. */
const counts = new Set(["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]);
/** Fields that JSON Schema does not have. */
const dropped = new Set(["propertyOrdering", "example", "nullable"]);
const lists = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const single = new Set(["items", "additionalProperties"]);

function toTypeName(type: unknown): unknown {
  if (Array.isArray(type)) return type.map(toTypeName);
  return typeof type === "string" ? type.toLowerCase() : type;
}

function toMember(name: string, value: unknown): unknown {
  if (name === "type") return toTypeName(value);
  if (counts.has(name)) return numberOf(value);
  if (single.has(name)) return isObject(value) ? toJsonSchema(value) : value;
  if (lists.has(name) && Array.isArray(value)) return value.map(toJsonSchema);
  // names of properties are the caller's
  if ((name === "properties" || name === "$defs" || name === "defs") && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([property, one]) => [property, toJsonSchema(one)]));
  }
  return value;
}

/** Makes a schema accept null. */
function withNull(schema: Members): Members {
  const { type, anyOf, enum: values } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  if (typeof type !== "string") return schema;
  return { ...schema, type: [type, "null"], ...(Array.isArray(values) && { enum: [...values, null] }) };
}

/**
 * A JSON schema from one in Google's subset of OpenAPI (https://ai.google.dev/api/caching#Schema): lower-case types, null as
 * a type. JSON schemas are returned unchanged.
 */
export function toJsonSchema(value: unknown): Members {
  const given = membersOf(value);
  const made: Members = {};
  for (const [name, one] of Object.entries(given)) {
    if (dropped.has(name) || one === undefined || one === null || one === "TYPE_UNSPECIFIED") continue;
    made[name] = toMember(name, one);
  }
  return given.nullable === true ? withNull(made) : made;
}
