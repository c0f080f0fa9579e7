import { isObject } from "../../src/lib/json.ts";
import { type EmulatedRequest, type Members, objectsOf, type Rule } from "./emulator.ts";
import type { KnownMembers } from "./gemini-members.ts";

const source = "https://ai.google.dev/api/caching#Schema (read in November 2026)";
const jsonSource =
  "https://ai.google.dev/api/generate-content#generationconfig (responseJsonSchema; read in November 2026)";

const types = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];
const formats: Readonly<Record<string, readonly string[]>> = {
  STRING: ["enum", "date-time"],
  NUMBER: ["float", "double"],
  INTEGER: ["int32", "int64"],
};

export const declarationsOf = ({ body }: EmulatedRequest): Members[] =>
  objectsOf(body.tools).flatMap((tool) => objectsOf(tool.functionDeclarations));

const typeOf = ({ type }: Members): string => String(type ?? "").toUpperCase();

/** The first node of a schema that a test finds fault with, its parts included. */
function findIn(
  schema: unknown,
  place: string,
  find: (node: Members, place: string) => string | undefined,
): string | undefined {
  if (!isObject(schema)) return `Invalid value at '${place}': a schema is an object`;
  const fault = find(schema, place);
  if (fault !== undefined) return fault;
  const parts: [string, unknown][] = [
    ...(isObject(schema.properties)
      ? Object.entries(schema.properties).map(([name, one]): [string, unknown] => [`properties[${name}]`, one])
      : []),
    ...(schema.items === undefined ? [] : [["items", schema.items] as [string, unknown]]),
    ...objectsOf(schema.anyOf).map((one, index): [string, unknown] => [`any_of[${index}]`, one]),
  ];
  for (const [name, part] of parts) {
    const inner = findIn(part, `${place}.${name}`, find);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

function findEnumFault(node: Members, place: string): string | undefined {
  const { enum: values } = node;
  if (values === undefined) return undefined;
  if (!Array.isArray(values) || values.some((value) => typeof value !== "string"))
    return `Invalid value at '${place}.enum[0]' (TYPE_STRING)`;
  if (typeOf(node) !== "STRING") return `${place}.enum: only allowed for STRING type`;
  if (values.length === 0) return `${place}.enum: should be non-empty for STRING type with enum format`;
  const empty = values.indexOf("");
  return empty < 0 ? undefined : `${place}.enum[${empty}]: cannot be empty`;
}

function findShapeFault(node: Members, place: string): string | undefined {
  const type = typeOf(node);
  if (node.type !== undefined && !types.includes(type))
    return `Invalid value at '${place}.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), "${node.type}"`;
  if (type === "ARRAY" && !isObject(node.items)) return `${place}.items: missing field.`;
  const known = formats[type];
  if (typeof node.format === "string" && known && !known.includes(node.format))
    return `${place}.format: only ${known.map((one) => `'${one}'`).join(" and ")} are supported for ${type} type`;
  const properties = isObject(node.properties) ? node.properties : {};
  const missing = (Array.isArray(node.required) ? node.required : []).findIndex(
    (name) => typeof name !== "string" || !Object.hasOwn(properties, name),
  );
  return missing < 0 ? undefined : `${place}.required[${missing}]: property is not defined`;
}

/** Schemas of functions and responses, each with its place. */
function schemasOf(request: EmulatedRequest): [schema: unknown, place: string, isRoot: boolean][] {
  const { generationConfig: config } = request.body;
  const ofResponse = isObject(config) ? config.responseSchema : undefined;
  return [
    ...declarationsOf(request).flatMap(({ parameters }, index): [unknown, string, boolean][] =>
      parameters === undefined ? [] : [[parameters, `tools[0].function_declarations[${index}].parameters`, true]],
    ),
    ...(ofResponse === undefined
      ? []
      : [[ofResponse, "generation_config.response_schema", false] as [unknown, string, boolean]]),
  ];
}

function findInSchemas(
  request: EmulatedRequest,
  find: (node: Members, place: string) => string | undefined,
): string | undefined {
  for (const [schema, place] of schemasOf(request)) {
    const fault = findIn(schema, place, find);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Whether a JSON schema has only what Google documents for these fields. */
function findJsonSchemaFault(value: unknown, place: string): string | undefined {
  if (Array.isArray(value)) {
    for (const one of value) {
      const fault = findJsonSchemaFault(one, place);
      if (fault) return fault;
    }
    return undefined;
  }
  if (!isObject(value)) return undefined;
  if (typeof value.$ref === "string") {
    const beside = Object.keys(value).find((name) => !name.startsWith("$"));
    if (beside) return `${place}: reference to ${value.$ref} cannot have other properties: ${beside}`;
  }
  if ("const" in value) return `${place}: const is not supported`;
  for (const [name, part] of Object.entries(value)) {
    const named = name === "properties" || name === "$defs";
    const parts = named && isObject(part) ? Object.values(part) : name === "enum" || name === "required" ? [] : [part];
    const fault = findJsonSchemaFault(parts, `${place}.${name}`);
    if (fault) return fault;
  }
  return undefined;
}

const isVertex = ({ path }: EmulatedRequest): boolean => path.includes("/publishers/google/");

/** Rules about schemas, for a host that knows these members. */
export const schemaRules = (known: KnownMembers): readonly Rule[] => [
  {
    id: "schema-members",
    source,
    find: (request) =>
      findInSchemas(request, (node, place) => {
        const unknown = Object.keys(node).find((name) => !known.of("Schema").has(name));
        return unknown && `Invalid JSON payload received. Unknown name "${unknown}" at '${place}': Cannot find field.`;
      }),
  },
  {
    id: "schema-root",
    source: "https://github.com/spring-projects/spring-ai/issues/1373 (message of Vertex AI, seen until June 2026)",
    find: (request) => {
      const wrong = declarationsOf(request).find(
        ({ parameters }) => parameters !== undefined && (!isObject(parameters) || typeOf(parameters) !== "OBJECT"),
      );
      return (
        wrong &&
        `Unable to submit request because \`${wrong.name}\` functionDeclaration parameters schema should be of type OBJECT.`
      );
    },
  },
  {
    id: "schema-types",
    source: "https://github.com/QuantumNous/new-api/issues/3022 (message of Vertex AI, February 2026)",
    find: (request) =>
      findInSchemas(request, (node, place) =>
        node.type === undefined && objectsOf(node.anyOf).length === 0
          ? `Unable to submit request because \`${place}\` schema didn't specify the schema type field.`
          : undefined,
      ),
  },
  {
    id: "schema-any-of",
    source:
      "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/function-calling (message of Vertex AI)",
    find: (request) =>
      isVertex(request)
        ? findInSchemas(request, (node, place) =>
            node.anyOf !== undefined && Object.keys(node).length > 1
              ? `Unable to submit request because \`${place}\` schema specified other fields alongside any_of. When using any_of, it must be the only fields set.`
              : undefined,
          )
        : undefined,
  },
  { id: "schema-shapes", source, find: (request) => findInSchemas(request, findShapeFault) },
  {
    id: "schema-enums",
    source:
      "https://github.com/elastic/kibana/pull/286302 and https://github.com/anomalyco/opencode/pull/46676 (messages of 2026)",
    find: (request) => findInSchemas(request, findEnumFault),
  },
  {
    id: "response-json-schema",
    source: jsonSource,
    find: ({ body }) => {
      const config = isObject(body.generationConfig) ? body.generationConfig : {};
      if (config.responseJsonSchema === undefined) return undefined;
      if (config.responseSchema !== undefined)
        return "Only one of response_schema and response_json_schema may be set.";
      return findJsonSchemaFault(config.responseJsonSchema, "generation_config.response_json_schema");
    },
  },
];
