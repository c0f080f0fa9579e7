import { isObject, stringOf } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions } from "../core/types.ts";
import { cacheControl, refuse } from "./parts.ts";

/** A tool (https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview). */
type Tool = Record<string, unknown>;

/** Fields of a tool or of its function object with the same meaning at Anthropic. */
const sharedMembers = ["defer_loading", "allowed_callers", "input_examples"];

function toFunctionTool(tool: Tool, { drop }: ConversionOptions): Tool {
  const detail = tool.function;
  if (!isObject(detail) || typeof detail.name !== "string")
    return refuse("Cannot read a tool: its name is missing", "tools");
  const { name, description, parameters, strict } = detail;
  // Anthropic's strict mode supports only a part of JSON Schema: schemas that work elsewhere would be rejected
  if (strict === true) drop("tools.function.strict");
  const given = isObject(parameters) ? parameters : {};
  const shared = sharedMembers.map((member) => [member, detail[member] ?? tool[member]] as const);
  return {
    name,
    ...(typeof description === "string" && description !== "" && { description }),
    input_schema: { ...given, type: "object", properties: isObject(given.properties) ? given.properties : {} },
    ...Object.fromEntries(shared.filter(([, value]) => value !== undefined && value !== null)),
    ...cacheControl(detail),
    ...cacheControl(tool),
  };
}

/** A tool built into Claude, written as `{type: T, [T]: {name: V, …}}` or in Anthropic's own form. */
function toBuiltInTool(tool: Tool): Tool {
  const { type } = tool;
  const detail = typeof type === "string" ? tool[type] : undefined;
  if (isObject(detail) && typeof detail.name === "string" && type !== "custom") {
    return { ...detail, name: type, type: detail.name, ...cacheControl(tool) };
  }
  if (typeof tool.name === "string" || type === "mcp_toolset") return tool;
  return refuse(`Cannot send a tool of type ${JSON.stringify(type)}: the provider does not have it`, "tools");
}

/** Request fields that define tools and control their use. */
interface ToolMembers {
  tools?: readonly Tool[];
  tool_choice?: Tool;
}

const modes: Readonly<Record<string, string>> = { auto: "auto", required: "any", any: "any", none: "none" };

/** A tool choice by name; undefined when it names no tool. */
function readNamedTool(choice: Tool): string | undefined {
  const holder = isObject(choice.function) ? choice.function : choice;
  return stringOf(holder.name);
}

/** Names of the allowed tools (https://platform.openai.com/docs/guides/function-calling#allowed-tools). */
function readAllowed(choice: Tool): { mode: unknown; names: readonly (string | undefined)[] } | undefined {
  const allowed = isObject(choice.allowed_tools) ? choice.allowed_tools : choice;
  if (choice.type !== "allowed_tools" || !Array.isArray(allowed.tools)) return undefined;
  const names = allowed.tools.map((tool: unknown) =>
    isObject(tool) ? (readNamedTool(tool) ?? String(tool.type)) : "",
  );
  return { mode: allowed.mode ?? "auto", names };
}

function toChoice(choice: unknown): Tool | undefined {
  if (choice === undefined || choice === null) return undefined;
  const word = isObject(choice) ? choice.type : choice;
  if (typeof word === "string" && modes[word] !== undefined)
    return { ...(isObject(choice) && choice), type: modes[word] };
  const name = isObject(choice) ? readNamedTool(choice) : undefined;
  if (name === undefined) return refuse("Cannot read tool_choice: it names neither a mode nor a tool", "tool_choice");
  return { ...(isObject(choice) && pickParallel(choice)), type: "tool", name };
}

function pickParallel({ disable_parallel_tool_use: disabled }: Tool): Tool {
  return typeof disabled === "boolean" ? { disable_parallel_tool_use: disabled } : {};
}

/** Tools and the tool choice. Without tools the choice is dropped, but a choice that requires a tool is an error. */
export function toToolMembers(request: ChatRequest, options: ConversionOptions): ToolMembers {
  const { tool_choice: choice, parallel_tool_calls: parallel } = request;
  if (request.functions) refuse("Cannot use functions: use tools", "functions");
  const allowed = isObject(choice) ? readAllowed(choice) : undefined;
  const all = (request.tools ?? []).map((tool) =>
    tool.type === "function" ? toFunctionTool(tool, options) : toBuiltInTool(tool),
  );
  const tools = allowed ? all.filter(({ name }) => allowed.names.some((wanted) => wanted === name)) : all;
  const chosen = toChoice(allowed ? allowed.mode : choice);
  if (tools.length === 0) {
    if (chosen?.type === "any" || chosen?.type === "tool")
      refuse("Cannot require a tool: there are no tools", "tool_choice");
    return {};
  }
  const single = parallel === false && chosen?.type !== "none";
  if (!single) return { tools, ...(chosen && { tool_choice: chosen }) };
  return { tools, tool_choice: { ...(chosen ?? { type: "auto" }), disable_parallel_tool_use: true } };
}

/** Whether the model must call a tool, which rules out thinking. */
export function demandsTool({ tool_choice: choice }: ToolMembers): boolean {
  return choice?.type === "any" || choice?.type === "tool";
}
