import { isObject, parseJson } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { isThoughtPart } from "../shapes/messages.ts";
import type { ConversionOptions } from "../types.ts";
import { type Block, cacheControl, refuse, replayBlocks, toBlocks } from "./parts.ts";

type Message = ChatRequest["messages"][number];

/** A turn of a conversation (https://docs.claude.com/en/api/messages). */
interface Turn {
  role: "user" | "assistant";
  content: string | Block[];
}

/** Whether a message sets the frame of the conversation. */
const isSystem = ({ role }: Message) => role === "system" || role === "developer";

/** Marks the last block as the end of a cached prefix, where the message as a whole is marked. */
function markLast(blocks: Block[], message: Message): Block[] {
  const last = blocks.at(-1);
  if (last === undefined || last.cache_control !== undefined) return blocks;
  return [...blocks.slice(0, -1), { ...last, ...cacheControl(message) }];
}

/** Blocks of all system messages in order, wherever they stand. */
export function toSystem(messages: readonly Message[], options: ConversionOptions): Block[] {
  return messages.filter(isSystem).flatMap((message) => markLast(toBlocks(message.content, options), message));
}

/** Ids of calls hold letters, digits, hyphens and underscores; those of other providers may hold more. */
function toCallId(id: unknown): string {
  if (typeof id !== "string" || id === "")
    return refuse("Cannot send a tool call or result without its id", "messages");
  return id.replace(/[^a-zA-Z0-9_-]/g, "_");
}

/** A call the model made earlier. */
function toToolUse(call: unknown, { drop }: ConversionOptions): Block {
  const detail: unknown = isObject(call) ? call.function : undefined;
  if (!isObject(call) || !isObject(detail))
    refuse("Cannot send a tool call that is not a function's", "messages.tool_calls");
  const given = detail.arguments;
  const text = typeof given === "string" ? given.trim() : undefined;
  const input = text === undefined ? (given ?? {}) : text === "" ? {} : parseJson(text);
  if (!isObject(input)) refuse("Cannot send a tool call whose arguments are not a JSON object", "messages.tool_calls");
  // a signature of another family of models
  if (detail.thought_signature) drop("messages.tool_calls.thought_signature");
  const cache = { ...cacheControl(detail), ...cacheControl(call) };
  return { type: "tool_use", id: toCallId(call.id), name: detail.name, input, ...cache };
}

function toAssistantTurn(message: Message, options: ConversionOptions): Turn {
  const replayed = Array.isArray(message.content_blocks) ? replayBlocks(message.content_blocks, options) : [];
  const said = replayed.length > 0 ? replayed : thinkingFirst(toBlocks(message.content, options));
  if (said.length === 0 && typeof message.refusal === "string" && message.refusal !== "") {
    said.push({ type: "text", text: message.refusal });
  }
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.map((call) => toToolUse(call, options)) : [];
  const known = new Set(said.map(({ type, id }) => (type === "tool_use" ? id : undefined)));
  const content = [...said, ...calls.filter(({ id }) => !known.has(id))];
  if (message.reasoning_content && replayed.length === 0) options.drop("messages.reasoning_content");
  if (message.function_call) refuse("Cannot send function_call: write tool_calls", "messages.function_call");
  return { role: "assistant", content: markLast(content, message) };
}

/** Thinking comes before what was thought. */
function thinkingFirst(blocks: Block[]): Block[] {
  return [...blocks.filter(isThoughtPart), ...blocks.filter((block) => !isThoughtPart(block))];
}

function toToolResult(message: Message, options: ConversionOptions): Block {
  const { content, tool_call_id: id, is_error: failed } = message;
  const plain = typeof content === "string" ? content : toBlocks(content, options);
  return {
    type: "tool_result",
    tool_use_id: toCallId(id),
    ...(plain.length > 0 && { content: plain }),
    ...(typeof failed === "boolean" && { is_error: failed }),
    ...cacheControl(message),
  };
}

function toUserTurn(message: Message, options: ConversionOptions): Turn {
  const { content, cache_control: control } = message;
  if (typeof content === "string" && !control) return { role: "user", content };
  return { role: "user", content: markLast(toBlocks(content, options), message) };
}

function toTurn(message: Message, options: ConversionOptions): Turn {
  switch (message.role) {
    case "user":
      if (message.name) options.drop("messages.name");
      return toUserTurn(message, options);
    case "assistant":
      return toAssistantTurn(message, options);
    case "tool":
      return { role: "user", content: [toToolResult(message, options)] };
    default:
      return refuse(`Cannot send a message of the role ${JSON.stringify(message.role)}`, "messages.role");
  }
}

const isToolResult = ({ type }: Block) => type === "tool_result";
const holdsResult = ({ content }: Turn) => typeof content !== "string" && content.some(isToolResult);
const blocksOf = ({ content }: Turn): Block[] =>
  typeof content !== "string" ? content : content === "" ? [] : [{ type: "text", text: content }];

/** What the user says in one turn: results of tools come first. */
class UserTurn {
  readonly #results: Block[] = [];
  readonly #others: Block[] = [];

  add(turn: Turn): void {
    for (const block of blocksOf(turn)) (isToolResult(block) ? this.#results : this.#others).push(block);
  }

  content(): Block[] {
    return [...this.#results, ...this.#others];
  }
}

/** Turns of a conversation; results of tools, and what the user says after them, are one turn. */
export function toTurns(messages: readonly Message[], options: ConversionOptions): Turn[] {
  const turns: Turn[] = [];
  const joined = new Map<Turn, UserTurn>();
  for (const message of messages) {
    if (isSystem(message)) continue;
    const turn = toTurn(message, options);
    const last = turns.at(-1);
    if (turn.content.length === 0) continue;
    const whole = last && joined.get(last);
    if (whole && turn.role === "user") whole.add(turn);
    else {
      turns.push(turn);
      if (turn.role !== "user" || !holdsResult(turn)) continue;
      const begun = new UserTurn();
      begun.add(turn);
      joined.set(turn, begun);
    }
  }
  for (const [turn, whole] of joined) turn.content = whole.content();
  return turns;
}

/** Whether the last turn answers calls whose thinking was not sent back: a model with a budget refuses to go on thinking. */
export function hasUnthoughtCall(turns: readonly Turn[]): boolean {
  const [caller, results] = turns.slice(-2);
  if (!caller || !results || caller.role !== "assistant" || !holdsResult(results)) return false;
  const [first] = blocksOf(caller);
  return first !== undefined && !isThoughtPart(first);
}
