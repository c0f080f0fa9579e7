import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { cacheControl } from "../chat-writer.ts";

type Members = Record<string, unknown>;
type Drop = (member: string) => void;

/** What a caller calls a tool whose name in the chat is another one, or which is called otherwise. */
export interface OwnTool {
  kind: "function" | "custom";
  name: string;
  namespace?: string;
}

/** Tools of a request as a chat has them. */
export interface ToolTable {
  /** Definitions for the chat, by their names there. */
  definitions: ReadonlyMap<string, Members>;
  /** What the caller calls them, by the same names. */
  own: ReadonlyMap<string, OwnTool>;
}

/** Longest name of a function that all providers take. */
const maxName = 64;

/** The name a tool has in a chat: those of a namespace are told apart by it. */
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

/** What is said of a tool's free text, its grammar with it. */
function describeCustom({ description, format }: Members): string {
  const said = typeof description === "string" ? description : "";
  if (!isObject(format) || typeof format.definition !== "string") return said;
  return `${said}\n\nThe input must match this ${String(format.syntax ?? "")} grammar:\n${format.definition}`.trim();
}

/** A tool that takes free text as a function with one parameter, `input`. */
function toTextFunction(tool: Members, name: string): Members {
  const parameters = {
    type: "object",
    properties: { input: { type: "string", description: "The text the tool is given, as it is" } },
    required: ["input"],
    additionalProperties: false,
  };
  return toFunction({ ...tool, description: describeCustom(tool), parameters, strict: undefined }, name);
}

/** Reads the tools of a request; those that run at their provider are told. */
export function readTools({ tools }: ResponsesRequest, drop: Drop = () => {}): ToolTable {
  const definitions = new Map<string, Members>();
  const own = new Map<string, OwnTool>();
  const add = (tool: Members, namespace?: string): void => {
    const { type, name } = tool;
    if ((type !== "function" && type !== "custom") || typeof name !== "string") {
      drop(`tools.${String(type)}`);
      return;
    }
    const told = toChatName({ name, namespace });
    // a plain function with a long name is its provider's business
    if (namespace !== undefined && told.length > maxName) {
      drop(`tools.${told}`);
      return;
    }
    definitions.set(told, type === "custom" ? toTextFunction(tool, told) : toFunction(tool, told));
    own.set(told, { kind: type, name, ...(namespace !== undefined && { namespace }) });
  };
  for (const tool of tools ?? []) {
    const { type, name, tools: inner } = tool as Members; // members besides `type` depend on it
    if (type !== "namespace" || typeof name !== "string" || !Array.isArray(inner)) add(tool);
    else for (const one of inner.filter(isObject)) add(one, name);
  }
  return { definitions, own };
}

const modes = new Set(["none", "auto", "required"]);

/** What a choice says, in the words of a chat, and which tools it leaves. */
function readChoice(choice: ResponsesRequest["tool_choice"], table: ToolTable): { names: string[]; choice?: unknown } {
  const all = [...table.definitions.keys()];
  if (choice === null || choice === undefined) return { names: all };
  if (typeof choice === "string") {
    if (!modes.has(choice)) refuseChoice(`Cannot read tool_choice "${choice}": write none, auto or required`);
    return { names: all, choice };
  }
  const { type, mode, tools } = choice as Members; // members besides `type` depend on it
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
 * Tools and the choice among them as members of a chat.
 *
 * @throws {InvalidRequestError} If a tool is forced that a chat does not have.
 */
export function toToolMembers(request: ResponsesRequest, drop: Drop): Members {
  const table = readTools(request, drop);
  const { names, choice } = readChoice(request.tool_choice, table);
  const tools = names.map((name) => table.definitions.get(name));
  if (tools.length === 0) {
    if (choice === "required") refuseChoice("Cannot force a tool: the provider of this model has none of them");
    return {};
  }
  const { parallel_tool_calls: parallel } = request;
  return {
    tools,
    ...(choice !== undefined && { tool_choice: choice }),
    ...(typeof parallel === "boolean" && { parallel_tool_calls: parallel }),
  };
}
