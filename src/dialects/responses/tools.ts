import { InvalidRequestError } from "../../errors.ts";
import { isObject, objectsIn } from "../../lib/json.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { cacheControl } from "../chat-writer.ts";

type Members = Record<string, unknown>;
type Drop = (member: string) => void;

/** The caller's name for a tool that has another name or type in the chat. */
export interface OwnTool {
  kind: "function" | "custom";
  name: string;
  namespace?: string;
}

/** Tools of a request in the format of a chat. */
export interface ToolTable {
  /** Definitions for the chat, by name. */
  definitions: ReadonlyMap<string, Members>;
  /** The caller's names and types, by the same keys. */
  own: ReadonlyMap<string, OwnTool>;
}

/** The name of a tool in a chat; its namespace makes it unique. */
export function toChatName({ name, namespace }: Members): string {
  return typeof namespace === "string" && namespace !== "" ? `${namespace}__${String(name)}` : String(name);
}

function refuseChoice(message: string): never {
  throw new InvalidRequestError(message, { param: "tool_choice", code: "unsupported_parameter" });
}

function toFunction(tool: Members, name: string): Members {
  const { description, parameters, strict } = tool;
  return {
    type: "function",
    function: {
      name,
      ...(typeof description === "string" && { description }),
      parameters: isObject(parameters) ? parameters : { type: "object", properties: {} },
      ...(typeof strict === "boolean" && { strict }),
    },
    ...cacheControl(tool),
  };
}

/** Description of a custom tool, with its grammar. */
function describeCustom({ description, format }: Members): string {
  const said = typeof description === "string" ? description : "";
  if (!isObject(format) || typeof format.definition !== "string") return said;
  return `${said}\n\nThe input must match this ${String(format.syntax ?? "")} grammar:\n${format.definition}`.trim();
}

/** A custom tool as a function with one parameter, `input`. */
function toTextFunction(tool: Members, name: string): Members {
  const parameters = {
    type: "object",
    properties: { input: { type: "string", description: "Free text, passed to the tool unchanged" } },
    required: ["input"],
    additionalProperties: false,
  };
  return toFunction({ ...tool, description: describeCustom(tool), parameters, strict: undefined }, name);
}

/** Tools that the items of an input add to those of the request, as Codex sends them. */
function addedTools(input: ResponsesRequest["input"]): Members[] {
  if (!Array.isArray(input)) return [];
  return input.flatMap((item) => (item.type === "additional_tools" ? objectsIn(item.tools) : []));
}

/** Reads the tools of a request and of its input; those that run at their provider are reported as dropped. */
export function readTools({ tools, input }: ResponsesRequest, drop: Drop = () => {}): ToolTable {
  const definitions = new Map<string, Members>();
  const own = new Map<string, OwnTool>();
  const add = (tool: Members, namespace?: string): void => {
    const { type, name } = tool;
    if ((type !== "function" && type !== "custom") || typeof name !== "string") {
      // a search of stored pages alone, which Codex offers in every request
      drop(tool.external_web_access === false ? `tools.${String(type)}.cached` : `tools.${String(type)}`);
      return;
    }
    const chatName = toChatName({ name, namespace });
    definitions.set(chatName, type === "custom" ? toTextFunction(tool, chatName) : toFunction(tool, chatName));
    own.set(chatName, { kind: type, name, ...(namespace !== undefined && { namespace }) });
  };
  for (const tool of [...objectsIn(tools), ...addedTools(input)]) {
    const { type, name, tools: inner } = tool;
    if (type !== "namespace" || typeof name !== "string" || !Array.isArray(inner)) add(tool);
    else for (const one of inner.filter(isObject)) add(one, name);
  }
  return { definitions, own };
}

const modes = new Set(["none", "auto", "required"]);

/** The tool choice in the format of a chat, and the tools it leaves. */
function readChoice(choice: ResponsesRequest["tool_choice"], table: ToolTable): { names: string[]; choice?: unknown } {
  const all = [...table.definitions.keys()];
  if (choice === null || choice === undefined) return { names: all };
  if (typeof choice === "string") {
    if (!modes.has(choice)) refuseChoice(`Cannot read tool_choice "${choice}": send none, auto or required`);
    return { names: all, choice };
  }
  const { type, mode, tools } = choice as Members; // fields besides `type` depend on it
  if (type === "allowed_tools") {
    const allowed = new Set(Array.isArray(tools) ? tools.filter(isObject).map(toChatName) : []);
    return { names: all.filter((name) => allowed.has(name)), choice: mode === "required" ? "required" : "auto" };
  }
  const named = toChatName(choice);
  const isKnown = (type === "function" || type === "custom") && table.own.get(named)?.kind === type;
  if (!isKnown) refuseChoice("Cannot force this tool: the provider of this model does not have it");
  return { names: all, choice: { type: "function", function: { name: named } } };
}

/**
 * Tools and tool choice as fields of a chat.
 *
 * @throws {InvalidRequestError} If a tool is forced that a chat does not have.
 */
export function toToolMembers(request: ResponsesRequest, drop: Drop): Members {
  const table = readTools(request, drop);
  const { names, choice } = readChoice(request.tool_choice, table);
  const tools = names.map((name) => table.definitions.get(name));
  if (tools.length === 0) {
    if (choice === "required") refuseChoice("Cannot force a tool: the provider of this model does not have it");
    return {};
  }
  const { parallel_tool_calls: parallel } = request;
  return {
    tools,
    ...(choice !== undefined && { tool_choice: choice }),
    ...(typeof parallel === "boolean" && { parallel_tool_calls: parallel }),
  };
}
