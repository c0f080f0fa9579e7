import type { CallerContext } from "../../context.ts";
import { toItemId, toResponseId } from "../../dialects/responses/ids.ts";
import type { StoreResponse } from "../../dialects/types.ts";
import { finiteNumber, isObject, objectsIn, parseJson, stringOf } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { runRounds } from "./run-rounds.ts";
import { requireBeta, type ServerTool, ServerTools, slugIn, type ToolOutcome, toPlainName } from "./server-tools.ts";
import type { LiveRound, RoundForm, Say } from "./tool-rounds.ts";

type Item = Readonly<Record<string, unknown>>;

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

function toFunction({ functionName, description, parameters }: ServerTool): Item {
  const described = description === undefined ? {} : { description };
  return { type: "function", name: functionName, ...described, parameters, strict: false };
}

function toListedTool({ name, description, inputSchema, annotations }: ServerTool): Item {
  return { name, description: description ?? null, input_schema: inputSchema, annotations: annotations ?? null };
}

/** A call of a tool as its item; without an outcome while it runs. */
function toCallItem(
  { id, tool, text }: { id: string; tool: ServerTool; text: string },
  outcome: ToolOutcome | undefined,
): Item {
  const { isError = false } = outcome ?? {};
  return {
    id,
    type: "mcp_call",
    server_label: `@gateway-mcp/${tool.server}`,
    name: tool.name,
    arguments: text,
    output: outcome && !isError ? outcome.text : null,
    error: outcome && isError ? outcome.text : null,
    approval_request_id: null,
    status: outcome ? (isError ? "failed" : "completed") : "in_progress",
  };
}

/** Events of a call that begins. */
function toBegunEvents(item: Item, output_index: number): Item[] {
  const place = { output_index, item_id: item.id };
  return [
    { type: "response.output_item.added", output_index, item: { ...item, arguments: "" } },
    { type: "response.mcp_call.in_progress", ...place },
    { type: "response.mcp_call_arguments.delta", ...place, delta: item.arguments },
    { type: "response.mcp_call_arguments.done", ...place, arguments: item.arguments },
  ];
}

const refusedCall: ToolOutcome = { text: "Cannot call the tool: max_tool_calls is reached", isError: true };

/** The choice of a tool, where it names one of a server. */
function toChoice(choice: unknown, tools: readonly ServerTool[]): unknown {
  if (!isObject(choice) || choice.type !== "mcp") return choice;
  const slug = slugIn(choice.server_label);
  const found = tools.find(({ server, name }) => server === slug && name === choice.name);
  return found ? { type: "function", name: found.functionName } : "required";
}

/** Events of an item of the gateway: a list of tools, or a call. */
function toItemEvents(item: Item, output_index: number, kinds: readonly string[]): Item[] {
  const place = { output_index, item_id: item.id };
  return [
    ...kinds.map((kind) => ({ type: `response.${kind}`, ...place })),
    { type: "response.output_item.done", output_index, item },
  ];
}

/** What rounds need besides their request. */
interface RoundParts {
  readonly context: CallerContext;
  /** Stores the response, which may be read again. */
  readonly store: StoreResponse;
}

/** Rounds of a request of the Responses API. */
class ResponsesRounds implements RoundForm {
  readonly operation = "responses";
  readonly path = "/v1/responses";
  readonly request: ResponsesRequest;
  readonly #context: CallerContext;
  readonly #store: StoreResponse;
  readonly #tools: ServerTools;
  readonly #output: Item[] = [];
  #functions: readonly ServerTool[] = [];
  #choice: unknown;
  #input: Item[];
  #place = 0;
  #calls = 0;
  #isBegun = false;

  constructor(request: ResponsesRequest, input: Item[], { context, store }: RoundParts) {
    this.request = request;
    this.#context = context;
    this.#store = store;
    this.#input = input;
    this.#tools = new ServerTools(context);
  }

  #itemId(prefix: string): string {
    return toItemId(prefix, this.#context.id, this.#place++);
  }

  async open(): Promise<void> {
    const all: ServerTool[] = [];
    for (const tool of objectsIn(this.request.tools).filter(isServerTool)) {
      const { tools, leftOut } = await this.#tools.list(slugIn(tool.server_label) ?? "", readAllowed(tool));
      all.push(...tools);
      this.#output.push({
        id: this.#itemId("mcpl"),
        type: "mcp_list_tools",
        server_label: tool.server_label,
        tools: tools.map(toListedTool),
        error: leftOut.length > 0 ? `Left out, because their arguments are no object: ${leftOut.join(", ")}` : null,
      });
    }
    this.#functions = all;
    this.#choice = toChoice(this.request.tool_choice, all);
  }

  next(): object {
    const { input: _, stream: __, stream_options: ___, max_tool_calls: ____, ...request } = this.request;
    const others = objectsIn(request.tools).filter((tool) => !isServerTool(tool));
    const body = {
      ...request,
      tools: [...others, ...this.#functions.map(toFunction)],
      input: this.#input,
      store: false,
    };
    const choice = this.#choice;
    // a choice that asks for a call would be answered by calls without end
    this.#choice = isObject(choice) || choice === "required" ? "auto" : choice;
    return choice == null ? body : { ...body, tool_choice: choice };
  }

  #isOwnCall({ type, name }: Item): boolean {
    return type === "function_call" && this.#tools.find(name) !== undefined;
  }

  async answer({ output }: Item, say: Say): Promise<boolean> {
    const items = objectsIn(output);
    this.#output.push(...items.filter((item) => !this.#isOwnCall(item)));
    const calls = items.flatMap((item) => {
      const tool = item.type === "function_call" ? this.#tools.find(item.name) : undefined;
      const given = stringOf(item.arguments) ?? "{}";
      return tool ? [{ item, tool, text: given, given: parseJson(given), id: this.#itemId("mcp") }] : [];
    });
    const start = this.#output.length;
    await say(calls.flatMap((call, index) => toBegunEvents(toCallItem(call, undefined), start + index)));
    const most = this.request.max_tool_calls ?? Number.POSITIVE_INFINITY;
    const left = Math.max(0, most - this.#calls);
    this.#calls += calls.length;
    const outcomes = await this.#tools.callAll(calls.slice(0, left));
    const answers: Item[] = [];
    for (const [index, call] of calls.entries()) {
      const outcome = outcomes[index] ?? refusedCall;
      answers.push({ type: "function_call_output", call_id: call.item.call_id, output: outcome.text });
      const item = toCallItem(call, outcome);
      this.#output.push(item);
      await say(toItemEvents(item, start + index, [`mcp_call.${outcome.isError ? "failed" : "completed"}`]));
    }
    this.#input = [...this.#input, ...items, ...answers];
    const others = items.some((item) => item.type === "function_call" && !this.#isOwnCall(item));
    return calls.length > 0 && !others;
  }

  /** A response of a round as that of the request. */
  #toOwn(body: Item): Item {
    const { store = true, max_tool_calls, previous_response_id: previous } = this.request;
    return {
      ...body,
      id: toResponseId(this.#context.id),
      tools: this.request.tools,
      store,
      ...(finiteNumber(max_tool_calls) !== undefined && { max_tool_calls }),
      ...(typeof previous === "string" && { previous_response_id: previous }),
    };
  }

  finish(last: Item, { usage, isCut }: { usage: Item | undefined; isCut: boolean }): Item {
    const answer = {
      ...this.#toOwn(last),
      output: this.#output,
      ...(usage && { usage }),
      ...(isCut && { status: "incomplete", incomplete_details: { reason: "max_tool_calls" } }),
    };
    this.#store(answer);
    return answer;
  }

  /** The first events of the stream: the response, and the lists of tools. */
  #begin(response: Item): Item[] {
    if (this.#isBegun) return [];
    this.#isBegun = true;
    const head = { ...this.#toOwn(response), output: [] };
    const lists = this.#output.flatMap((item, output_index) => [
      { type: "response.output_item.added", output_index, item: { ...item, tools: [] } },
      ...toItemEvents(item, output_index, ["mcp_list_tools.in_progress", "mcp_list_tools.completed"]),
    ]);
    return [{ type: "response.created", response: head }, { type: "response.in_progress", response: head }, ...lists];
  }

  live(): LiveRound {
    const base = this.#output.length;
    const places = new Map<unknown, number>();
    const own = new Set<unknown>();
    let whole: Item | undefined;
    const move = (event: Item): Item[] => {
      const { output_index: index, item } = event;
      if (index === undefined) return [event];
      if (event.type === "response.output_item.added" && isObject(item) && this.#isOwnCall(item)) own.add(index);
      if (own.has(index)) return [];
      const place = places.get(index) ?? base + places.size;
      places.set(index, place);
      return [{ ...event, output_index: place }];
    };
    return {
      push: (event) => {
        const response = isObject(event.response) ? event.response : undefined;
        if (!response) return move(event);
        const isLast = /^response\.(?:completed|incomplete|failed)$/.test(String(event.type));
        if (isLast) whole = response;
        return this.#begin(response);
      },
      whole: () => whole,
    };
  }

  closing(response: Item): Item[] {
    return [{ type: `response.${String(response.status)}`, response }];
  }

  toError(message: string): Item {
    return { type: "error", code: "server_error", message, param: null };
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
  { context, store }: RoundParts,
): Promise<Reply> {
  requireBeta(context, "tools");
  return runRounds(new ResponsesRounds(request, input.flatMap(toPlainItems), { context, store }), context);
}

/** The items of a conversation without calls of MCP servers of the workspace, which no provider knows. */
export function withoutServerCalls(input: ResponsesRequest["input"]): ResponsesRequest["input"] {
  if (!Array.isArray(input) || !input.some(({ server_label: label }: Item) => slugIn(label) !== undefined))
    return input;
  return input.flatMap((item: Item) => toPlainItems(item)) as ResponsesRequest["input"]; // items have no fixed members
}
