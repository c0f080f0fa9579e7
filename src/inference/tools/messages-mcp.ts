import type { CallerContext } from "../../context.ts";
import { InvalidRequestError } from "../../errors.ts";
import { isObject, objectsIn } from "../../lib/json.ts";
import type { MessagesRequest } from "../../schemas/messages.ts";
import { slugIn } from "../facts/server-labels.ts";
import { type ServerTool, ServerTools, type ToolOutcome } from "./mcp-tools.ts";
import type { MessagesKit, UseBlock } from "./messages-kit.ts";

type Item = Readonly<Record<string, unknown>>;

/** Whether an entry of `mcp_servers` is an MCP server of the workspace. */
export const isServer = ({ name }: Item): boolean => slugIn(name) !== undefined;

/** Whether a tool set is one of an MCP server of the workspace. */
export const isToolSet = ({ type, mcp_server_name: name }: Item): boolean =>
  type === "mcp_toolset" && slugIn(name) !== undefined;

/** Which tools a set switches on. */
function readEnabled({ default_config: all, configs }: Item): (name: string) => boolean {
  const isOn = !isObject(all) || all.enabled !== false;
  return (name) => {
    const own = isObject(configs) && Object.hasOwn(configs, name) ? configs[name] : undefined;
    return isObject(own) && typeof own.enabled === "boolean" ? own.enabled : isOn;
  };
}

function toTool({ functionName, description, parameters }: ServerTool): Item {
  return { name: functionName, ...(description !== undefined && { description }), input_schema: parameters };
}

/** MCP servers of the workspace as tools of a request of the Messages API. */
export class ServerKit implements MessagesKit {
  readonly #request: MessagesRequest;
  readonly #tools: ServerTools;
  #functions: readonly ServerTool[] = [];

  constructor(request: MessagesRequest, context: CallerContext) {
    this.#request = request;
    this.#tools = new ServerTools(context);
  }

  serves = isToolSet;

  /** Lists the tools of the sets of the request; each names a server that `mcp_servers` has. */
  async open(): Promise<void> {
    const servers = new Set(objectsIn(this.#request.mcp_servers).map(({ name }) => name));
    const all: ServerTool[] = [];
    for (const set of objectsIn(this.#request.tools).filter(isToolSet)) {
      if (!servers.has(set.mcp_server_name)) {
        throw new InvalidRequestError("Cannot use a tool set: mcp_servers does not have its server", {
          param: "tools",
          code: "invalid_tools",
        });
      }
      const { tools } = await this.#tools.list(slugIn(set.mcp_server_name) ?? "", readEnabled(set));
      all.push(...tools);
    }
    this.#functions = all;
  }

  functions(): readonly Item[] {
    return this.#functions.map(toTool);
  }

  has(name: unknown): boolean {
    return this.#tools.find(name) !== undefined;
  }

  callAll(calls: readonly UseBlock[]): Promise<readonly ToolOutcome[]> {
    const made = calls.flatMap(({ name, input }) => {
      const tool = this.#tools.find(name);
      return tool ? [{ tool, given: input ?? {} }] : [];
    });
    return this.#tools.callAll(made);
  }

  toBlocks({ id, name, input }: UseBlock, { text, isError }: ToolOutcome): readonly Item[] {
    const tool = this.#tools.find(name);
    const server_name = `@gateway-mcp/${tool?.server}`;
    return [
      { type: "mcp_tool_use", id, name: tool?.name, server_name, input },
      { type: "mcp_tool_result", tool_use_id: id, is_error: isError, content: [{ type: "text", text }] },
    ];
  }
}
