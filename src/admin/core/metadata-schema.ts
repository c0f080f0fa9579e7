import { checkJson } from "../../../packages/json-schema/src/check.ts";
import { type JsonSchema, JsonSchemaError, readJsonSchema } from "../../../packages/json-schema/src/schema.ts";
import type { OrganisationRow } from "../../db/tables/tenants.ts";
import { isObject } from "../../lib/json.ts";
import { refuseField } from "./request.ts";

/** Metadata of a record: strings by name. */
export type RecordMetadata = Record<string, string>;

/** Fields of an organisation's settings that hold a schema. */
export const metadataSchemaMembers = {
  apiKey: "api_key_metadata_schema",
  workspace: "workspace_metadata_schema",
} as const;

/** Keywords a schema may have. None of them runs a user's pattern, or refers to another schema. */
const schemaKeywords = new Set([
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "type",
  "properties",
  "required",
  "additionalProperties",
]);

/** Keywords one of its properties may have. */
const propertyKeywords = new Set([
  "type",
  "enum",
  "const",
  "default",
  "minLength",
  "maxLength",
  "$comment",
  "title",
  "description",
  "examples",
]);

function requireKeywords(schema: Record<string, unknown>, known: ReadonlySet<string>, param: string): void {
  for (const name of Object.keys(schema)) {
    if (!known.has(name)) refuseField(`${param}.${name}`, `cannot be used here: use ${[...known].join(", ")}`);
  }
}

/**
 * Checks that a value can be a schema for metadata: JSON Schema draft 7, an object whose fields are strings and that
 * allows others.
 *
 * @throws {InvalidRequestError} AB01, naming `param`.
 */
export function requireMetadataSchema(value: unknown, param: string): void {
  if (!isObject(value)) throw refuseField(param, "must be a JSON schema");
  requireKeywords(value, schemaKeywords, param);
  if (value.type !== "object") refuseField(`${param}.type`, "must be object");
  if (value.additionalProperties !== true) refuseField(`${param}.additionalProperties`, "must be true");
  const { properties = {}, required = [] } = value;
  if (!isObject(properties)) throw refuseField(`${param}.properties`, "must be an object");
  for (const [name, property] of Object.entries(properties)) {
    if (!isObject(property) || property.type !== "string") {
      throw refuseField(`${param}.properties.${name}.type`, "must be string");
    }
    requireKeywords(property, propertyKeywords, `${param}.properties.${name}`);
  }
  if (!Array.isArray(required) || required.some((name) => typeof name !== "string")) {
    refuseField(`${param}.required`, "must be a list of names");
  }
  readSchema(value, param);
}

function readSchema(schema: unknown, param: string): JsonSchema {
  try {
    return readJsonSchema(schema);
  } catch (error) {
    if (!(error instanceof JsonSchemaError)) throw error;
    throw refuseField([param, ...error.path].join("."), error.problem);
  }
}

/** Metadata with the schema's defaults for missing fields. */
function fillDefaults(schema: Record<string, unknown>, metadata: RecordMetadata): RecordMetadata {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const filled = Object.entries(properties).flatMap(([name, property]) =>
    isObject(property) && typeof property.default === "string" && !Object.hasOwn(metadata, name)
      ? [[name, property.default] as const]
      : [],
  );
  return { ...metadata, ...Object.fromEntries(filled) };
}

/**
 * Metadata of a new or changed record, checked against the organisation's schema and with its defaults filled in.
 *
 * @param metadata Null or absent counts as empty.
 * @returns Null when there is nothing to store.
 * @throws {InvalidRequestError} AB01, naming the field that is wrong.
 */
export function applyMetadataSchema(
  organisation: OrganisationRow,
  kind: keyof typeof metadataSchemaMembers,
  metadata: RecordMetadata | null | undefined,
): RecordMetadata | null {
  const settings = isObject(organisation.settings) ? organisation.settings : {};
  const schema = settings[metadataSchemaMembers[kind]];
  if (!isObject(schema)) return metadata ?? null;
  const filled = fillDefaults(schema, metadata ?? {});
  const [problem] = checkJson(readSchema(schema, metadataSchemaMembers[kind]), filled).slice(-1);
  if (problem) refuseField(`defaults.metadata${problem.path.replaceAll("/", ".")}`, problem.message);
  return Object.keys(filled).length === 0 ? null : filled;
}
