import { isObject } from "../../lib/json.ts";

type Schema = Record<string, unknown>;

/** Deeper schemas are sent as they are. */
const maxDepth = 60;
const maps = ["properties", "$defs", "definitions"];
const lists = ["anyOf", "oneOf", "allOf", "prefixItems"];
const singles = ["items", "additionalProperties"];

/** References to `definitions` point to `$defs`, the only place that Google knows. */
const toReference = (reference: string): string => reference.replace(/^#\/definitions\//, "#/$defs/");

/** One value as an `enum`, which strings and numbers can have. */
function withoutConstant({ const: value, ...schema }: Schema): Schema {
  if (typeof value === "string" || typeof value === "number") return { ...schema, enum: [value] };
  return value === null || typeof value === "boolean"
    ? { type: value === null ? "null" : "boolean", ...schema }
    : schema;
}

/** A reference: only members that begin with `$` may stand beside it. */
function fromReference(schema: Schema, reference: string): Schema {
  const beside = Object.entries(schema).filter(([name]) => name.startsWith("$"));
  return { ...Object.fromEntries(beside), $ref: toReference(reference) };
}

/** A list of one schema, as generators write it around a reference, is that schema. */
function withoutSingleList(schema: Schema): Schema {
  const { allOf: all, ...rest } = schema;
  if (!Array.isArray(all) || all.length !== 1 || !isObject(all[0])) return schema;
  return { ...all[0], ...rest };
}

function convert(value: unknown, depth: number): unknown {
  if (!isObject(value) || depth > maxDepth) return value;
  const schema = withoutSingleList(value);
  const convertAll = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map((one: unknown) => convert(one, depth + 1));
    return isObject(part)
      ? Object.fromEntries(Object.entries(part).map(([name, one]) => [name, convert(one, depth + 1)]))
      : part;
  };
  const made = Object.fromEntries(
    Object.entries(schema).map(([name, part]) => {
      const key = name === "definitions" ? "$defs" : name;
      if (maps.includes(name) || lists.includes(name)) return [key, convertAll(part)];
      return [key, singles.includes(name) ? convert(part, depth + 1) : part];
    }),
  );
  if (typeof made.$ref === "string") return fromReference(made, made.$ref);
  return "const" in made ? withoutConstant(made) : made;
}

/**
 * A JSON schema of a response as Google takes it
 * (https://ai.google.dev/api/generate-content#generationconfig, `responseJsonSchema`). The argument is not changed.
 */
export function toResponseSchema({ $schema: _, ...schema }: Schema): unknown {
  return convert(schema, 0);
}
