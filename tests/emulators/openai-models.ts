// What both of OpenAI's APIs refuse by model.

import { isObject } from "../../src/lib/json.ts";
import type { EmulatedRequest, Members, Rule } from "./emulator.ts";

const source = "https://platform.openai.com/docs/guides/latest-model";

/** Models with a reasoning effort; they take no sampling fields unless the effort is off. */
export const reasons = /^(?:o\d|gpt-5)/;

/** Models that reason only where an effort asks for it: `none` is their default (https://platform.openai.com/docs/guides/latest-model, parameter compatibility). */
const reasonsOnDemand = /^gpt-5\.[1-4]/;

/** Whether a model reasons with an effort: models that reason always by default take no sampling without one. */
export function isReasoning(model: string, effort: unknown): boolean {
  return effort === undefined || effort === null ? !reasonsOnDemand.test(model) : effort !== "none";
}

function levelsOf(model: string): string[] {
  if (/^o\d/.test(model)) return ["low", "medium", "high"];
  if (/^gpt-5(?![.\d])/.test(model)) return ["minimal", "low", "medium", "high"];
  return ["none", "low", "medium", "high", ...(/^gpt-5\.[2-9]/.test(model) ? ["xhigh"] : [])];
}

/** Rules about the effort, wherever an API has it. */
export const effortRules = (name: string, effortOf: (request: EmulatedRequest) => unknown): readonly Rule[] => [
  {
    id: "effort-level",
    source,
    models: reasons,
    find: (request) => {
      const effort = effortOf(request);
      const levels = levelsOf(request.model);
      if (effort === undefined || effort === null || levels.includes(String(effort))) return undefined;
      return `Unsupported value: '${name}' does not support '${effort}' with this model. Supported values are: ${levels.join(", ")}.`;
    },
  },
];

/** Whether a schema of a tool lacks what OpenAI's validator requires: an object, and items of arrays. */
function findSchemaFault(schema: unknown, path = "()"): string | undefined {
  if (!isObject(schema)) return undefined;
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  if (types.includes("array") && schema.items === undefined && schema.prefixItems === undefined) {
    return `In context=${path}, array schema missing items.`;
  }
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  for (const [name, one] of properties) {
    const fault = findSchemaFault(one, `('properties', '${name}')`);
    if (fault) return fault;
  }
  return findSchemaFault(schema.items, `${path}.items`);
}

/** The first function whose name or schema OpenAI's validator refuses. */
export function findToolFault(functions: readonly Members[]): string | undefined {
  for (const { name, parameters } of functions) {
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(name))) {
      return "Invalid 'tools[0].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.";
    }
    if (parameters === undefined || parameters === null) continue;
    if (!isObject(parameters) || parameters.type !== "object") {
      return `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`;
    }
    if (["oneOf", "anyOf", "allOf", "enum", "not"].some((keyword) => keyword in parameters)) {
      return `Invalid schema for function '${name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`;
    }
    const fault = findSchemaFault(parameters);
    if (fault) return `Invalid schema for function '${name}': ${fault}`;
  }
  return undefined;
}
