import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { isCallPlace, isReasoningPart, placeCalls } from "../../schemas/content-blocks.ts";
import { readCallArguments } from "../core/fit-messages.ts";
import type { ConversionOptions } from "../core/types.ts";
import { textErrors, toClaudeId } from "./foreign-blocks.ts";
import { type Block, cacheControl, isWritten, refuse, replayBlocks, toBlocks } from "./parts.ts";

type Message = ChatRequest["messages"][number];

/** A turn of a conversation (https://docs.claude.com/en/api/messages). */
interface Turn {
  role: "user" | "assistant" | "system";
  content: string | Block[];
}

/** Whether a message is an instruction (role `system` or `developer`). */
const isSystem = ({ role }: Message) => role === "system" || role === "developer";

/** How many instructions a conversation begins with. */
export function countLeading(messages: readonly Message[]): number {
  const first = messages.findIndex((message) => !isSystem(message));
  return first < 0 ? messages.length : first;
}

/** Whether something may stand in a turn of the role `system`: text alone. */
const isText = (content: unknown): boolean =>
  typeof content === "string" ||
  (Array.isArray(content) && content.every((part) => isObject(part) && part.type === "text"));

/**
 * A conversation behind its leading instructions, each later one at its place: as one where the API takes it, which is directly
 * behind the user or the results of calls and before an answer, else as the user's
 * (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages).
 */
export function placeInstructions(messages: readonly Message[], hasSystemTurns: boolean): Message[] {
  const placed: Message[] = [];
  const isInstruction = (message: Message | undefined) => message !== undefined && isSystem(message);
  for (let at = 0; at < messages.length; ) {
    const message = messages[at];
    if (!message) break;
    let end = at + 1;
    if (isSystem(message)) {
      while (isInstruction(messages[end])) end++;
      const [before, next] = [messages[at - 1]?.role, messages[end]?.role];
      const run = messages.slice(at, end);
      const isPlaced = (before === "user" || before === "tool") && (next === undefined || next === "assistant");
      const isServed = hasSystemTurns && isPlaced && run.every(({ content }) => isText(content));
      placed.push(...run.map((one): Message => ({ ...one, role: isServed ? "system" : "user" })));
    } else placed.push(message);
    at = end;
  }
  return placed;
}

/** Sets `cache_control` on the last block when the message as a whole has it. */
function markLast(blocks: Block[], message: Message): Block[] {
  const last = blocks.at(-1);
  if (last === undefined || last.cache_control !== undefined) return blocks;
  return [...blocks.slice(0, -1), { ...last, ...cacheControl(message) }];
}

/** Blocks of instructions in order. */
export function toSystem(messages: readonly Message[], options: ConversionOptions): Block[] {
  return messages.flatMap((message) => markLast(toBlocks(message.content, options), message));
}

/** The id of a call or of its result. */
function toCallId(id: unknown): string {
  if (typeof id !== "string" || id === "")
    return refuse("Cannot send a tool call or result without its id", "messages");
  return toClaudeId(id);
}

/** A tool call from an earlier turn. */
function toToolUse(call: unknown, { drop }: ConversionOptions): Block {
  const detail: unknown = isObject(call) ? call.function : undefined;
  if (!isObject(call) || !isObject(detail))
    refuse("Cannot send this tool call: it is not a function call", "messages.tool_calls");
  const input = readCallArguments(detail.arguments, { drop });
  // a signature from another model family
  if (detail.thought_signature) drop("messages.tool_calls.thought_signature");
  const cache = { ...cacheControl(detail), ...cacheControl(call) };
  return { type: "tool_use", id: toCallId(call.id), name: detail.name, input, ...cache };
}

function toAssistantTurn(message: Message, options: ConversionOptions): Turn {
  const replayed = Array.isArray(message.content_blocks) ? replayBlocks(message.content_blocks, options) : [];
  const said = replayed.length > 0 ? replayed : thinkingFirst(toBlocks(message.content, options));
  if (said.length === 0 && isWritten(message.refusal)) {
    said.push({ type: "text", text: message.refusal });
  }
  const calls: readonly unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const known = new Set(said.map((block) => (block.type === "tool_use" && !isCallPlace(block) ? block.id : undefined)));
  const content = placeCalls(said, calls, (call) => {
    const block = toToolUse(call, options);
    return known.has(block.id) ? [] : [block];
  });
  if (message.reasoning_content && replayed.length === 0) options.drop("messages.reasoning_content");
  if (message.function_call) refuse("Cannot send function_call: use tool_calls", "messages.function_call");
  return { role: "assistant", content: markLast(content, message) };
}

/** Thinking blocks must come before the blocks they led to. */
function thinkingFirst(blocks: Block[]): Block[] {
  return [...blocks.filter(isReasoningPart), ...blocks.filter((block) => !isReasoningPart(block))];
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
  if (isWritten(content) && !control) return { role: "user", content };
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
      return { role: "user", content: [...textErrors([toToolResult(message, options)])] };
    case "system":
      return { role: "system", content: markLast(toBlocks(message.content, options), message) };
    default:
      return refuse(`Cannot send a message with the role ${JSON.stringify(message.role)}`, "messages.role");
  }
}

const isToolResult = ({ type }: Block) => type === "tool_result";
const holdsResult = ({ content }: Turn) => typeof content !== "string" && content.some(isToolResult);
const blocksOf = ({ content }: Turn): Block[] =>
  typeof content !== "string" ? content : isWritten(content) ? [{ type: "text", text: content }] : [];

/** One turn of the user: tool results must come first. */
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

/** Turns of a conversation. Tool results and the user message that follows them form one turn. */
export function toTurns(messages: readonly Message[], options: ConversionOptions): Turn[] {
  const turns: Turn[] = [];
  const joined = new Map<Turn, UserTurn>();
  for (const message of messages) {
    const turn = toTurn(message, options);
    const last = turns.at(-1);
    if (turn.content.length === 0) continue;
    if (turn.role === "system" && last?.role === "system") {
      last.content = [...blocksOf(last), ...blocksOf(turn)];
      continue;
    }
    // a message between them was empty
    if (turn.role === "system" && last?.role !== "user") turn.role = "user";
    if (turn.role === "user" && last?.role === "system") last.role = "user";
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

/**
 * Whether the last turn answers tool calls whose thinking was not sent back. Models with a thinking budget reject that.
 */
export function hasCallWithoutThinking(turns: readonly Turn[]): boolean {
  const [caller, results] = turns.filter(({ role }) => role !== "system").slice(-2);
  if (!caller || !results || caller.role !== "assistant" || !holdsResult(results)) return false;
  const [first] = blocksOf(caller);
  return first !== undefined && !isReasoningPart(first);
}
