import { isObject } from "../lib/json.ts";
import { loadConverter, routingConfigReference } from "../openapi/schema.ts";
import { DeclaredState } from "./document.ts";

const variable = {
  type: "object",
  properties: { $env: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$", description: "Name of a variable" } },
  required: ["$env"],
  additionalProperties: false,
};

const variableReference = { $ref: "#/$defs/variable" };

/** Whether a schema is that of a string which may come from the environment. */
const isText = (schema: unknown): boolean =>
  isObject(schema) && schema.type === "string" && schema.const === undefined && schema.enum === undefined;

/** A schema in which each string may be a variable, and a config any object. */
function withVariables(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withVariables);
  if (!isObject(schema)) return schema;
  if (schema.$ref === routingConfigReference) return { type: "object" };
  const entries = Object.entries(schema).map(([name, one]): [string, unknown] => {
    if (name !== "properties" || !isObject(one)) return [name, name === "propertyNames" ? one : withVariables(one)];
    const members = Object.entries(one).map(([member, inner]) => [
      member,
      isText(inner) ? { anyOf: [inner, variableReference] } : withVariables(inner),
    ]);
    return [name, Object.fromEntries(members)];
  });
  return Object.fromEntries(entries);
}

/** The JSON Schema of a file of declared state, for editors. */
export async function fileSchema(): Promise<object> {
  const convert = await loadConverter();
  const described = withVariables(convert(DeclaredState, "input"));
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Declared state of a gateway",
    ...(isObject(described) && described),
    $defs: { variable },
  };
}
