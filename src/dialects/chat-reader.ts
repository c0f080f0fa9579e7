import { isObject, objectsIn, parseJson } from "../lib/json.ts";

/** A piece of a chat's answer: what a chunk adds, or a part of an answer that came whole. */
export type ChatPiece =
  | { kind: "text"; text: string; logprobs?: readonly Record<string, unknown>[] }
  | { kind: "refusal" | "thinking" | "signature" | "redacted"; text: string }
  | { kind: "annotation"; annotation: Record<string, unknown> }
  | CallPiece;

/** A call of a tool, or more of its arguments. */
export interface CallPiece {
  kind: "call";
  /** Its place among the calls. */
  index: number;
  id: string | undefined;
  name: string | undefined;
  /** JSON text, or a part of it. */
  arguments: string;
  /** What proves the thought behind the call to the model that made it. */
  signature: string | undefined;
}

/** What a chunk, or an answer, says of one choice. */
interface ChoiceReading {
  pieces: ChatPiece[];
  /** Why the answer ended, in the provider's words. */
  finish: string | undefined;
  /** The text that ended it. */
  stopSequence: string | undefined;
}

/** What a chunk, or an answer, says besides its choices. */
interface ChatHead {
  model: string | undefined;
  usage: Record<string, unknown> | undefined;
}

type Members = Record<string, unknown>;

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

function readCall(call: Members, place: number): CallPiece {
  const named = isObject(call.function) ? call.function : {};
  const given = named.arguments;
  return {
    kind: "call",
    index: typeof call.index === "number" ? call.index : place,
    id: textOf(call.id),
    name: textOf(named.name),
    arguments: typeof given === "string" ? given : isObject(given) ? JSON.stringify(given) : "",
    signature: textOf(call.thought_signature) ?? textOf(named.thought_signature),
  };
}

/** Thoughts in a block of the answer, or in what a chunk adds to one. */
function readThoughtBlock(block: Members): ChatPiece[] {
  const held = isObject(block.delta) ? block.delta : block;
  // what is said is in the content too; a signature there proves no thought
  if (typeof held.text === "string") return [];
  const pieces: ChatPiece[] = [];
  const put = (kind: "thinking" | "signature" | "redacted", value: unknown) => {
    const text = textOf(value);
    if (text !== undefined) pieces.push({ kind, text });
  };
  put("thinking", held.thinking);
  put("signature", held.signature);
  put("redacted", held.data);
  return pieces;
}

/** Thoughts, as blocks where the provider gives them, else as text. */
function readThoughts(message: Members): ChatPiece[] {
  const pieces = objectsIn(message.content_blocks).flatMap(readThoughtBlock);
  if (pieces.length > 0) return pieces;
  const text = textOf(message.reasoning_content) ?? textOf(message.reasoning);
  return text === undefined ? [] : [{ kind: "thinking", text }];
}

/** Text of a content, whichever form it has. */
function readContent(content: unknown): string {
  if (typeof content === "string") return content;
  return objectsIn(content)
    .map((part) => textOf(part.text) ?? "")
    .join("");
}

function readPieces(message: Members, choice: Members): ChatPiece[] {
  const pieces = readThoughts(message);
  const text = readContent(message.content);
  const logprobs = objectsIn(isObject(choice.logprobs) ? choice.logprobs.content : undefined);
  if (text !== "") pieces.push({ kind: "text", text, ...(logprobs.length > 0 && { logprobs }) });
  const refusal = textOf(message.refusal);
  if (refusal !== undefined) pieces.push({ kind: "refusal", text: refusal });
  for (const annotation of objectsIn(message.annotations)) pieces.push({ kind: "annotation", annotation });
  for (const [place, call] of objectsIn(message.tool_calls).entries()) pieces.push(readCall(call, place));
  return pieces;
}

/** What one choice of a chunk, or of a whole answer, says. */
export function readChoice(choice: Members): ChoiceReading {
  const message = isObject(choice.message) ? choice.message : isObject(choice.delta) ? choice.delta : {};
  return {
    pieces: readPieces(message, choice),
    finish: textOf(choice.finish_reason),
    stopSequence: textOf(choice.stop_sequence),
  };
}

/** What a chunk, or a whole answer, says besides its choices. */
export function readHead(value: unknown): ChatHead {
  const { model, usage } = isObject(value) ? value : {};
  return { model: textOf(model), usage: isObject(usage) ? usage : undefined };
}

/**
 * What a chunk of a chat, or a whole answer, says by its first choice. Nothing is required: members of another type count as
 * absent.
 *
 * @param value A `chat.completion` or `chat.completion.chunk` (https://platform.openai.com/docs/api-reference/chat).
 */
export function readChat(value: unknown): ChatHead & ChoiceReading {
  const [choice = {}] = isObject(value) ? objectsIn(value.choices) : [];
  return { ...readHead(value), ...readChoice(choice) };
}

/** Arguments of a call as an object; an empty one where they are none. */
export function readArguments(text: string): Record<string, unknown> {
  const value = parseJson(text);
  return isObject(value) ? value : {};
}

/** Why an answer ended, whichever words its provider has. */
export type Finish = "stop" | "length" | "tool_calls" | "content_filter";

const filtered = /filter|safety|refus|prohibit|blocklist|spii|guardrail|intervened|recitation|malformed_response/i;

/** Why an answer ended; one that calls tools ended for that. */
export function toFinish(reason: string | undefined, hasCalls: boolean): Finish {
  if (reason !== undefined && /length|max_tokens|max_output|window_exceeded/i.test(reason)) return "length";
  if (reason !== undefined && filtered.test(reason)) return "content_filter";
  return hasCalls || (reason !== undefined && /tool|function_call/i.test(reason)) ? "tool_calls" : "stop";
}

/** Token counts of a chat. */
interface ChatUsage {
  /** All that was sent, cached or not. */
  prompt: number;
  completion: number;
  total: number;
  cached: number;
  /** Written to the provider's cache. */
  cacheWritten: number;
  reasoning: number;
}

/** A count above 0 among the members of an object; 0 where there is none. */
export function readCount(holder: unknown, name: string): number {
  const value = isObject(holder) ? holder[name] : undefined;
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/** Token counts from a chat's usage; 0 for what it does not tell. */
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
