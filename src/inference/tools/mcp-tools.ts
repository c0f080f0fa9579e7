import type { CallerContext } from "../../context.ts";
import { InvalidRequestError, NotFoundError, UpstreamError } from "../../errors.ts";
import { isObject, objectsIn, stringOf } from "../../lib/json.ts";
import { mapParallel } from "../../lib/parallel.ts";
import { namesBeta } from "../target/target.ts";
import { toModelSchema } from "./model-schema.ts";
import { callServer, toolsBeta } from "./own-requests.ts";

/** Most calls of a round at once. */
const maxParallel = 8;
/** Most calls of a round and of a request: each is a request to a server, and a row. */
const maxCalls = { round: 128, request: 256 };
/** Bounds of lists of tools: pages and milliseconds of a server, tools and servers of a request. */
const bounds = { pages: 50, tools: 1_000, servers: 64, totalMs: 60_000 };
/** Most characters of all results of a request. */
const maxResults = 8 * 1024 * 1024;
/** Longest name of a function that all providers take. */
const maxName = 64;

type Item = Readonly<Record<string, unknown>>;

/** A tool of an MCP server as a model sees it. */
export interface ServerTool {
  readonly server: string;
  readonly name: string;
  /** Name of the function that stands for it. */
  readonly functionName: string;
  readonly description: string | undefined;
  readonly inputSchema: Item;
  /** The schema of its arguments as providers take it. */
  readonly parameters: Item;
  readonly annotations: unknown;
}

/** Tools of a server that a request may use. */
interface ToolList {
  readonly tools: readonly ServerTool[];
  /** Names of tools that no provider takes: their arguments are no object. */
  readonly leftOut: readonly string[];
}

/** What a tool answered, as text for the model. */
export interface ToolOutcome {
  readonly text: string;
  readonly isError: boolean;
}

/** @throws {InvalidRequestError} 400 if the request does not ask for the beta. */
export function requireBeta(context: CallerContext, param: string): void {
  if (namesBeta(context, toolsBeta)) return;
  throw new InvalidRequestError(`Cannot use MCP servers of the workspace: send x-gateway-beta: ${toolsBeta}`, {
    param,
    code: "beta_required",
  });
}

/** The message of a JSON-RPC error. */
export function messageOf({ error }: Item): string {
  return (isObject(error) ? stringOf(error.message) : undefined) ?? "the server gave no answer";
}

/** Name of the function for a tool, unless another tool has it: in the letters and the length that all providers take. */
export function toPlainName(server: string, tool: string): string {
  return `${server}__${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, maxName);
}

/** A name for a function: of the server and the tool, in the letters that all providers take. */
function toFunctionName(server: string, tool: string, taken: ReadonlyMap<string, ServerTool>): string {
  const plain = toPlainName(server, tool);
  if (!taken.has(plain)) return plain;
  for (let count = 2; ; count++) {
    const end = `_${count}`;
    const name = plain.slice(0, maxName - end.length) + end;
    if (!taken.has(name)) return name;
  }
}

/** The text of a result of a tool, else its structured content. */
export function textOfResult(result: Item): string {
  const parts = objectsIn(result.content).map((item) => {
    if (typeof item.text === "string") return item.text;
    if (isObject(item.resource) && typeof item.resource.text === "string") return item.resource.text;
    return JSON.stringify({ ...item, ...(item.data !== undefined && { data: "(omitted)" }) });
  });
  if (parts.length > 0) return parts.join("\n");
  return result.structuredContent === undefined ? "" : JSON.stringify(result.structuredContent);
}

/** The tools of MCP servers that a request may use. */
export class ServerTools {
  readonly #context: CallerContext;
  readonly #byFunction = new Map<string, ServerTool>();
  #length = 0;
  #servers = 0;
  #calls = 0;

  constructor(context: CallerContext) {
    this.#context = context;
  }

  /**
   * Lists the tools of a server that a request may use.
   *
   * @param isAllowed Whether the request allows a tool.
   * @throws {GatewayError} 400 for too many servers; 404 for servers that the caller cannot use; 502 if one gives no list.
   */
  async list(slug: string, isAllowed: (name: string) => boolean): Promise<ToolList> {
    if (++this.#servers > bounds.servers) {
      throw new InvalidRequestError(`Cannot use more than ${bounds.servers} MCP servers in one request`, {
        param: "tools",
        code: "invalid_tools",
      });
    }
    const found: ServerTool[] = [];
    const leftOut: string[] = [];
    const seen = new Set<string>();
    const { clock } = this.#context.services;
    const until = clock.monotonic() + bounds.totalMs;
    let cursor: string | undefined;
    for (
      let page = 0;
      page < bounds.pages && this.#byFunction.size < bounds.tools && clock.monotonic() < until;
      page++
    ) {
      const result = await this.#listPage(slug, cursor);
      for (const tool of objectsIn(result.tools)) {
        const name = stringOf(tool.name);
        if (name === undefined || !isAllowed(name) || this.#byFunction.size >= bounds.tools) continue;
        const added = this.#add(slug, name, tool);
        if (added) found.push(added);
        else leftOut.push(name);
      }
      cursor = stringOf(result.nextCursor);
      if (cursor === undefined || seen.has(cursor)) break;
      seen.add(cursor);
    }
    return { tools: found, leftOut };
  }

  async #listPage(slug: string, cursor: string | undefined): Promise<Item> {
    const params = cursor === undefined ? {} : { cursor };
    const { status, answer } = await callServer(slug, { method: "tools/list", params }, this.#context);
    if (isObject(answer.result)) return answer.result;
    if (status === 404) {
      throw new NotFoundError(`Cannot find the MCP server "${slug}"`, { param: "tools", code: "mcp_server_not_found" });
    }
    throw new UpstreamError(502, `Cannot list the tools of the MCP server "${slug}": ${messageOf(answer)}`, {
      code: "mcp_list_failed",
    });
  }

  /** Adds a tool; undefined if no provider takes it. */
  #add(server: string, name: string, tool: Item): ServerTool | undefined {
    const { description, annotations } = tool;
    const inputSchema = isObject(tool.inputSchema) ? tool.inputSchema : { type: "object" };
    const parameters = toModelSchema(inputSchema);
    if (!parameters) return undefined;
    const functionName = toFunctionName(server, name, this.#byFunction);
    const added: ServerTool = {
      server,
      name,
      functionName,
      description: stringOf(description),
      inputSchema,
      parameters,
      annotations,
    };
    this.#byFunction.set(functionName, added);
    return added;
  }

  /** The tool that a function stands for. */
  find(functionName: unknown): ServerTool | undefined {
    return typeof functionName === "string" ? this.#byFunction.get(functionName) : undefined;
  }

  /** Calls a tool. What refuses or fails becomes text for the model. */
  async #call({ server, name }: ServerTool, given: unknown): Promise<ToolOutcome> {
    if (!isObject(given)) return { text: "Cannot call the tool: its arguments are not a JSON object", isError: true };
    const params = { name, arguments: given };
    const { answer } = await callServer(server, { method: "tools/call", params }, this.#context);
    const { result } = answer;
    if (!isObject(result)) return { text: messageOf(answer), isError: true };
    if (result.resultType === "input_required") {
      return { text: "Cannot finish the call: the tool asks for input, which nobody can give here", isError: true };
    }
    const text = textOfResult(result);
    this.#length += text.length;
    if (this.#length > maxResults)
      return { text: "Cannot return the result: this request has too many", isError: true };
    return { text, isError: result.isError === true };
  }

  /** Calls the tools of a round, a few at once; in the order of the calls. Calls beyond the limits are not made. */
  async callAll(calls: readonly { tool: ServerTool; given: unknown }[]): Promise<ToolOutcome[]> {
    const left = maxCalls.request - this.#calls;
    const made = calls.slice(0, Math.min(left, maxCalls.round));
    this.#calls += made.length;
    const outcomes = await mapParallel(made, maxParallel, ({ tool, given }) => this.#call(tool, given));
    const [what, most] =
      left < maxCalls.round ? ["request has", maxCalls.request] : ["round of calls has", maxCalls.round];
    const refused: ToolOutcome = { text: `Cannot call the tool: a ${what} at most ${most} calls`, isError: true };
    return [...outcomes, ...calls.slice(made.length).map(() => refused)];
  }
}
