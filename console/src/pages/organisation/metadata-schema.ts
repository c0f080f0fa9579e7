// Schemas of metadata as lines of a form: a line for each name, which values it may have, and whether it must be there.

import { asObject, isJsonObject, type JsonObject } from "@/lib/json.ts";
import type { Field } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const words = text.settings;

/** The inputs of a line. */
export const metadataColumns: readonly Field[] = [
  { name: "name", label: text.common.name, kind: "text", required: true },
  { name: "values", label: words.allowedValues, kind: "tags", placeholder: words.anyValue },
  { name: "required", label: text.common.required, kind: "switch" },
];

/** The lines of a schema. What a property has besides its values stays with its line. */
export function readMetadataSchema(schema: unknown): unknown {
  const { properties, required } = asObject(schema);
  return Object.entries(asObject(properties)).map(([name, property]) => {
    const { enum: values, ...others } = asObject(property);
    return { name, values, required: Array.isArray(required) && required.includes(name), others };
  });
}

/** The schema of lines; undefined without any. */
export function toMetadataSchema(value: unknown): unknown {
  const lines = (Array.isArray(value) ? value : []).filter(isJsonObject).filter(({ name = "" }) => name !== "");
  if (lines.length === 0) return undefined;
  const toProperty = ({ values, others }: JsonObject) => ({
    type: "string",
    ...(isJsonObject(others) && others),
    ...(Array.isArray(values) && values.length > 0 && { enum: values }),
  });
  return {
    type: "object",
    properties: Object.fromEntries(lines.map((line) => [String(line.name), toProperty(line)])),
    required: lines.filter(({ required }) => required === true).map(({ name }) => String(name)),
    additionalProperties: true,
  };
}

const known = new Set(["type", "properties", "required", "additionalProperties"]);

/** Whether the lines of a schema say all that it says. */
export const isPlainSchema = (schema: unknown): boolean =>
  !isJsonObject(schema) || Object.keys(schema).every((name) => known.has(name));
