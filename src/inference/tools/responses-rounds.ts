import type { CallerContext } from "../../context.ts";
import { toItemId, toResponseId } from "../../dialects/responses/ids.ts";
import { toErrorCode } from "../../dialects/responses/response.ts";
import type { StoreResponse, StreamError } from "../../dialects/types.ts";
import { finiteNumber, isObject, objectsIn, parseJson, stringOf } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { isOwnLabel } from "../facts/server-labels.ts";
import { isOwnFileTool } from "../facts/store-ids.ts";
import { requireBeta, type ToolOutcome } from "./mcp-tools.ts";
import { planWebSearch } from "./plan-search.ts";
import { AnnotatedItems, type TextRules } from "./responses-annotations.ts";
import { FileKit, isOwnFileSearch, toPlainFileSearch } from "./responses-files.ts";
import type { OwnCall, ResponsesKit } from "./responses-kit.ts";
import { isServerTool, ServerKit, toPlainMcpItems } from "./responses-mcp.ts";
import { isPromptTool, PromptKit } from "./responses-prompts.ts";
import { isOwnSearch, SearchKit, toolsOf, toPlainSearch } from "./responses-search.ts";
import { runRounds } from "./run-rounds.ts";
import { isOpenaiSearch } from "./search-wish.ts";
import type { LiveRound, RoundForm, Say } from "./tool-rounds.ts";

type Item = Readonly<Record<string, unknown>>;

const refusedCall: ToolOutcome = { text: "Cannot call the tool: max_tool_calls is reached", isError: true };

/** Calls of tools of the gateway in earlier responses, as calls of functions. */
function toPlainItems(item: Item): Item[] {
  if (isOwnFileSearch(item)) return toPlainFileSearch(item);
  return isOwnSearch(item) ? toPlainSearch(item) : toPlainMcpItems(item);
}

/** A call of a round that the gateway runs. */
interface KitCall extends OwnCall {
  readonly kit: ResponsesKit;
  readonly item: Item;
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
  readonly request: ResponsesRequest;
  readonly #context: CallerContext;
  readonly #store: StoreResponse;
  readonly #kits: readonly ResponsesKit[];
  /** The items of the response, and those as the client gets them. */
  readonly #output: Item[] = [];
  readonly #shown: Item[] = [];
  #choice: unknown;
  #input: Item[];
  #place = 0;
  #calls = 0;
  /** The response as the stream began it. */
  #head: Item | undefined;

  constructor(
    request: ResponsesRequest,
    input: Item[],
    { context, store, kits }: RoundParts & { kits: readonly ResponsesKit[] },
  ) {
    this.request = request;
    this.#context = context;
    this.#store = store;
    this.#input = input;
    this.#kits = kits;
  }

  #itemId(prefix: string): string {
    return toItemId(prefix, this.#context.id, this.#place++);
  }

  #show(item: Item, shown = item): void {
    this.#output.push(item);
    this.#shown.push(shown);
  }

  path(): string {
    return "/v1/responses";
  }

  async open(): Promise<void> {
    for (const kit of this.#kits) {
      for (const item of await kit.open()) this.#show({ id: this.#itemId(`${kit.prefix}l`), ...item });
    }
    this.#choice = this.#toChoice(this.request.tool_choice);
  }

  #toChoice(choice: unknown): unknown {
    if (!isObject(choice)) return choice;
    if (choice.type === "allowed_tools" && Array.isArray(choice.tools)) {
      return { ...choice, tools: objectsIn(choice.tools).map((tool) => this.#toChoice(tool)) };
    }
    return this.#kits.map((kit) => kit.toChoice(choice)).find((found) => found !== undefined) ?? choice;
  }

  #serves(tool: Item): boolean {
    return this.#kits.some((kit) => kit.serves(tool));
  }

  next(): object {
    const { input: _, stream: __, stream_options: ___, max_tool_calls: ____, include, ...request } = this.request;
    const others = objectsIn(request.tools).filter((tool) => !this.#serves(tool));
    const included = include?.filter((name) => !this.#isOwnInclude(name, others));
    const body = {
      ...request,
      ...(included && { include: included }),
      tools: [...others, ...this.#kits.flatMap((kit) => kit.functions())],
      input: this.#input.map((item) => this.#withoutServed(item)),
      store: false,
    };
    const choice = this.#choice;
    // a choice that asks for a call would be answered by calls without end
    const isAllowed = isObject(choice) && choice.type === "allowed_tools";
    if (isAllowed) this.#choice = { ...choice, mode: "auto" };
    else this.#choice = isObject(choice) || choice === "required" ? "auto" : choice;
    return choice == null ? body : { ...body, tool_choice: choice };
  }

  /** Whether a name of `include` is of calls of the gateway alone. */
  #isOwnInclude(name: string, others: readonly Item[]): boolean {
    return this.#kits.some(({ included }) => {
      const isOfOthers = others.some(({ type }) => `${String(type)}_call.` === included);
      return included !== undefined && name.startsWith(included) && !isOfOthers;
    });
  }

  /** An item that adds tools, without those that the gateway runs. */
  #withoutServed(item: Item): Item {
    if (item.type !== "additional_tools") return item;
    return { ...item, tools: objectsIn(item.tools).filter((tool) => !this.#serves(tool)) };
  }

  #kitOf({ type, name }: Item): ResponsesKit | undefined {
    return type === "function_call" ? this.#kits.find((kit) => kit.has(name)) : undefined;
  }

  #annotated(): AnnotatedItems {
    const rules: TextRules = {
      annotate: (text) => this.#kits.flatMap((kit) => kit.annotate?.(text) ?? []),
      cutter: () => this.#kits.map((kit) => kit.cutter?.()).find((cutter) => cutter !== undefined),
    };
    return new AnnotatedItems(rules);
  }

  async answer({ output }: Item, say: Say): Promise<boolean> {
    const items = objectsIn(output);
    const annotated = this.#annotated();
    for (const item of items) if (!this.#kitOf(item)) this.#show(annotated.ofItem(item));
    const calls = items.flatMap((item): KitCall[] => {
      const kit = this.#kitOf(item);
      const text = stringOf(item.arguments) ?? "{}";
      const shared = { item, name: String(item.name), text, given: parseJson(text) };
      return kit ? [{ ...shared, kit, id: this.#itemId(kit.prefix) }] : [];
    });
    const start = this.#output.length;
    const show = (call: KitCall, item: Item): Item => call.kit.toShown?.(item) ?? item;
    const begun = calls.map((call) => show(call, call.kit.toItem(call, undefined)));
    await say(calls.flatMap(({ kit }, index) => kit.toBegun(begun[index] ?? {}, start + index)));
    const outcomes = await this.#callAll(calls);
    const answers: Item[] = [];
    for (const [index, call] of calls.entries()) {
      const outcome = outcomes.get(call) ?? refusedCall;
      answers.push({ type: "function_call_output", call_id: call.item.call_id, output: outcome.text });
      const item = call.kit.toItem(call, outcome);
      const shown = show(call, item);
      this.#show(item, shown);
      await say(call.kit.toEnded(shown, start + index));
    }
    this.#input = [...this.#input, ...items, ...answers];
    const others = items.some((item) => item.type === "function_call" && !this.#kitOf(item));
    return calls.length > 0 && !others;
  }

  /** The outcomes of calls, as many as the request allows. */
  async #callAll(calls: readonly KitCall[]): Promise<ReadonlyMap<KitCall, ToolOutcome>> {
    const most = this.request.max_tool_calls ?? Number.POSITIVE_INFINITY;
    const allowed = calls.slice(0, Math.max(0, most - this.#calls));
    this.#calls += calls.length;
    const found = new Map<KitCall, ToolOutcome>();
    const run = async (kit: ResponsesKit): Promise<void> => {
      const own = allowed.filter((call) => call.kit === kit);
      const outcomes = own.length === 0 ? [] : await kit.callAll(own);
      for (const [index, call] of own.entries()) found.set(call, outcomes[index] ?? refusedCall);
    };
    await Promise.all(this.#kits.map(run));
    return found;
  }

  /** A response of a round as that of the request. */
  #toOwn(body: Item): Item {
    const { store = true, max_tool_calls, previous_response_id: previous } = this.request;
    return {
      ...body,
      id: toResponseId(this.#context.id),
      tools: this.request.tools ?? [],
      tool_choice: this.request.tool_choice ?? "auto",
      store,
      ...(finiteNumber(max_tool_calls) !== undefined && { max_tool_calls }),
      ...(typeof previous === "string" && { previous_response_id: previous }),
    };
  }

  finish(last: Item, { usage, isCut }: { usage: Item | undefined; isCut: boolean }): Item {
    const answer = {
      ...this.#toOwn(last),
      output: this.#shown,
      ...(usage && { usage }),
      ...(isCut && { status: "incomplete", incomplete_details: { reason: "max_tool_calls" } }),
    };
    // later requests continue from the results of searches
    this.#store({ ...answer, output: this.#output });
    return answer;
  }

  /** The first events of the stream: the response, and the lists of tools. */
  #begin(response: Item): Item[] {
    if (this.#head) return [];
    const head = { ...this.#toOwn(response), output: [] };
    this.#head = head;
    const lists = this.#output.flatMap((item, output_index) => [
      { type: "response.output_item.added", output_index, item: { ...item, tools: [] } },
      { type: "response.mcp_list_tools.in_progress", output_index, item_id: item.id },
      { type: "response.mcp_list_tools.completed", output_index, item_id: item.id },
      { type: "response.output_item.done", output_index, item },
    ]);
    return [{ type: "response.created", response: head }, { type: "response.in_progress", response: head }, ...lists];
  }

  live(): LiveRound {
    const base = this.#output.length;
    const places = new Map<unknown, number>();
    const own = new Set<unknown>();
    const annotated = this.#annotated();
    let whole: Item | undefined;
    const move = (event: Item): Item[] => {
      const { output_index: index, item } = event;
      if (index === undefined) return [event];
      if (event.type === "response.output_item.added" && isObject(item) && this.#kitOf(item)) own.add(index);
      if (own.has(index)) return [];
      const place = places.get(index) ?? base + places.size;
      places.set(index, place);
      return annotated.ofEvent({ ...event, output_index: place });
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

  toErrors(error: StreamError): Item[] {
    const { message } = error;
    const code = toErrorCode(error);
    const event = { type: "error", code, message, param: null };
    if (!this.#head) return [event];
    const response = { ...this.#head, status: "failed", error: { code, message }, output: this.#shown };
    return [event, { type: "response.failed", response }];
  }
}

/** Whether a request may use tools that the gateway runs: MCP servers and prompts of the workspace, a search of the web or of files. */
export function mayUseTools(request: Pick<ResponsesRequest, "tools" | "input">): boolean {
  return toolsOf(request).some(
    (tool) => isServerTool(tool) || isPromptTool(tool) || isOpenaiSearch(tool) || isOwnFileTool(tool),
  );
}

/**
 * The tools of a request that the gateway runs; none where its provider does.
 *
 * @throws {GatewayError} 400 or 404 for a vector store that the caller cannot search.
 */
export async function planTools(request: ResponsesRequest, context: CallerContext): Promise<readonly ResponsesKit[]> {
  const tools = toolsOf(request);
  const kits: ResponsesKit[] = [];
  if (tools.some(isServerTool)) {
    requireBeta(context, "tools");
    kits.push(new ServerKit(request, context));
  }
  if (tools.some(isPromptTool)) {
    requireBeta(context, "tools");
    kits.push(new PromptKit(request, context));
  }
  const settings = tools.some(isOpenaiSearch) ? await planWebSearch("responses", request, context) : undefined;
  if (settings) kits.push(new SearchKit(request, settings, context));
  if (tools.some(isOwnFileTool)) kits.push(await FileKit.of(request, tools, context));
  return kits;
}

/**
 * Answers a request with tools that the gateway runs: models call them as functions, in rounds.
 *
 * @param input The items of the conversation, those of earlier responses included.
 * @throws {GatewayError} 404 for a server that the caller cannot use.
 */
export function runTools(
  request: ResponsesRequest,
  input: readonly Item[],
  parts: RoundParts & { kits: readonly ResponsesKit[] },
): Promise<Reply> {
  const toPlain = (item: Item): Item[] => {
    const own = parts.kits.map((kit) => kit.toPlain?.(item)).find((found) => found !== undefined);
    return own ?? toPlainItems(item);
  };
  return runRounds(new ResponsesRounds(request, input.flatMap(toPlain), parts), parts.context);
}

/** The items of a conversation without calls of tools of the gateway, which no provider knows. */
export function withoutOwnCalls(input: ResponsesRequest["input"]): ResponsesRequest["input"] {
  const isOwn = (item: Item): boolean => isOwnLabel(item.server_label) || isOwnSearch(item) || isOwnFileSearch(item);
  if (!Array.isArray(input) || !input.some(isOwn)) return input;
  return input.flatMap((item: Item) => toPlainItems(item)) as ResponsesRequest["input"]; // items have no fixed members
}
