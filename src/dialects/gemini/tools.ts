import { InvalidRequestError } from "../../errors.ts";
import { isObject, nonEmptyString } from "../../lib/json.ts";
import type { DialectOptions } from "../types.ts";
import { itemsOf, type Members, membersOf, stringsOf } from "./members.ts";
import { toJsonSchema } from "./schema.ts";

interface FunctionTool {
  type: "function";
  function: { name: string; description?: string; parameters: Members };
}

function refuseToolConfig(message: string): never {
  throw new InvalidRequestError(message, { param: "toolConfig", code: "unsupported_parameter" });
}

function toFunction(declaration: Members): FunctionTool {
  const { name, description, parameters, parametersJsonSchema } = declaration;
  const described = nonEmptyString(description);
  const schema = isObject(parametersJsonSchema) ? parametersJsonSchema : toJsonSchema(parameters);
  return {
    type: "function",
    function: {
      name: nonEmptyString(name) ?? "",
      ...(described !== undefined && { description: described }),
      parameters: Object.keys(schema).length === 0 ? { type: "object", properties: {} } : schema,
    },
  };
}

/** The caller's functions; tools that run at Google are reported as dropped. */
function toFunctions(tools: unknown, { drop }: DialectOptions): FunctionTool[] {
  return itemsOf(tools).flatMap((tool) => {
    for (const name of Object.keys(tool)) if (name !== "functionDeclarations") drop(`tools.${name}`);
    return itemsOf(tool.functionDeclarations).map(toFunction);
  });
}

/** Functions that may be called: the named ones, if any are named. */
function restrict(functions: readonly FunctionTool[], allowed: readonly string[]): FunctionTool[] {
  if (allowed.length === 0) return [...functions];
  const names = new Set(allowed);
  const kept = functions.filter((tool) => names.has(tool.function.name));
  if (kept.length === 0)
    refuseToolConfig("Cannot restrict the tools to these names: the request has no such functions");
  return kept;
}

/**
 * Tools and tool choice (https://ai.google.dev/api/caching#Tool).
 *
 * @throws {InvalidRequestError} If a call is required that only Google's built-in tools could satisfy.
 */
export function toTools({ tools, toolConfig }: Members, options: DialectOptions): Members {
  const { functionCallingConfig, ...others } = membersOf(toolConfig);
  for (const name of Object.keys(others)) options.drop(`toolConfig.${name}`);
  const { mode: given, allowedFunctionNames } = membersOf(functionCallingConfig);
  const mode = typeof given === "string" ? given.toUpperCase() : "";
  const functions = toFunctions(tools, options);
  if (functions.length === 0) {
    if (mode === "ANY") refuseToolConfig("Cannot require a call: the provider of this model has none of these tools");
    return {};
  }
  if (mode === "NONE") return { tools: functions, tool_choice: "none" };
  if (mode !== "ANY") {
    const kept = mode === "VALIDATED" ? restrict(functions, stringsOf(allowedFunctionNames)) : functions;
    return { tools: kept, ...(mode !== "" && mode !== "MODE_UNSPECIFIED" && { tool_choice: "auto" }) };
  }
  const kept = restrict(functions, stringsOf(allowedFunctionNames));
  const [only] = kept;
  const choice =
    kept.length === 1 && only && functions.length > 1
      ? { type: "function", function: { name: only.function.name } }
      : "required";
  return { tools: kept, tool_choice: choice };
}
