import type { CallerContext } from "../../context.ts";
import { isObject, objectsIn, stringOf } from "../../lib/json.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { serverOf, slugIn } from "../facts/server-labels.ts";
import { type ServerTool, ServerTools, type ToolOutcome, toPlainName } from "./mcp-tools.ts";
import type { OwnCall, ResponsesKit } from "./responses-kit.ts";

type Item = Readonly<Record<string, unknown>>;

/** Whether a tool is an MCP server of the workspace. */
export function isServerTool(tool: Item): boolean {
  return tool.type === "mcp" && slugIn(tool.server_label) !== undefined;
}

/** The tools that `allowed_tools` leaves; absent, all. */
function readAllowed({ allowed_tools: allowed }: Item): (name: string) => boolean {
  const names = isObject(allowed) ? allowed.tool_names : allowed;
  return Array.isArray(names) ? (name) => names.includes(name) : () => true;
}

/** Calls of earlier responses, as calls of functions; lists are left out. */
export function toPlainMcpItems(item: Item): Item[] {
  const slug = serverOf(item.server_label);
  if (slug === undefined) return [item];
  if (item.type === "mcp_list_tools") return [];
  if (item.type !== "mcp_call") return [item];
  const { id, name, arguments: given, output, error } = item;
  const call_id = `call_${String(id)}`;
  const said = stringOf(output) ?? (typeof error === "string" ? error : JSON.stringify(error ?? ""));
  return [
    { type: "function_call", call_id, name: toPlainName(slug, String(name)), arguments: stringOf(given) ?? "{}" },
    { type: "function_call_output", call_id, output: said },
  ];
}

function toFunction({ functionName, description, parameters }: ServerTool): Item {
  const described = description === undefined ? {} : { description };
  return { type: "function", name: functionName, ...described, parameters, strict: false };
}

function toListedTool({ name, description, inputSchema, annotations }: ServerTool): Item {
  return { name, description: description ?? null, input_schema: inputSchema, annotations: annotations ?? null };
}

/** Events of a call that begins. */
export function toBegunEvents(item: Item, output_index: number): Item[] {
  const place = { output_index, item_id: item.id };
  return [
    { type: "response.output_item.added", output_index, item: { ...item, arguments: "" } },
    { type: "response.mcp_call.in_progress", ...place },
    { type: "response.mcp_call_arguments.delta", ...place, delta: item.arguments },
    { type: "response.mcp_call_arguments.done", ...place, arguments: item.arguments },
  ];
}

/** Events of a call that ended. */
export function toEndedEvents(item: Item, output_index: number): readonly Item[] {
  return [
    { type: `response.mcp_call.${String(item.status)}`, output_index, item_id: item.id },
    { type: "response.output_item.done", output_index, item },
  ];
}

/** A call as an item of the response. */
export function toCallItem(named: Item, { id, text }: OwnCall, outcome: ToolOutcome | undefined): Item {
  const { isError = false } = outcome ?? {};
  return {
    id,
    type: "mcp_call",
    ...named,
    arguments: text,
    output: outcome && !isError ? outcome.text : null,
    error: outcome && isError ? outcome.text : null,
    approval_request_id: null,
    status: outcome ? (isError ? "failed" : "completed") : "in_progress",
  };
}

/** MCP servers of the workspace as tools of a request of the Responses API. */
export class ServerKit implements ResponsesKit {
  readonly prefix = "mcp";
  readonly #request: ResponsesRequest;
  readonly #tools: ServerTools;
  #functions: readonly ServerTool[] = [];

  constructor(request: ResponsesRequest, context: CallerContext) {
    this.#request = request;
    this.#tools = new ServerTools(context);
  }

  serves = isServerTool;

  async open(): Promise<readonly Item[]> {
    const all: ServerTool[] = [];
    const items: Item[] = [];
    for (const tool of objectsIn(this.#request.tools).filter(isServerTool)) {
      const { tools, leftOut } = await this.#tools.list(slugIn(tool.server_label) ?? "", readAllowed(tool));
      all.push(...tools);
      items.push({
        type: "mcp_list_tools",
        server_label: tool.server_label,
        tools: tools.map(toListedTool),
        error: leftOut.length > 0 ? `Left out, because their arguments are no object: ${leftOut.join(", ")}` : null,
      });
    }
    this.#functions = all;
    return items;
  }

  functions(): readonly Item[] {
    return this.#functions.map(toFunction);
  }

  has(name: unknown): boolean {
    return this.#tools.find(name) !== undefined;
  }

  toChoice(choice: Item): unknown {
    if (choice.type !== "mcp") return undefined;
    const slug = slugIn(choice.server_label);
    const found = this.#functions.find(({ server, name }) => server === slug && name === choice.name);
    return found ? { type: "function", name: found.functionName } : "required";
  }

  callAll(calls: readonly OwnCall[]): Promise<readonly ToolOutcome[]> {
    const made = calls.flatMap(({ name, given }) => {
      const tool = this.#tools.find(name);
      return tool ? [{ tool, given }] : [];
    });
    return this.#tools.callAll(made);
  }

  toItem(call: OwnCall, outcome: ToolOutcome | undefined): Item {
    const tool = this.#tools.find(call.name);
    return toCallItem({ server_label: `@gateway-mcp/${tool?.server}`, name: tool?.name }, call, outcome);
  }

  toBegun = toBegunEvents;

  toEnded = toEndedEvents;
}
