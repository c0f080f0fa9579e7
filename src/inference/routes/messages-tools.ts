import type { CallerContext } from "../../context.ts";
import { InvalidRequestError } from "../../errors.ts";
import { isObject, objectsIn, stringOf } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import type { MessagesRequest } from "../../schemas/messages.ts";
import { toBlockEvents } from "../stream/replay.ts";
import { MessageMaker } from "./message-maker.ts";
import { runRounds } from "./run-rounds.ts";
import { requireBeta, type ServerTool, ServerTools, slugIn, toPlainName } from "./server-tools.ts";
import type { LiveRound, RoundForm, Say } from "./tool-rounds.ts";

type Item = Readonly<Record<string, unknown>>;

/** Whether an entry of `mcp_servers` is an MCP server of the workspace. */
const isServer = ({ name }: Item): boolean => slugIn(name) !== undefined;

/** Whether a tool set is one of an MCP server of the workspace. */
const isToolSet = ({ type, mcp_server_name: name }: Item): boolean =>
  type === "mcp_toolset" && slugIn(name) !== undefined;

/** Whether a request uses MCP servers of the workspace. */
export function usesMessageServers(request: Item): boolean {
  return objectsIn(request.mcp_servers).some(isServer) || objectsIn(request.tools).some(isToolSet);
}

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

const isOwnUse = ({ type, server_name: name }: Item): boolean => type === "mcp_tool_use" && slugIn(name) !== undefined;

/** Blocks of one earlier turn of the assistant, split so that results stand in turns of the user. */
function splitTurn(blocks: readonly Item[]): { turns: Item[]; results: Item[] } {
  const uses = new Set(blocks.filter(isOwnUse).map(({ id }) => id));
  const turns: Item[] = [];
  let said: Item[] = [];
  let results: Item[] = [];
  for (const block of blocks) {
    if (block.type === "mcp_tool_result" && uses.has(block.tool_use_id)) {
      const { tool_use_id, content, is_error } = block;
      results.push({ type: "tool_result", tool_use_id, content, ...(is_error === true && { is_error }) });
      continue;
    }
    const isUse = isOwnUse(block) || block.type === "tool_use";
    if (results.length > 0 && !isUse) {
      turns.push({ role: "assistant", content: said }, { role: "user", content: results });
      [said, results] = [[], []];
    }
    const { server_name: _, ...plain } = block;
    const name = toPlainName(slugIn(block.server_name) ?? "", String(block.name));
    said.push(isOwnUse(block) ? { ...plain, name, type: "tool_use" } : block);
  }
  if (said.length > 0) turns.push({ role: "assistant", content: said });
  return { turns, results };
}

/** A conversation with calls of these servers as calls of tools, as any model knows them. */
function toPlainMessages(messages: readonly Item[]): Item[] {
  const plain: Item[] = [];
  let waiting: Item[] = [];
  for (const message of messages) {
    const blocks = Array.isArray(message.content) ? objectsIn(message.content) : undefined;
    if (message.role === "assistant" && blocks?.some(isOwnUse)) {
      const { turns, results } = splitTurn(blocks);
      plain.push(...turns);
      waiting = results;
    } else if (waiting.length > 0) {
      const said = blocks ?? [{ type: "text", text: String(message.content) }];
      if (message.role === "user") plain.push({ ...message, content: [...waiting, ...said] });
      else plain.push({ role: "user", content: waiting }, message);
      waiting = [];
    } else plain.push(message);
  }
  return waiting.length > 0 ? [...plain, { role: "user", content: waiting }] : plain;
}

/** Rounds of a request of the Messages API. */
class MessagesRounds implements RoundForm {
  readonly operation = "messages";
  readonly path = "/v1/messages";
  readonly request: MessagesRequest;
  readonly #tools: ServerTools;
  readonly #content: Item[] = [];
  #functions: readonly ServerTool[] = [];
  #choice: unknown;
  #messages: Item[];
  #isBegun = false;

  constructor(request: MessagesRequest, context: CallerContext) {
    this.request = request;
    this.#tools = new ServerTools(context);
    this.#messages = toPlainMessages(objectsIn(request.messages));
    this.#choice = request.tool_choice;
  }

  /** Lists the tools of the sets of the request; each names a server that `mcp_servers` has. */
  async open(): Promise<void> {
    const servers = new Set(objectsIn(this.request.mcp_servers).map(({ name }) => name));
    const all: ServerTool[] = [];
    for (const set of objectsIn(this.request.tools).filter(isToolSet)) {
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

  next(): object {
    const { mcp_servers: servers, stream: _, messages: __, ...request } = this.request;
    const foreign = objectsIn(servers).filter((one) => !isServer(one));
    const others = objectsIn(request.tools).filter((tool) => !isToolSet(tool));
    const tools = [...others, ...this.#functions.map(toTool)];
    const body = {
      ...request,
      tools,
      ...(foreign.length > 0 && { mcp_servers: foreign }),
      messages: this.#messages,
    };
    const choice = this.#choice;
    // a choice that asks for a call would be answered by calls without end
    if (isObject(choice) && (choice.type === "any" || choice.type === "tool")) {
      this.#choice = { ...choice, type: "auto" };
    }
    return choice == null ? body : { ...body, tool_choice: choice };
  }

  #isOwnCall({ type, name }: Item): boolean {
    return type === "tool_use" && this.#tools.find(name) !== undefined;
  }

  /** Adds a block to the response. */
  async #show(block: Item, say: Say): Promise<void> {
    await say(toBlockEvents(block, this.#content.length));
    this.#content.push(block);
  }

  async answer({ content }: Item, say: Say): Promise<boolean> {
    const blocks = objectsIn(content);
    this.#content.push(...blocks.filter((block) => !this.#isOwnCall(block)));
    const calls = blocks.flatMap((block) => {
      const tool = block.type === "tool_use" ? this.#tools.find(block.name) : undefined;
      return tool ? [{ block, tool, given: block.input ?? {} }] : [];
    });
    const outcomes = await this.#tools.callAll(calls);
    const results: Item[] = [];
    for (const [index, { block, tool }] of calls.entries()) {
      const { text = "", isError = true } = outcomes[index] ?? {};
      const id = stringOf(block.id) ?? "";
      const server_name = `@gateway-mcp/${tool.server}`;
      await this.#show({ type: "mcp_tool_use", id, name: tool.name, server_name, input: block.input }, say);
      const shown = [{ type: "text", text }];
      await this.#show({ type: "mcp_tool_result", tool_use_id: id, is_error: isError, content: shown }, say);
      results.push({ type: "tool_result", tool_use_id: id, content: text, ...(isError && { is_error: true }) });
    }
    this.#messages = [...this.#messages, { role: "assistant", content: blocks }, { role: "user", content: results }];
    const others = blocks.some((block) => block.type === "tool_use" && !this.#isOwnCall(block));
    return calls.length > 0 && !others;
  }

  finish(last: Item, { usage, isCut }: { usage: Item | undefined; isCut: boolean }): Item {
    return { ...last, content: this.#content, ...(usage && { usage }), ...(isCut && { stop_reason: "pause_turn" }) };
  }

  live(): LiveRound {
    const base = this.#content.length;
    const places = new Map<unknown, number>();
    const own = new Set<unknown>();
    const made = new MessageMaker();
    const move = (event: Item): Item[] => {
      const { index, content_block: block } = event;
      if (event.type === "content_block_start" && isObject(block) && this.#isOwnCall(block)) own.add(index);
      if (own.has(index)) return [];
      const place = places.get(index) ?? base + places.size;
      places.set(index, place);
      return [{ ...event, index: place }];
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

  toError(message: string): Item {
    return { type: "error", error: { type: "api_error", message } };
  }
}

/**
 * Answers a request whose tools are MCP servers of the workspace: models call them as tools, in rounds.
 *
 * @throws {GatewayError} 400 without the beta; 404 for a server that the caller cannot use.
 */
export function runMessageServers(request: MessagesRequest, context: CallerContext): Promise<Reply> {
  requireBeta(context, "mcp_servers");
  return runRounds(new MessagesRounds(request, context), context);
}

/** Whether a turn holds a call of these servers. */
function holdsOwnUse({ role, content }: MessagesRequest["messages"][number]): boolean {
  return role === "assistant" && typeof content !== "string" && content.some(isOwnUse);
}

/** A request without calls of MCP servers of the workspace in its conversation, which no provider knows. */
export function withoutServerUses(request: MessagesRequest): MessagesRequest {
  if (!request.messages.some(holdsOwnUse)) return request;
  return { ...request, messages: toPlainMessages(objectsIn(request.messages)) as MessagesRequest["messages"] }; // turns as given
}
