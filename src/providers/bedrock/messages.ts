import { crc32 } from "../../lib/hash.ts";
import { isObject, nonEmptyString } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { isCallPlace, isReasoningPart, placeCalls } from "../../schemas/content-blocks.ts";
import { readCallArguments } from "../core/fit-messages.ts";
import type { ConversionOptions } from "../core/types.ts";
import { type BedrockModel, isNova, takesCachePoints } from "./model.ts";
import { type Block, mediaPart, refuseValue } from "./parts.ts";

type Message = ChatRequest["messages"][number];

/** Parameters of the conversion of messages. */
export interface MessageRules {
  model: BedrockModel;
  options: ConversionOptions;
  /** Tool calls and their results become text when the request has no tools: Converse rejects them then. */
  flattens: boolean;
}

/** Merges consecutive turns of the same role. */
interface Turn {
  role: "user" | "assistant";
  content: Block[];
}

const systemRoles = new Set(["system", "developer"]);
const toolRoles = new Set(["tool", "function"]);

/** The cache point after cacheable content; empty when it is not requested or the model does not support it. */
export function cachePoints(holder: unknown, { model, options }: Pick<MessageRules, "model" | "options">): Block[] {
  const control: unknown = isObject(holder) ? holder.cache_control : undefined;
  if (!isObject(control)) return [];
  if (!takesCachePoints(model)) {
    options.drop("cache_control");
    return [];
  }
  // Nova has one lifetime
  const isTimed = !isNova(model) && (control.ttl === "5m" || control.ttl === "1h");
  const ttl = isTimed ? { ttl: control.ttl } : {};
  return [{ cachePoint: { type: "default", ...ttl } }];
}

/**
 * A tool call id that Converse and the models behind it accept: Claude takes no dots and colons. Other ids are rewritten, equal
 * ones always alike.
 */
function toolUseId(id: unknown): string {
  const text = nonEmptyString(id) ?? "call";
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(text)) return text;
  const digest = crc32(encodeURIComponent(text)).toString(16).padStart(8, "0");
  return `${text.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 55)}_${digest}`;
}

/** Converse rejects text blocks without text. */
const isBlank = (text: unknown): boolean => typeof text === "string" && text.trim() === "";

/** Reasoning of an earlier response; only reasoning with the model's signature can be sent back. */
function reasoningBlocks(part: Record<string, unknown>, { model, options }: MessageRules): Block[] {
  const isRedacted = part.type === "redacted_thinking";
  const isKnown = isRedacted ? nonEmptyString(part.data) : nonEmptyString(part.signature);
  if (isKnown === undefined || !["anthropic", "amazon", ""].includes(model.vendor)) {
    options.drop("thinking");
    return [];
  }
  if (isRedacted) return [{ reasoningContent: { redactedContent: part.data } }];
  const text = typeof part.thinking === "string" ? part.thinking : "";
  return [{ reasoningContent: { reasoningText: { text, signature: part.signature } } }];
}

function partBlocks(part: unknown, rules: MessageRules): Block[] {
  if (typeof part === "string") return isBlank(part) ? [] : [{ text: part }];
  if (!isObject(part)) refuseValue("Cannot read a part of a message: it is not an object");
  if (isReasoningPart(part)) return reasoningBlocks(part, rules);
  const text = part.type === "text" || part.type === "refusal" ? (part.text ?? part.refusal) : undefined;
  if (isBlank(text)) return [];
  const block = typeof text === "string" ? { text } : mediaPart(part);
  return [block, ...cachePoints(part, rules)];
}

function contentBlocks(content: unknown, rules: MessageRules): Block[] {
  if (content === null || content === undefined) return [];
  return (Array.isArray(content) ? content : [content]).flatMap((part) => partBlocks(part, rules));
}

/** The tool use block of a tool call or a legacy function call. */
function callBlocks(call: unknown, rules: MessageRules): Block[] {
  const { id, function: named } = isObject(call) ? call : {};
  const { name, arguments: written } = isObject(named) ? named : {};
  const input = readCallArguments(written, rules.options);
  if (rules.flattens) return [{ text: `Call of the tool ${String(name)}: ${JSON.stringify(input)}` }];
  return [{ toolUse: { toolUseId: toolUseId(id), name, input } }, ...cachePoints(call, rules)];
}

function assistantBlocks(message: Message, rules: MessageRules): Block[] {
  const { content_blocks: ownBlocks, content, tool_calls: calls, function_call: legacy } = message;
  const called = Array.isArray(calls) ? calls : [];
  const older = isObject(legacy) ? [{ id: legacy.name, function: legacy }] : [];
  const made = (call: unknown) => callBlocks(call, rules);
  if (!Array.isArray(ownBlocks) || ownBlocks.length === 0) {
    return [...contentBlocks(content, rules), ...[...called, ...older].flatMap(made)];
  }
  const said = ownBlocks.filter(isSaid).flatMap((block) => (isCallPlace(block) ? [block] : partBlocks(block, rules)));
  return placeCalls(said, [...called, ...older], made);
}

/** Blocks of an earlier response that are sent back, and the places of its calls, which come from `tool_calls`. */
function isSaid(block: unknown): boolean {
  const said = ["text", "thinking", "redacted_thinking"];
  return isCallPlace(block) || (isObject(block) && said.includes(String(block.type)));
}

/** Content of a tool result. */
function resultBlocks(message: Message, rules: MessageRules): Block[] {
  const id = toolUseId(message.tool_call_id ?? message.name);
  const all = contentBlocks(message.content, rules);
  const content = all.filter((block) => !("cachePoint" in block));
  const points = all.filter((block) => "cachePoint" in block).slice(-1);
  const own = cachePoints(message, rules);
  if (rules.flattens) return [{ text: `Result of the tool call ${id}:` }, ...content];
  const status = message.is_error === true ? { status: "error" } : {};
  // a failed call must have content
  if (message.is_error === true && content.length === 0) content.push({ text: "The tool call failed." });
  return [{ toolResult: { toolUseId: id, content, ...status } }, ...(own.length > 0 ? own : points)];
}

function turnOf(message: Message, rules: MessageRules): Turn {
  if (message.role === "assistant") {
    return { role: "assistant", content: [...assistantBlocks(message, rules), ...cachePoints(message, rules)] };
  }
  if (toolRoles.has(message.role)) return { role: "user", content: resultBlocks(message, rules) };
  if (message.role !== "user") refuseValue(`Cannot send a message with the role ${message.role} to this provider`);
  return { role: "user", content: [...contentBlocks(message.content, rules), ...cachePoints(message, rules)] };
}

/** Converse requires text beside documents, and unique document names. */
function settleDocuments(turns: readonly Turn[]): void {
  const names = new Map<string, number>();
  for (const { content } of turns) {
    let hasDocument = false;
    for (const { document } of content) {
      if (!isObject(document)) continue;
      hasDocument = true;
      const name = String(document.name);
      const count = (names.get(name) ?? 0) + 1;
      names.set(name, count);
      if (count > 1) document.name = `${name} (${count})`;
    }
    if (hasDocument && !content.some((block) => "text" in block)) content.push({ text: "See the document." });
  }
}

/**
 * Leaves out the cache points that Nova rejects: it takes them behind text only
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html).
 */
export function settleCachePoints(turns: readonly Turn[], { model, options }: MessageRules): void {
  if (!isNova(model)) return;
  for (const turn of turns) {
    const { content } = turn;
    const taken = content.filter((block, index) => !("cachePoint" in block) || "text" in (content[index - 1] ?? {}));
    if (taken.length === content.length) continue;
    options.drop("cache_control");
    turn.content = taken;
  }
}

/** Whether the last turn answers calls whose reasoning is not sent back. */
export function hasCallWithoutThinking(turns: readonly Turn[]): boolean {
  const [caller, results] = turns.slice(-2);
  const answers = results?.content.some((block) => "toolResult" in block) === true;
  return answers && caller?.role === "assistant" && !("reasoningContent" in (caller.content[0] ?? {}));
}

/** Whether messages contain tool calls or tool results. */
export function holdsToolBlocks(messages: ChatRequest["messages"]): boolean {
  return messages.some(
    ({ role, tool_calls: calls, function_call: legacy }) =>
      toolRoles.has(role) || (Array.isArray(calls) && calls.length > 0) || isObject(legacy),
  );
}

/** The system blocks of a request, from any position in the conversation. */
export function toSystem(messages: ChatRequest["messages"], rules: MessageRules): Block[] {
  return messages
    .filter(({ role }) => systemRoles.has(role))
    .flatMap((message) => {
      const parts = Array.isArray(message.content) ? message.content : [message.content ?? ""];
      const blocks = parts.flatMap((part) => partBlocks(part, rules));
      if (blocks.some((block) => !("text" in block || "cachePoint" in block))) {
        refuseValue("Cannot send this system message to the provider: it contains more than text");
      }
      return [...blocks, ...cachePoints(message, rules)];
    });
}

/** The turns of a request (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html). */
export function toTurns(messages: ChatRequest["messages"], rules: MessageRules): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    if (systemRoles.has(message.role)) continue;
    const { role, content } = turnOf(message, rules);
    if (content.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  settleDocuments(turns);
  return turns;
}
