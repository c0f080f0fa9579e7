import { isObject, nonEmptyString, objectsIn, parseJson } from "../lib/json.ts";
import { isCallPlace } from "../schemas/content-blocks.ts";
import { readExtraSignature } from "../schemas/extra-content.ts";

/** A piece of a chat completion: what a chunk adds, or a part of a non-streaming response. */
export type ChatPiece =
  | { kind: "text"; text: string; logprobs?: readonly Record<string, unknown>[] }
  | { kind: "refusal" | "thinking" | "signature" | "redacted"; text: string }
  | { kind: "annotation"; annotation: Record<string, unknown> }
  | CallPiece;

/** A tool call, or more of its arguments. */
export interface CallPiece {
  kind: "call";
  /** Index among the calls. */
  index: number;
  id: string | undefined;
  name: string | undefined;
  /** JSON text, or a fragment of it. */
  arguments: string;
  /** Signature of the reasoning behind the call, for the model that made it. */
  signature: string | undefined;
}

/** One choice of a chunk or a completion. */
interface ChoiceReading {
  pieces: ChatPiece[];
  /** Why the choice ended, in the provider's terms. */
  finish: string | undefined;
  /** The stop sequence that ended it. */
  stopSequence: string | undefined;
}

/** A chunk or completion without its choices. */
interface ChatHead {
  model: string | undefined;
  usage: Record<string, unknown> | undefined;
}

type Members = Record<string, unknown>;

function readCall(call: Members, place: number): CallPiece {
  const named = isObject(call.function) ? call.function : {};
  const given = named.arguments;
  return {
    kind: "call",
    index: typeof call.index === "number" ? call.index : place,
    id: nonEmptyString(call.id),
    name: nonEmptyString(named.name),
    arguments: typeof given === "string" ? given : isObject(given) ? JSON.stringify(given) : "",
    signature:
      nonEmptyString(call.thought_signature) ?? nonEmptyString(named.thought_signature) ?? readExtraSignature(call),
  };
}

/** Reasoning in a block of a message, or in a block's delta. */
function readReasoningBlock(block: Members): ChatPiece[] {
  const held = isObject(block.delta) ? block.delta : block;
  // text blocks repeat the content; a signature on them does not belong to reasoning
  if (typeof held.text === "string") return [];
  const pieces: ChatPiece[] = [];
  const put = (kind: "thinking" | "signature" | "redacted", value: unknown) => {
    const text = nonEmptyString(value);
    if (text !== undefined) pieces.push({ kind, text });
  };
  put("thinking", held.thinking);
  put("signature", held.signature);
  put("redacted", held.data);
  return pieces;
}

/** Reasoning, as blocks where the provider sends blocks, else as text. */
function readReasoning(message: Members): ChatPiece[] {
  const pieces = objectsIn(message.content_blocks).flatMap(readReasoningBlock);
  if (pieces.length > 0) return pieces;
  const text = nonEmptyString(message.reasoning_content) ?? nonEmptyString(message.reasoning);
  return text === undefined ? [] : [{ kind: "thinking", text }];
}

/** Whether reasoning follows text or a call. */
function isInterleaved(blocks: readonly Members[]): boolean {
  const isReasoning = (block: Members) => block.type !== "text" && !isCallPlace(block);
  return (
    blocks.findLastIndex(isReasoning) > blocks.findIndex((block) => !isReasoning(block)) && !blocks.every(isReasoning)
  );
}

/** Reasoning, text and calls of a complete message in the order of its blocks; undefined where the usual order is the right one. */
function readPlaced(message: Members): ChatPiece[] | undefined {
  if (message.content_blocks === undefined) return undefined;
  const blocks = objectsIn(message.content_blocks);
  if (!isInterleaved(blocks)) return undefined;
  const calls = objectsIn(message.tool_calls);
  const places = new Map<unknown, number>();
  for (const [place, { id }] of calls.entries()) if (!places.has(id)) places.set(id, place);
  const pieces = blocks.flatMap((block): ChatPiece[] => {
    if (isCallPlace(block)) {
      const place = places.get(block.id);
      return place === undefined ? [] : [readCall(calls[place] as Members, place)]; // listed above
    }
    const text = block.type === "text" ? nonEmptyString(block.text) : undefined;
    return text === undefined ? readReasoningBlock(block) : [{ kind: "text", text }];
  });
  const placed = new Set(blocks.filter(isCallPlace).map(({ id }) => id));
  const others = [...calls.entries()].filter(([, { id }]) => !placed.has(id));
  return [...pieces, ...others.map(([place, call]) => readCall(call, place))];
}

/** Text of message content, in either form. */
function readContent(content: unknown): string {
  if (typeof content === "string") return content;
  return objectsIn(content)
    .map((part) => nonEmptyString(part.text) ?? "")
    .join("");
}

const toAnnotation = (annotation: Members): ChatPiece => ({ kind: "annotation", annotation });

/** The text of a chunk that adds nothing else, as most do; undefined for others. */
function onlyText(delta: Members): string | undefined {
  for (const name in delta) if (name !== "content" && name !== "role") return undefined;
  return typeof delta.content === "string" ? delta.content : undefined;
}

function readPieces(message: Members, choice: Members): ChatPiece[] {
  const only = isObject(choice.logprobs) ? undefined : onlyText(message);
  if (only !== undefined) return only === "" ? [] : [{ kind: "text", text: only }];
  const placed = readPlaced(message);
  if (placed) return [...placed, ...objectsIn(message.annotations).map(toAnnotation)];
  const pieces = readReasoning(message);
  const text = readContent(message.content);
  const logprobs = objectsIn(isObject(choice.logprobs) ? choice.logprobs.content : undefined);
  if (text !== "") pieces.push({ kind: "text", text, ...(logprobs.length > 0 && { logprobs }) });
  const refusal = nonEmptyString(message.refusal);
  if (refusal !== undefined) pieces.push({ kind: "refusal", text: refusal });
  pieces.push(...objectsIn(message.annotations).map(toAnnotation));
  for (const [place, call] of objectsIn(message.tool_calls).entries()) pieces.push(readCall(call, place));
  return pieces;
}

/** Reads one choice of a chunk or a completion. */
export function readChoice(choice: Members): ChoiceReading {
  const message = isObject(choice.message) ? choice.message : isObject(choice.delta) ? choice.delta : {};
  return {
    pieces: readPieces(message, choice),
    finish: nonEmptyString(choice.finish_reason),
    stopSequence: nonEmptyString(choice.stop_sequence),
  };
}

/** Reads a chunk or completion without its choices. */
export function readHead(value: unknown): ChatHead {
  const { model, usage } = isObject(value) ? value : {};
  return { model: nonEmptyString(model), usage: isObject(usage) ? usage : undefined };
}

/**
 * Reads a chunk or completion by its first choice. Nothing is required; fields of the wrong type count as
 * absent.
 *
 * @param value A `chat.completion` or `chat.completion.chunk` (https://platform.openai.com/docs/api-reference/chat).
 */
export function readChat(value: unknown): ChatHead & ChoiceReading {
  const [choice = {}] = isObject(value) ? objectsIn(value.choices) : [];
  return { ...readHead(value), ...readChoice(choice) };
}

/** Arguments of a call as an object; an empty object where they are not one. */
export function readArguments(text: string): Record<string, unknown> {
  const value = parseJson(text);
  return isObject(value) ? value : {};
}

/** Why a response ended, for every provider. */
export type Finish = "stop" | "length" | "tool_calls" | "content_filter";

const filtered = /filter|safety|refus|prohibit|blocklist|spii|guardrail|intervened|recitation|malformed_response/i;

/** Why a response ended; one with tool calls ended for these. */
export function toFinish(reason: string | undefined, hasCalls: boolean): Finish {
  if (reason !== undefined && /length|max_tokens|max_output|window_exceeded/i.test(reason)) return "length";
  if (reason !== undefined && filtered.test(reason)) return "content_filter";
  return hasCalls || (reason !== undefined && /tool|function_call/i.test(reason)) ? "tool_calls" : "stop";
}

/** Token counts of a chat. */
interface ChatUsage {
  /** All input tokens, cached or not. */
  prompt: number;
  completion: number;
  total: number;
  cached: number;
  /** Tokens written to the provider's cache. */
  cacheWritten: number;
  reasoning: number;
}

/** A positive count in a field of an object, else 0. */
export function readCount(holder: unknown, name: string): number {
  const value = isObject(holder) ? holder[name] : undefined;
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/** Token counts from a chat's usage; 0 for counts it lacks. */
export function readUsage(usage: unknown): ChatUsage {
  const details = isObject(usage) ? usage.prompt_tokens_details : undefined;
  const [prompt, completion] = [readCount(usage, "prompt_tokens"), readCount(usage, "completion_tokens")];
  return {
    prompt,
    completion,
    total: readCount(usage, "total_tokens") || prompt + completion,
    cached: readCount(details, "cached_tokens"),
    cacheWritten: readCount(details, "cache_write_tokens") || readCount(usage, "cache_creation_input_tokens"),
    reasoning: readCount(isObject(usage) ? usage.completion_tokens_details : undefined, "reasoning_tokens"),
  };
}
