import type { ChatResponse, Usage } from "../../schemas/chat.ts";
import type { ConversionOptions } from "../core/types.ts";

/** Token counts of an upstream, by what they count. */
export interface TokenCounts {
  /** Everything sent, cached or not. */
  prompt: number | null | undefined;
  /** Everything made, reasoning included. */
  completion: number | null | undefined;
  /** Read from a cache; part of `prompt`. */
  cached?: number | null | undefined;
  /** Part of `completion`. */
  reasoning?: number | null | undefined;
}

/** Usage in the gateway's shape; undefined when nothing was counted. */
export function toUsage({ prompt, completion, cached, reasoning }: TokenCounts): Usage | undefined {
  if (typeof prompt !== "number" && typeof completion !== "number") return undefined;
  const prompt_tokens = prompt ?? 0;
  const completion_tokens = completion ?? 0;
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    ...(typeof cached === "number" && { prompt_tokens_details: { cached_tokens: cached } }),
    ...(typeof reasoning === "number" && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** A call of a tool in the gateway's shape. */
export interface UnifiedToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** Arguments of a call as JSON text, whichever form the upstream gave them. */
export function toArguments(value: unknown): string {
  if (typeof value === "string") return value === "" ? "{}" : value;
  return JSON.stringify(value ?? {});
}

/** Id and time of an answer. */
export interface AnswerHead {
  id: string;
  /** Unix seconds; 0 when nobody tells. */
  created: number;
}

/** Id and time of an answer: the upstream's, else those the gateway gives it, else what is the same in all answers. */
export function toHead(
  provider: string,
  { id, created }: { id?: string | null | undefined; created?: number | null | undefined },
  options: Pick<ConversionOptions, "answerId" | "created">,
): AnswerHead {
  return { id: id ?? options.answerId ?? `chatcmpl-${provider}`, created: created ?? options.created ?? 0 };
}

/** The id of a call the upstream gave none; the same in each conversion of one answer. */
export function callId(answerId: string, index: number): string {
  return `call_${answerId.replace(/[^A-Za-z0-9]/g, "").slice(-24)}_${index}`;
}

/** What an assistant said. */
interface AssistantMessage {
  content: string | null;
  toolCalls?: readonly UnifiedToolCall[];
  /** Members only answers that need not be strict have. */
  extras?: object;
}

/** One choice of an answer. */
export function toChoice(
  { content, toolCalls = [], extras }: AssistantMessage,
  finish_reason: string,
  { index = 0, logprobs = null }: { index?: number; logprobs?: unknown } = {},
): Record<string, unknown> {
  const message = { role: "assistant", content, ...(toolCalls.length > 0 && { tool_calls: toolCalls }), ...extras };
  return { index, message, logprobs, finish_reason };
}

/** What a chat answer is made from. */
interface ChatAnswer extends AnswerHead {
  model: string;
  choices: readonly Record<string, unknown>[];
  usage: Usage | undefined;
}

/** A chat answer in the gateway's shape. */
export function toChatAnswer({ id, created, model, choices, usage }: ChatAnswer): ChatResponse {
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: [...choices],
    ...(usage && { usage }),
  };
}

/** What makes chunks of one stream: they share id, time and model. */
export type ChunkMaker = (
  delta: object,
  finishReason?: string | null,
  choice?: { index?: number; logprobs?: unknown },
) => object;

/** Chunks of a stream with this head. */
export function createChunkMaker({ id, created }: AnswerHead, model: string): ChunkMaker {
  return (delta, finish_reason = null, { index = 0, logprobs } = {}) => ({
    id,
    object: "chat.completion.chunk",
    created,
    model,
    choices: [{ index, delta, logprobs: logprobs ?? null, finish_reason }],
  });
}
