import type { CallerContext } from "../../context.ts";
import { toErrorEvent } from "../../dialects/messages/events.ts";
import type { StreamError } from "../../dialects/types.ts";
import { isObject, objectsIn, stringOf } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import type { MessagesRequest } from "../../schemas/messages.ts";
import { toBlockEvents } from "../stream/replay.ts";
import { requireBeta, type ToolOutcome } from "./mcp-tools.ts";
import { MessageMaker } from "./message-maker.ts";
import { toPlainMessages } from "./messages-history.ts";
import type { MessagesKit, UseBlock } from "./messages-kit.ts";
import { isServer, isToolSet, ServerKit } from "./messages-mcp.ts";
import { SearchKit } from "./messages-search.ts";
import { sumUsage } from "./model-rounds.ts";
import { planWebSearch } from "./plan-search.ts";
import { runRounds } from "./run-rounds.ts";
import { isMessagesSearch } from "./search-wish.ts";
import type { LiveRound, RoundForm, Say } from "./tool-rounds.ts";

type Item = Readonly<Record<string, unknown>>;

const refusedCall: ToolOutcome = { text: "Cannot call the tool", isError: true };

/** The text of blocks while they come, and the events of their citations. */
class CitedBlocks {
  readonly #written = new Map<unknown, string>();
  readonly #cite: (text: string) => readonly Item[];

  constructor(cite: (text: string) => readonly Item[]) {
    this.#cite = cite;
  }

  /** Events that come before one of a block. */
  push({ type, index, content_block: block, delta }: Item): Item[] {
    if (type === "content_block_start" && isObject(block) && block.type === "text") {
      this.#written.set(index, stringOf(block.text) ?? "");
    } else if (type === "content_block_delta" && isObject(delta) && delta.type === "text_delta") {
      this.#written.set(index, `${this.#written.get(index) ?? ""}${stringOf(delta.text) ?? ""}`);
    } else if (type === "content_block_stop") {
      return this.#cite(this.#written.get(index) ?? "").map((citation) => {
        return { type: "content_block_delta", index, delta: { type: "citations_delta", citation } };
      });
    }
    return [];
  }
}

/** Rounds of a request of the Messages API. */
class MessagesRounds implements RoundForm {
  readonly operation = "messages";
  readonly request: MessagesRequest;
  readonly #kits: readonly MessagesKit[];
  readonly #content: Item[] = [];
  #choice: unknown;
  #messages: Item[];
  #isBegun = false;

  constructor(request: MessagesRequest, kits: readonly MessagesKit[]) {
    this.request = request;
    this.#kits = kits;
    this.#messages = toPlainMessages(objectsIn(request.messages));
    this.#choice = request.tool_choice;
  }

  path(): string {
    return "/v1/messages";
  }

  async open(): Promise<void> {
    for (const kit of this.#kits) await kit.open();
    const [search] = this.#kits.flatMap((kit) => (kit instanceof SearchKit ? kit.functions() : []));
    const choice = this.#choice;
    if (search && isObject(choice) && choice.type === "tool" && choice.name === "web_search") {
      this.#choice = { ...choice, name: search.name };
    }
  }

  next(): object {
    const { mcp_servers: servers, stream: _, messages: __, ...request } = this.request;
    const foreign = objectsIn(servers).filter((one) => !isServer(one));
    const others = objectsIn(request.tools).filter((tool) => !this.#kits.some((kit) => kit.serves(tool)));
    const tools = [...others, ...this.#kits.flatMap((kit) => kit.functions())];
    const body = {
      ...request,
      tools,
      ...(foreign.length > 0 && { mcp_servers: foreign }),
      messages: this.#messages,
    };
    const choice = this.#choice;
    // a choice that asks for a call would be answered by calls without end
    if (isObject(choice) && (choice.type === "any" || choice.type === "tool")) {
      const { name: ____, ...rest } = choice;
      this.#choice = { ...rest, type: "auto" };
    }
    return choice == null ? body : { ...body, tool_choice: choice };
  }

  #kitOf({ type, name }: Item): MessagesKit | undefined {
    return type === "tool_use" ? this.#kits.find((kit) => kit.has(name)) : undefined;
  }

  #cite(text: string): readonly Item[] {
    return text === "" ? [] : this.#kits.flatMap((kit) => kit.cite?.(text) ?? []);
  }

  /** A block of the model with its citations. */
  #toCited(block: Item): Item {
    if (block.type !== "text" || objectsIn(block.citations).length > 0) return block;
    const citations = this.#cite(stringOf(block.text) ?? "");
    return citations.length > 0 ? { ...block, citations } : block;
  }

  /** Adds a block to the response. */
  async #show(block: Item, say: Say): Promise<void> {
    await say(toBlockEvents(block, this.#content.length));
    this.#content.push(block);
  }

  async answer({ content }: Item, say: Say): Promise<boolean> {
    const blocks = objectsIn(content);
    this.#content.push(...blocks.filter((block) => !this.#kitOf(block)).map((block) => this.#toCited(block)));
    const calls = blocks.flatMap((block) => {
      const kit = this.#kitOf(block);
      const call: UseBlock = { id: stringOf(block.id) ?? "", name: String(block.name), input: block.input };
      return kit ? [{ kit, call }] : [];
    });
    const outcomes = new Map<UseBlock, ToolOutcome>();
    const run = async (kit: MessagesKit): Promise<void> => {
      const own = calls.filter((one) => one.kit === kit).map(({ call }) => call);
      const found = own.length === 0 ? [] : await kit.callAll(own);
      for (const [index, call] of own.entries()) outcomes.set(call, found[index] ?? refusedCall);
    };
    await Promise.all(this.#kits.map(run));
    const results: Item[] = [];
    for (const { kit, call } of calls) {
      const outcome = outcomes.get(call) ?? refusedCall;
      for (const block of kit.toBlocks(call, outcome)) await this.#show(block, say);
      const { text, isError } = outcome;
      results.push({ type: "tool_result", tool_use_id: call.id, content: text, ...(isError && { is_error: true }) });
    }
    this.#messages = [...this.#messages, { role: "assistant", content: blocks }, { role: "user", content: results }];
    const others = blocks.some((block) => block.type === "tool_use" && !this.#kitOf(block));
    return calls.length > 0 && !others;
  }

  finish(last: Item, { usage: counted, isCut }: { usage: Item | undefined; isCut: boolean }): Item {
    const usage = sumUsage([counted, ...this.#kits.map((kit) => kit.usage?.())]);
    return { ...last, content: this.#content, ...(usage && { usage }), ...(isCut && { stop_reason: "pause_turn" }) };
  }

  live(): LiveRound {
    const base = this.#content.length;
    const places = new Map<unknown, number>();
    const own = new Set<unknown>();
    const made = new MessageMaker();
    const cited = new CitedBlocks((text) => this.#cite(text));
    const move = (event: Item): Item[] => {
      const { index, content_block: block } = event;
      if (event.type === "content_block_start" && isObject(block) && this.#kitOf(block)) own.add(index);
      if (own.has(index)) return [];
      const place = places.get(index) ?? base + places.size;
      places.set(index, place);
      return [...cited.push(event), event].map((one) => ({ ...one, index: place }));
    };
    return {
      push: (event) => {
        made.push(event);
        const type = String(event.type);
        if (type.startsWith("content_block_")) return move(event);
        if (type === "message_delta" || type === "message_stop") return [];
        if (type !== "message_start") return [event];
        const isFirst = !this.#isBegun;
        this.#isBegun = true;
        return isFirst ? [event] : [];
      },
      whole: () => made.whole(),
    };
  }

  closing({ stop_reason, stop_sequence = null, usage }: Item): Item[] {
    return [{ type: "message_delta", delta: { stop_reason, stop_sequence }, usage }, { type: "message_stop" }];
  }

  toErrors(error: StreamError): Item[] {
    return [toErrorEvent(error)];
  }
}

/** Whether a request may use tools that the gateway runs: MCP servers of the workspace, or a search of the web. */
export function mayUseTools({ mcp_servers: servers, tools }: Item): boolean {
  return (
    objectsIn(servers).some(isServer) || objectsIn(tools).some((tool) => isToolSet(tool) || isMessagesSearch(tool))
  );
}

/**
 * The tools of a request that the gateway runs; none where its provider does.
 *
 * @throws {GatewayError} 400 without the beta.
 */
export async function planTools(request: MessagesRequest, context: CallerContext): Promise<readonly MessagesKit[]> {
  const tools = objectsIn(request.tools);
  const kits: MessagesKit[] = [];
  if (objectsIn(request.mcp_servers).some(isServer) || tools.some(isToolSet)) {
    requireBeta(context, "mcp_servers");
    kits.push(new ServerKit(request, context));
  }
  const settings = tools.some(isMessagesSearch) ? await planWebSearch("messages", request, context) : undefined;
  if (settings) kits.push(new SearchKit(request, settings, context));
  return kits;
}

/**
 * Answers a request with tools that the gateway runs: models call them as tools, in rounds.
 *
 * @throws {GatewayError} 404 for a server that the caller cannot use.
 */
export function runTools(
  request: MessagesRequest,
  kits: readonly MessagesKit[],
  context: CallerContext,
): Promise<Reply> {
  return runRounds(new MessagesRounds(request, kits), context);
}
