import type { CallerContext } from "../../context.ts";
import { toItemId, toResponseId } from "../../dialects/responses/ids.ts";
import { finiteNumber, isObject, objectsIn, parseJson, stringOf } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { toStreamed } from "../stream/replay.ts";
import { type ModelRound, readRound, sumUsage } from "./model-rounds.ts";
import {
  askModel,
  maxRounds,
  requireBeta,
  type ServerTool,
  ServerTools,
  slugIn,
  type ToolOutcome,
  toPlainName,
} from "./server-tools.ts";

type Item = Readonly<Record<string, unknown>>;

/** The path of a round. */
const path = "/v1/responses";

/** Whether a tool is an MCP server of the workspace. */
function isServerTool(tool: Item): boolean {
  return tool.type === "mcp" && slugIn(tool.server_label) !== undefined;
}

/** Whether a request uses MCP servers of the workspace. */
export function usesServerTools({ tools }: Pick<ResponsesRequest, "tools">): boolean {
  return tools?.some(isServerTool) === true;
}

/** The tools that `allowed_tools` leaves; absent, all. */
function readAllowed({ allowed_tools: allowed }: Item): (name: string) => boolean {
  const names = isObject(allowed) ? allowed.tool_names : allowed;
  return Array.isArray(names) ? (name) => names.includes(name) : () => true;
}

/** Calls of earlier responses, as calls of functions; lists are left out. */
function toPlainItems(item: Item): Item[] {
  const slug = slugIn(item.server_label);
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

function toFunction({ functionName, description, inputSchema }: ServerTool): Item {
  const described = description === undefined ? {} : { description };
  return { type: "function", name: functionName, ...described, parameters: inputSchema, strict: false };
}

/** The choice of a tool, where it names one of a server. */
function toChoice(choice: unknown, tools: readonly ServerTool[]): unknown {
  if (!isObject(choice) || choice.type !== "mcp") return choice;
  const slug = slugIn(choice.server_label);
  const found = tools.find(({ server, name }) => server === slug && name === choice.name);
  return found ? { type: "function", name: found.functionName } : "required";
}

/** A run of rounds. */
class ResponsesRun {
  readonly #context: CallerContext;
  readonly #request: ResponsesRequest;
  readonly #tools: ServerTools;
  readonly #output: Item[] = [];
  #input: Item[];
  #place = 0;
  #calls = 0;

  constructor(request: ResponsesRequest, input: Item[], context: CallerContext) {
    this.#request = request;
    this.#context = context;
    this.#input = input;
    this.#tools = new ServerTools(context);
  }

  #itemId(prefix: string): string {
    return toItemId(prefix, this.#context.id, this.#place++);
  }

  /** Lists the tools of all servers of the request. */
  async #list(): Promise<ServerTool[]> {
    const all: ServerTool[] = [];
    for (const tool of objectsIn(this.#request.tools).filter(isServerTool)) {
      const listed = await this.#tools.list(slugIn(tool.server_label) ?? "", readAllowed(tool));
      all.push(...listed);
      this.#output.push({
        id: this.#itemId("mcpl"),
        type: "mcp_list_tools",
        server_label: tool.server_label,
        tools: listed.map(({ name, description, inputSchema, annotations }) => {
          return {
            name,
            description: description ?? null,
            input_schema: inputSchema,
            annotations: annotations ?? null,
          };
        }),
        error: null,
      });
    }
    return all;
  }

  #toCallItem({ server, name }: ServerTool, given: string, { text, isError }: ToolOutcome): Item {
    return {
      id: this.#itemId("mcp"),
      type: "mcp_call",
      server_label: `@gateway-mcp/${server}`,
      name,
      arguments: given,
      output: isError ? null : text,
      error: isError ? text : null,
      approval_request_id: null,
      status: isError ? "failed" : "completed",
    };
  }

  /** Runs the calls of a round; whether the model goes on. */
  async #answerCalls(items: readonly Item[]): Promise<boolean> {
    const calls = items.flatMap((item) => {
      const tool = item.type === "function_call" ? this.#tools.find(item.name) : undefined;
      return tool ? [{ item, tool, given: parseJson(stringOf(item.arguments) ?? "{}") }] : [];
    });
    const most = this.#request.max_tool_calls ?? Number.POSITIVE_INFINITY;
    const left = Math.max(0, most - this.#calls);
    this.#calls += calls.length;
    const outcomes = await this.#tools.callAll(calls.slice(0, left));
    const refused: ToolOutcome = { text: "Cannot call the tool: max_tool_calls is reached", isError: true };
    const answers: Item[] = [];
    for (const [index, { item, tool }] of calls.entries()) {
      const outcome = outcomes[index] ?? refused;
      answers.push({ type: "function_call_output", call_id: item.call_id, output: outcome.text });
      this.#output.push(this.#toCallItem(tool, stringOf(item.arguments) ?? "{}", outcome));
    }
    this.#input = [...this.#input, ...items, ...answers];
    const others = items.some(({ type, name }) => type === "function_call" && this.#tools.find(name) === undefined);
    return calls.length > 0 && !others;
  }

  /** The output items of a round that the caller sees. */
  #show(items: readonly Item[]): void {
    const isOwnCall = ({ type, name }: Item) => type === "function_call" && this.#tools.find(name) !== undefined;
    this.#output.push(...items.filter((item) => !isOwnCall(item)));
  }

  async run(): Promise<Reply> {
    const listed = await this.#list();
    const { input: _, stream: __, stream_options: ___, max_tool_calls: ____, ...request } = this.#request;
    const others = objectsIn(request.tools).filter((tool) => !isServerTool(tool));
    const tools = [...others, ...listed.map(toFunction)];
    const rounds: ModelRound[] = [];
    let choice = toChoice(request.tool_choice, listed);
    for (;;) {
      const body = { ...request, tools, input: this.#input, store: false, stream: false };
      const asked = choice == null ? body : { ...body, tool_choice: choice };
      const round = await readRound(await askModel(path, asked, this.#context));
      rounds.push(round);
      if (!round.body) return round.reply;
      const items = objectsIn(round.body.output);
      this.#show(items);
      const goesOn = await this.#answerCalls(items);
      if (!goesOn) return this.#finish(rounds, undefined);
      if (rounds.length === maxRounds) return this.#finish(rounds, "max_tool_calls");
      // a choice that asks for a call would be answered by calls without end
      choice = isObject(choice) || choice === "required" ? "auto" : choice;
    }
  }

  #finish(rounds: readonly ModelRound[], reason: string | undefined): Reply {
    const last = rounds.at(-1);
    const usage = sumUsage(rounds.map(({ body }) => body?.usage));
    const { store = true, max_tool_calls, previous_response_id: previous } = this.#request;
    const answer = {
      ...last?.body,
      id: toResponseId(this.#context.id),
      output: this.#output,
      tools: this.#request.tools,
      store,
      ...(finiteNumber(max_tool_calls) !== undefined && { max_tool_calls }),
      ...(typeof previous === "string" && { previous_response_id: previous }),
      ...(usage && { usage }),
      ...(reason !== undefined && { status: "incomplete", incomplete_details: { reason } }),
    };
    this.#context.storeResponse?.(answer);
    const text = JSON.stringify(answer);
    const body = last?.numbers?.restore(text) ?? text;
    const reply = { status: last?.reply.status ?? 200, headers: { ...last?.reply.headers }, body };
    this.#context.log.responseBody = body;
    return this.#request.stream === true ? toStreamed("responses", reply, this.#request, this.#context) : reply;
  }
}

/**
 * Answers a request whose tools are MCP servers of the workspace: models call them as functions, in rounds.
 *
 * @param input The items of the conversation, those of earlier responses included.
 * @throws {GatewayError} 400 without the beta; 404 for a server that the caller cannot use.
 */
export function runServerTools(
  request: ResponsesRequest,
  input: readonly Item[],
  context: CallerContext,
): Promise<Reply> {
  requireBeta(context, "tools");
  return new ResponsesRun(request, input.flatMap(toPlainItems), context).run();
}

/** The items of a conversation without calls of MCP servers of the workspace, which no provider knows. */
export function withoutServerCalls(input: ResponsesRequest["input"]): ResponsesRequest["input"] {
  if (!Array.isArray(input) || !input.some(({ server_label: label }: Item) => slugIn(label) !== undefined))
    return input;
  return input.flatMap((item: Item) => toPlainItems(item)) as ResponsesRequest["input"]; // items have no fixed members
}
