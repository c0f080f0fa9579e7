import { type Refuse, refuseWith } from "../../errors.ts";
import type { Budget } from "../../lib/budget.ts";
import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions } from "../core/types.ts";
import { createSchemaBudget, toOpenapiSchema } from "./schema.ts";

/** Tools built into the models (https://ai.google.dev/api/caching#Tool), by their request names. */
const builtIn: Readonly<Record<string, string>> = {
  googleSearch: "googleSearch",
  google_search: "googleSearch",
  googleSearchRetrieval: "googleSearchRetrieval",
  google_search_retrieval: "googleSearchRetrieval",
  googleMaps: "googleMaps",
  google_maps: "googleMaps",
  computerUse: "computerUse",
  computer_use: "computerUse",
  enterpriseWebSearch: "enterpriseWebSearch",
  enterprise_web_search: "enterpriseWebSearch",
  urlContext: "urlContext",
  url_context: "urlContext",
  codeExecution: "codeExecution",
  code_execution: "codeExecution",
  fileSearch: "fileSearch",
  file_search: "fileSearch",
};

/** Tools and tool settings. */
interface ToolMembers {
  tools?: object[];
  toolConfig?: object;
}

const refuse: Refuse = refuseWith("unsupported_parameter");

/** Name and options of a built-in tool; undefined for the caller's functions. */
function readBuiltIn(tool: Record<string, unknown>): { name: string; options: Record<string, unknown> } | undefined {
  const isFunction = tool.type === "function";
  const inner = tool[isFunction ? "function" : String(tool.type)];
  const members = isObject(inner) ? inner : {};
  const asked = isFunction ? members.name : (members.name ?? tool.type);
  const name = typeof asked === "string" && Object.hasOwn(builtIn, asked) ? builtIn[asked] : undefined;
  if (name === undefined) return undefined;
  const { parameters } = members;
  if (!isFunction) {
    const { name: _, ...options } = members;
    return { name, options };
  }
  // the caller's own function may have the same name
  if (isObject(parameters) && isObject(parameters.properties) && Object.keys(parameters.properties).length > 0) {
    return undefined;
  }
  const { type: _type, properties: _properties, ...options } = isObject(parameters) ? parameters : {};
  return { name, options };
}

function toDeclaration(
  { type, function: inner }: Record<string, unknown>,
  budget: Budget,
  { drop }: Pick<ConversionOptions, "drop">,
): object {
  if (type !== "function" || !isObject(inner) || typeof inner.name !== "string") {
    return refuse("Cannot send this tool: only functions and the provider's built-in tools are supported", "tools");
  }
  const { name, description, parameters } = inner;
  const schema = isObject(parameters)
    ? toOpenapiSchema(parameters, budget, () => drop("tools.function.parameters.$ref"))
    : undefined;
  const isEmpty = schema === undefined || (schema.properties === undefined && schema.anyOf === undefined);
  return {
    name,
    ...(typeof description === "string" && { description }),
    ...(!isEmpty && { parameters: schema }),
  };
}

function namesIn(tools: unknown): string[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool) => (isObject(tool) && isObject(tool.function) ? [String(tool.function.name)] : []));
}

/** The function calling settings (https://ai.google.dev/api/caching#FunctionCallingConfig). */
function toCallingConfig(choice: unknown): object | undefined {
  if (choice === undefined || choice === null) return undefined;
  if (choice === "auto") return { mode: "AUTO" };
  if (choice === "none") return { mode: "NONE" };
  if (choice === "required" || choice === "any") return { mode: "ANY" };
  if (!isObject(choice)) return refuse("Cannot use this tool_choice", "tool_choice");
  const { type, function: one, allowed_tools: allowed } = choice;
  if (type === "function" && isObject(one)) return { mode: "ANY", allowedFunctionNames: [String(one.name)] };
  if (type === "allowed_tools" && isObject(allowed)) {
    const mode = allowed.mode === "required" ? "ANY" : "VALIDATED";
    return { mode, allowedFunctionNames: namesIn(allowed.tools) };
  }
  return refuse("Cannot use this tool_choice: name a function", "tool_choice");
}

/**
 * The tools of a request.
 *
 * @throws {InvalidRequestError} If a tool or a choice cannot be sent.
 */
export function toToolMembers(
  { tools, tool_choice: choice, functions }: ChatRequest,
  options: Pick<ConversionOptions, "drop">,
): ToolMembers {
  if (functions !== undefined && functions !== null) refuse("Cannot use functions: send them as tools", "functions");
  const declarations: object[] = [];
  const others: object[] = [];
  const budget = createSchemaBudget();
  let retrievalConfig: unknown;
  for (const tool of tools ?? []) {
    const known = readBuiltIn(tool);
    if (known) {
      const { retrievalConfig: place, retrieval_config: alias, ...options } = known.options;
      if (known.name === "googleMaps") retrievalConfig = place ?? alias;
      others.push({ [known.name]: options });
    } else declarations.push(toDeclaration(tool, budget, options));
  }
  const calling = toCallingConfig(choice);
  if (calling && Reflect.get(calling, "mode") === "ANY" && declarations.length === 0) {
    refuse("Cannot require a tool: there are no functions in tools", "tool_choice");
  }
  const toolConfig = {
    ...(declarations.length > 0 && calling && { functionCallingConfig: calling }),
    ...(retrievalConfig !== undefined && { retrievalConfig }),
  };
  const all = declarations.length > 0 ? [{ functionDeclarations: declarations }, ...others] : others;
  return {
    ...(all.length > 0 && { tools: all }),
    ...(Object.keys(toolConfig).length > 0 && { toolConfig }),
  };
}
