import type { CallerContext } from "../../context.ts";
import { InvalidRequestError } from "../../errors.ts";
import { isObject, objectsIn, stringOf } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import type { MessagesRequest } from "../../schemas/messages.ts";
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

const path = "/v1/messages";

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

function toTool({ functionName, description, inputSchema }: ServerTool): Item {
  return { name: functionName, ...(description !== undefined && { description }), input_schema: inputSchema };
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

/** A run of rounds. */
class MessagesRun {
  readonly #context: CallerContext;
  readonly #request: MessagesRequest;
  readonly #tools: ServerTools;
  readonly #content: Item[] = [];
  #messages: Item[];

  constructor(request: MessagesRequest, context: CallerContext) {
    this.#request = request;
    this.#context = context;
    this.#tools = new ServerTools(context);
    this.#messages = toPlainMessages(objectsIn(request.messages));
  }

  /** Lists the tools of the sets of the request; each names a server that `mcp_servers` has. */
  async #list(): Promise<ServerTool[]> {
    const servers = new Set(objectsIn(this.#request.mcp_servers).map(({ name }) => name));
    const all: ServerTool[] = [];
    for (const set of objectsIn(this.#request.tools).filter(isToolSet)) {
      if (!servers.has(set.mcp_server_name)) {
        throw new InvalidRequestError("Cannot use a tool set: mcp_servers does not have its server", {
          param: "tools",
          code: "invalid_tools",
        });
      }
      all.push(...(await this.#tools.list(slugIn(set.mcp_server_name) ?? "", readEnabled(set))));
    }
    return all;
  }

  #show(block: Item, tool: ServerTool, { text, isError }: ToolOutcome): void {
    const id = stringOf(block.id) ?? "";
    const server_name = `@gateway-mcp/${tool.server}`;
    this.#content.push(
      { type: "mcp_tool_use", id, name: tool.name, server_name, input: block.input },
      { type: "mcp_tool_result", tool_use_id: id, is_error: isError, content: [{ type: "text", text }] },
    );
  }

  /** Runs the calls of a round; whether the model goes on. */
  async #answerCalls(blocks: readonly Item[]): Promise<boolean> {
    const calls = blocks.flatMap((block) => {
      const tool = block.type === "tool_use" ? this.#tools.find(block.name) : undefined;
      return tool ? [{ block, tool, given: block.input ?? {} }] : [];
    });
    const outcomes = await this.#tools.callAll(calls);
    const results: Item[] = [];
    const byBlock = new Map(calls.map((call, index) => [call.block, { ...call, outcome: outcomes[index] }]));
    for (const block of blocks) {
      const { tool, outcome } = byBlock.get(block) ?? {};
      if (!tool || !outcome) {
        this.#content.push(block);
        continue;
      }
      this.#show(block, tool, outcome);
      const { text: content, isError } = outcome;
      results.push({ type: "tool_result", tool_use_id: block.id, content, ...(isError && { is_error: true }) });
    }
    this.#messages = [...this.#messages, { role: "assistant", content: blocks }, { role: "user", content: results }];
    const others = blocks.some(({ type, name }) => type === "tool_use" && this.#tools.find(name) === undefined);
    return calls.length > 0 && !others;
  }

  async run(): Promise<Reply> {
    const listed = await this.#list();
    const { mcp_servers: servers, stream: _, messages: __, ...request } = this.#request;
    const foreign = objectsIn(servers).filter((one) => !isServer(one));
    const others = objectsIn(request.tools).filter((tool) => !isToolSet(tool));
    const tools = [...others, ...listed.map(toTool)];
    const base = { ...request, tools, stream: false, ...(foreign.length > 0 && { mcp_servers: foreign }) };
    const rounds: ModelRound[] = [];
    let choice: unknown = request.tool_choice;
    for (;;) {
      const asked = choice == null ? base : { ...base, tool_choice: choice };
      const round = await readRound(await askModel(path, { ...asked, messages: this.#messages }, this.#context));
      rounds.push(round);
      if (!round.body) return round.reply;
      const goesOn = await this.#answerCalls(objectsIn(round.body.content));
      if (!goesOn) return this.#finish(rounds, undefined);
      if (rounds.length === maxRounds) return this.#finish(rounds, "pause_turn");
      // a choice that asks for a call would be answered by calls without end
      if (isObject(choice) && (choice.type === "any" || choice.type === "tool")) choice = { ...choice, type: "auto" };
    }
  }

  #finish(rounds: readonly ModelRound[], reason: string | undefined): Reply {
    const last = rounds.at(-1);
    const usage = sumUsage(rounds.map(({ body }) => body?.usage));
    const answer = {
      ...last?.body,
      content: this.#content,
      ...(usage && { usage }),
      ...(reason !== undefined && { stop_reason: reason }),
    };
    const text = JSON.stringify(answer);
    const body = last?.numbers?.restore(text) ?? text;
    const reply = { status: last?.reply.status ?? 200, headers: { ...last?.reply.headers }, body };
    this.#context.log.responseBody = body;
    return this.#request.stream === true ? toStreamed("messages", reply, this.#request, this.#context) : reply;
  }
}

/**
 * Answers a request whose tools are MCP servers of the workspace: models call them as tools, in rounds.
 *
 * @throws {GatewayError} 400 without the beta; 404 for a server that the caller cannot use.
 */
export function runMessageServers(request: MessagesRequest, context: CallerContext): Promise<Reply> {
  requireBeta(context, "mcp_servers");
  return new MessagesRun(request, context).run();
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
