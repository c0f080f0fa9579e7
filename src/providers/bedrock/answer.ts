import * as v from "valibot";
import type { ChatRequest, ChatResponse, Usage } from "../../schemas/chat.ts";
import { callPlace, trimPlaces } from "../../schemas/content-blocks.ts";
import type { ConversionOptions } from "../core/types.ts";
import { isGiven } from "../shared/messages.ts";
import { type AnswerBlock, ConverseAnswer, type ConverseUsage } from "./wire.ts";

const finishReasons: ReadonlyMap<string, string> = new Map([
  ["tool_use", "tool_calls"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["guardrail_intervened", "content_filter"],
  ["content_filtered", "content_filter"],
]);

/** The finish reason: OpenAI's values, or Bedrock's own when the response need not be strict. */
export function toFinishReason(word: string | null | undefined, { strict }: ConversionOptions): string {
  if (!strict && word) return word;
  return finishReasons.get(word ?? "") ?? "stop";
}

/** Token counts in the gateway's shape. Prompt tokens include cached ones. */
export function toUsage(usage: ConverseUsage): Usage {
  const read = usage.cacheReadInputTokens ?? 0;
  const written = usage.cacheWriteInputTokens ?? 0;
  const prompt = (usage.inputTokens ?? 0) + read + written;
  const completion = usage.outputTokens ?? 0;
  const long = (usage.cacheDetails ?? []).reduce(
    (sum, one) => sum + (one.ttl === "1h" ? (one.inputTokens ?? 0) : 0),
    0,
  );
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: usage.totalTokens ?? prompt + completion,
    prompt_tokens_details: { cached_tokens: read, ...(written > 0 && { cache_write_tokens: written }) },
    ...(read > 0 && { cache_read_input_tokens: read }),
    ...(written > 0 && { cache_creation_input_tokens: written }),
    ...(long > 0 && {
      cache_creation: { ephemeral_5m_input_tokens: Math.max(0, written - long), ephemeral_1h_input_tokens: long },
    }),
  };
}

function textOf({ text, citationsContent }: AnswerBlock): string {
  const cited = citationsContent?.content?.map((part) => part.text ?? "").join("") ?? "";
  return (text ?? "") + cited;
}

function toToolCalls(blocks: readonly AnswerBlock[]) {
  return blocks.flatMap(({ toolUse }) => {
    if (!toolUse || toolUse.type === "server_tool_use") return [];
    const named = { name: toolUse.name, arguments: JSON.stringify(toolUse.input ?? {}) };
    return [{ id: toolUse.toolUseId, type: "function", function: named }];
  });
}

/** A block in the form callers send back. Tool calls are in `tool_calls` instead. */
function toContentBlock(block: AnswerBlock): readonly object[] {
  const { toolUse, reasoningContent: reasoning, text } = block;
  if (toolUse) return [callPlace(toolUse.toolUseId)];
  if (reasoning?.redactedContent) return [{ type: "redacted_thinking", data: reasoning.redactedContent }];
  if (reasoning) {
    const { text: thinking, signature } = reasoning.reasoningText ?? {};
    return [{ type: "thinking", thinking: thinking ?? "", ...(signature && { signature }) }];
  }
  const said = textOf(block);
  if (typeof text === "string" || said !== "") return [{ type: "text", text: said }];
  return [block];
}

/** The chat response from one of Converse. */
export function fromConverse(body: unknown, request: ChatRequest, options: ConversionOptions): ChatResponse {
  const answer = v.parse(ConverseAnswer, body);
  const blocks = answer.output.message.content ?? [];
  const calls = toToolCalls(blocks);
  const text = blocks.map(textOf).join("");
  const reasoningText = blocks.map(({ reasoningContent }) => reasoningContent?.reasoningText?.text ?? "").join("");
  const { trace, metrics, additionalModelResponseFields, serviceTier } = answer;
  const message = {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(!options.strict && reasoningText !== "" && { reasoning_content: reasoningText }),
    ...(!options.strict && { content_blocks: trimPlaces(blocks.flatMap(toContentBlock)) }),
  };
  const extras = {
    ...(isGiven(trace) && { trace }),
    ...(isGiven(metrics) && { metrics }),
    ...(isGiven(additionalModelResponseFields) && { additionalModelResponseFields }),
    ...(serviceTier?.type && { service_tier: serviceTier.type }),
  };
  return {
    id: options.answerId ?? "chatcmpl-bedrock",
    object: "chat.completion",
    created: options.created ?? 0,
    model: request.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: toFinishReason(answer.stopReason, options) }],
    usage: toUsage(answer.usage ?? {}),
    ...(!options.strict && extras),
  };
}
