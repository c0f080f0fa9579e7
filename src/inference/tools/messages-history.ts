import { isObject, objectsIn, stringOf } from "../../lib/json.ts";
import type { MessagesRequest } from "../../schemas/messages.ts";
import { slugIn } from "../facts/server-labels.ts";
import { toPlainName } from "./mcp-tools.ts";
import { isOwnSearchResult, isOwnSearchUse, toPlainResult, withoutOwnCitations } from "./messages-search.ts";

type Item = Readonly<Record<string, unknown>>;

const isServerUse = ({ type, server_name: name }: Item): boolean =>
  type === "mcp_tool_use" && slugIn(name) !== undefined;

const isOwnUse = (block: Item): boolean => isServerUse(block) || isOwnSearchUse(block);

/** A call of a tool of the gateway as a call of a tool, as any model knows them. */
function toPlainUse(block: Item): Item {
  const { server_name: server, ...plain } = block;
  const name = isServerUse(block) ? toPlainName(slugIn(server) ?? "", String(block.name)) : block.name;
  return { ...plain, name, type: "tool_use" };
}

/** The result of a call of a tool of the gateway; undefined for other blocks. */
function toOwnResult(block: Item, uses: ReadonlyMap<unknown, Item>): Item | undefined {
  const use = uses.get(block.tool_use_id);
  if (!use) return undefined;
  if (isOwnSearchResult(block)) {
    return toPlainResult(block, isObject(use.input) ? (stringOf(use.input.query) ?? "") : "");
  }
  if (block.type !== "mcp_tool_result") return undefined;
  const { tool_use_id, content, is_error } = block;
  return { type: "tool_result", tool_use_id, content, ...(is_error === true && { is_error }) };
}

/** Blocks of one earlier turn of the assistant, split so that results stand in turns of the user. */
function splitTurn(blocks: readonly Item[]): { turns: Item[]; results: Item[] } {
  const uses = new Map(blocks.filter(isOwnUse).map((use): [unknown, Item] => [use.id, use]));
  const turns: Item[] = [];
  let said: Item[] = [];
  let results: Item[] = [];
  for (const block of blocks) {
    const result = toOwnResult(block, uses);
    if (result) {
      results.push(result);
      continue;
    }
    const isUse = isOwnUse(block) || block.type === "tool_use";
    if (results.length > 0 && !isUse) {
      turns.push({ role: "assistant", content: said }, { role: "user", content: results });
      [said, results] = [[], []];
    }
    said.push(isOwnUse(block) ? toPlainUse(block) : withoutOwnCitations(block));
  }
  if (said.length > 0) turns.push({ role: "assistant", content: said });
  return { turns, results };
}

/** A conversation with calls of tools of the gateway as calls of tools, as any model knows them. */
export function toPlainMessages(messages: readonly Item[]): Item[] {
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

/** Whether a turn holds a call of a tool of the gateway. */
function holdsOwnUse({ role, content }: MessagesRequest["messages"][number]): boolean {
  return role === "assistant" && typeof content !== "string" && content.some(isOwnUse);
}

/** A request without calls of tools of the gateway in its conversation, which no provider knows. */
export function withoutOwnUses(request: MessagesRequest): MessagesRequest {
  if (!request.messages.some(holdsOwnUse)) return request;
  return { ...request, messages: toPlainMessages(objectsIn(request.messages)) as MessagesRequest["messages"] }; // turns as given
}
