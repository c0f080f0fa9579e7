import { fnv1a } from "../../lib/fnv.ts";
import type { ChatResponse, Usage } from "../../schemas/chat.ts";
import type { ConversionOptions } from "../core/types.ts";

/** Token counts of an upstream, by kind. */
export interface TokenCounts {
  /** All input tokens, cached or not. */
  prompt: number | null | undefined;
  /** All output tokens, including reasoning. */
  completion: number | null | undefined;
  /** Tokens read from a cache; part of `prompt`. */
  cached?: number | null | undefined;
  /** Part of `completion`. */
  reasoning?: number | null | undefined;
}

/** Usage in the gateway's shape; undefined without token counts. */
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

/** A tool call in the gateway's shape. */
export interface UnifiedToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** Arguments of a call as JSON text, from any form. */
export function toArguments(value: unknown): string {
  if (typeof value === "string") return value === "" ? "{}" : value;
  return JSON.stringify(value ?? {});
}

/** Id and creation time of a response. */
export interface AnswerHead {
  id: string;
  /** Unix seconds; 0 when unknown. */
  created: number;
}

/** Id and time of a response: the upstream's, else the gateway's, else a constant. */
export function toHead(
  provider: string,
  { id, created }: { id?: string | null | undefined; created?: number | null | undefined },
  options: Pick<ConversionOptions, "answerId" | "created">,
): AnswerHead {
  return { id: id ?? options.answerId ?? `chatcmpl-${provider}`, created: created ?? options.created ?? 0 };
}

/** The id for a call without an upstream id; it is the same in every conversion of one response. */
export function callId(answerId: string, index: number): string {
  return `call_${answerId.replace(/[^A-Za-z0-9]/g, "").slice(-24)}_${index}`;
}

/** Longest id of a call that every provider takes: OpenAI's chat completions refuse longer ones. */
const maxCallId = 40;

/** A provider's id of a call, in a form that other providers take when the conversation goes on with them. */
export function toPortableId(id: string): string {
  if (id.length <= maxCallId) return id;
  const digests = [id, `${id}:more`].map((text) => fnv1a(text).toString(16).padStart(8, "0"));
  return `${id.slice(0, maxCallId - 17)}_${digests.join("")}`;
}

/** Content of an assistant message. */
interface AssistantMessage {
  content: string | null;
  toolCalls?: readonly UnifiedToolCall[];
  /** Fields for responses that need not be strict. */
  extras?: object;
}

/** One choice of a response. */
export function toChoice(
  { content, toolCalls = [], extras }: AssistantMessage,
  finish_reason: string,
  { index = 0, logprobs = null }: { index?: number; logprobs?: unknown } = {},
): Record<string, unknown> {
  const message = {
    role: "assistant",
    content,
    refusal: null,
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    ...extras,
  };
  return { index, message, logprobs, finish_reason };
}

/** What a chat response is made from. */
interface ChatAnswer extends AnswerHead {
  model: string;
  choices: readonly Record<string, unknown>[];
  usage: Usage | undefined;
}

/** A chat response in the gateway's shape. */
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

/** Creates the chunks of one stream, which share id, time and model. */
export type ChunkMaker = (
  delta: object,
  finishReason?: string | null,
  choice?: { index?: number; logprobs?: unknown },
) => object;

/** Creates chunks with this head. */
export function createChunkMaker({ id, created }: AnswerHead, model: string): ChunkMaker {
  return (delta, finish_reason = null, { index = 0, logprobs } = {}) => ({
    id,
    object: "chat.completion.chunk",
    created,
    model,
    choices: [{ index, delta, logprobs: logprobs ?? null, finish_reason }],
  });
}
