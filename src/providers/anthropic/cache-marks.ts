import { isObject } from "../../lib/json.ts";
import type { PromptCacheSettings } from "../../schemas/routing.ts";
import type { ConversionOptions } from "../core/types.ts";

type Members = Record<string, unknown>;

/** Blocks that take a mark: reasoning and empty text do not. */
const markedTypes: ReadonlySet<unknown> = new Set(["text", "image", "document", "tool_result", "search_result"]);

/** Whether an object or something of its content has a mark. */
function holdsMark(value: unknown): boolean {
  if (!isObject(value)) return false;
  if (value.cache_control !== undefined && value.cache_control !== null) return true;
  return Array.isArray(value.content) && value.content.some(holdsMark);
}

/** Whether the client marks any part of a request. */
function isMarked(body: Members): boolean {
  const lists = [body.tools, body.system, body.messages];
  return (
    holdsMark({ ...body, content: undefined }) || lists.some((list) => Array.isArray(list) && list.some(holdsMark))
  );
}

/** What a tool is sorted by: names are unique, and groups of tools have other ones. */
function orderOf(tool: unknown): string {
  const { name, mcp_server_name: server, type } = isObject(tool) ? tool : {};
  return String(name ?? server ?? type ?? "");
}

/** The list in the order of a name: clients that send the same tools in another order send the same prefix. */
export function sortTools<Tool>(tools: readonly Tool[], nameOf: (tool: Tool) => string): Tool[] {
  const named = tools.map((tool) => ({ tool, name: nameOf(tool) }));
  named.sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
  return named.map(({ tool }) => tool);
}

/** The list with a mark at its last entry that takes one. */
function markLast(list: readonly unknown[], mark: Members, takes: (entry: Members) => boolean): unknown[] {
  const index = list.findLastIndex((entry) => isObject(entry) && takes(entry));
  return list.map((entry, at) => (at === index && isObject(entry) ? { ...entry, cache_control: mark } : entry));
}

const takesMark = ({ type, text }: Members): boolean =>
  markedTypes.has(type) && (type !== "text" || (typeof text === "string" && text.trim() !== ""));

/** The content with a mark at its end; a string becomes a block. */
function markContent(content: unknown, mark: Members): unknown {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return Array.isArray(blocks) ? markLast(blocks, mark, takesMark) : content;
}

/** Turns of the user that are marked: the last one is written, and the one before was written by the request before. */
const markedTurns = 2;

/** The last turns of the user, by their indexes. */
export function lastUserTurns(messages: readonly unknown[]): ReadonlySet<number> {
  const turns = messages.flatMap((message, index) => (isObject(message) && message.role === "user" ? [index] : []));
  return new Set(turns.slice(-markedTurns));
}

function toMark({ ttl }: PromptCacheSettings): Members {
  return { type: "ephemeral", ...(ttl !== undefined && { ttl }) };
}

/**
 * A Messages API request whose prefix is marked for the prompt cache: its tools, in a stable order, its system prompt and
 * its last turns of the user. Four marks are what the API takes. A turn is marked in two requests, because a mark finds
 * older ones within 20 blocks only (https://platform.claude.com/docs/en/build-with-claude/prompt-caching). Without the
 * setting, and where the client marks anything itself, it is the same request.
 */
export function markPrefix(body: Members, { promptCache }: ConversionOptions): Members {
  if (!promptCache || isMarked(body)) return body;
  const mark = toMark(promptCache);
  const { tools, system, messages } = body;
  const marked: Members = { ...body };
  if (Array.isArray(tools)) {
    // what a model searches for is not part of its prompt
    marked.tools = markLast(sortTools(tools, orderOf), mark, (tool) => tool.defer_loading !== true);
  }
  if (system !== undefined) marked.system = markContent(system, mark);
  if (Array.isArray(messages)) {
    const turns = lastUserTurns(messages);
    marked.messages = messages.map((message: unknown, index) =>
      turns.has(index) && isObject(message) ? { ...message, content: markContent(message.content, mark) } : message,
    );
  }
  return marked;
}
