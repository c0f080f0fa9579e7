import { isObject, nonEmptyString } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { cachePoints, type MessageRules } from "./messages.ts";
import { takesToolChoice } from "./model.ts";
import { type Block, refuseValue } from "./parts.ts";

/** Tools of a request in Converse's shape, and tools only the model's own fields can express. */
interface ConvertedTools {
  toolConfig: Block | undefined;
  /** The value for `additionalModelRequestFields.tools`. */
  native: Block[];
}

type Rules = Pick<MessageRules, "model" | "options">;

function functionTool(tool: Record<string, unknown>, rules: Rules): Block[] {
  const named = isObject(tool.function) ? tool.function : {};
  const description = nonEmptyString(named.description);
  const parameters = isObject(named.parameters) ? named.parameters : { type: "object", properties: {} };
  const spec = {
    name: named.name,
    ...(description !== undefined && { description }),
    inputSchema: { json: parameters },
    ...(named.strict === true && { strict: true }),
  };
  const holder = isObject(tool.cache_control) ? tool : named;
  // Nova does not cache tools
  if (rules.model.vendor !== "amazon") return [{ toolSpec: spec }, ...cachePoints(holder, rules)];
  if (isObject(holder.cache_control)) rules.options.drop("cache_control");
  return [{ toolSpec: spec }];
}

/** A tool built into the model: `{type: T, [T]: {name: V, ...}}` becomes `{name: T, type: V, ...}`. */
function nativeTool(tool: Record<string, unknown>, { model }: Rules): Block {
  const name = String(tool.type);
  const settings: unknown = Object.hasOwn(tool, name) ? tool[name] : undefined;
  if (model.vendor !== "anthropic" || !isObject(settings)) {
    refuseValue(`Cannot use a tool of type ${name} with this model`, "tools");
  }
  const { name: type, ...rest } = settings;
  return { ...rest, name, type };
}

function toToolChoice(choice: unknown, { model }: Rules): Block | undefined {
  if (choice === undefined || choice === null) return undefined;
  if (choice === "auto") return { auto: {} };
  const { type, function: named } = isObject(choice) ? choice : {};
  const name = type === "function" && isObject(named) ? nonEmptyString(named.name) : undefined;
  if (choice !== "required" && name === undefined)
    refuseValue("Cannot use this tool_choice with this provider", "tool_choice");
  if (!takesToolChoice(model))
    refuseValue("Cannot use this tool_choice: the model does not support required tool calls", "tool_choice");
  return name === undefined ? { any: {} } : { tool: { name } };
}

/** The tools of a request (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolConfiguration.html). */
export function toTools(request: ChatRequest, rules: Rules): ConvertedTools {
  if (request.functions !== undefined && request.functions !== null) {
    refuseValue("Cannot use functions with this provider: use tools", "functions");
  }
  // Converse has no tool choice "none"
  if (request.tool_choice === "none") return { toolConfig: undefined, native: [] };
  const tools = request.tools ?? [];
  const converted = tools.filter(({ type }) => type === "function").flatMap((tool) => functionTool(tool, rules));
  const native = tools.filter(({ type }) => type !== "function").map((tool) => nativeTool(tool, rules));
  if (converted.length === 0) return { toolConfig: undefined, native };
  const toolChoice = toToolChoice(request.tool_choice, rules);
  return { toolConfig: { tools: converted, ...(toolChoice && { toolChoice }) }, native };
}
