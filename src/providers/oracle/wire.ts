import * as v from "valibot";
import { toSeconds } from "../core/records.ts";
import type { ConversionOptions } from "../core/types.ts";
import { tokenCount } from "../shared/token-count.ts";

const ToolCall = v.looseObject({
  id: v.nullish(v.string()),
  name: v.nullish(v.string()),
  arguments: v.nullish(v.string()),
});
export type GenericCall = v.InferOutput<typeof ToolCall>;

const Message = v.looseObject({
  content: v.nullish(v.array(v.looseObject({ type: v.nullish(v.string()), text: v.nullish(v.string()) }))),
  toolCalls: v.nullish(v.array(ToolCall)),
  reasoningContent: v.nullish(v.string()),
  refusal: v.nullish(v.string()),
});
export type GenericMessage = v.InferOutput<typeof Message>;

const Usage = v.looseObject({
  promptTokens: tokenCount,
  completionTokens: tokenCount,
  totalTokens: tokenCount,
  promptTokensDetails: v.nullish(v.looseObject({ cachedTokens: tokenCount })),
  completionTokensDetails: v.nullish(
    v.looseObject({
      reasoningTokens: tokenCount,
      acceptedPredictionTokens: tokenCount,
      rejectedPredictionTokens: tokenCount,
    }),
  ),
});

/** Response in the generic format. */
export const GenericAnswer = v.looseObject({
  modelId: v.nullish(v.string()),
  chatResponse: v.looseObject({
    timeCreated: v.nullish(v.string()),
    choices: v.array(
      v.looseObject({
        index: v.nullish(v.number()),
        message: v.nullish(Message),
        finishReason: v.nullish(v.string()),
      }),
    ),
    usage: v.nullish(Usage),
  }),
});

/** Event of a stream; an error has a code and a message. */
export const GenericEvent = v.looseObject({
  index: v.nullish(v.number()),
  message: v.nullish(v.union([Message, v.string()])),
  finishReason: v.nullish(v.string()),
  usage: v.nullish(Usage),
  code: v.nullish(v.union([v.string(), v.number()])),
});

const CohereCall = v.looseObject({ name: v.string(), parameters: v.nullish(v.looseObject({}), {}) });
export type CohereCall = v.InferOutput<typeof CohereCall>;

/** Message of a Cohere model, complete or as an event; the last event repeats the whole text. */
export const CohereReply = v.looseObject({
  text: v.nullish(v.string()),
  finishReason: v.nullish(v.string()),
  toolCalls: v.nullish(v.array(CohereCall)),
  usage: v.nullish(Usage),
  code: v.nullish(v.union([v.string(), v.number()])),
  message: v.nullish(v.string()),
});

/** Response of a Cohere model. */
export const CohereAnswer = v.looseObject({ modelId: v.nullish(v.string()), chatResponse: CohereReply });

const CohereV2Content = v.looseObject({
  type: v.nullish(v.string()),
  text: v.nullish(v.string()),
  thinking: v.nullish(v.string()),
});
const CohereV2Message = v.looseObject({
  content: v.nullish(v.array(CohereV2Content)),
  toolPlan: v.nullish(v.string()),
  toolCalls: v.nullish(v.array(v.looseObject({ id: v.nullish(v.string()), function: v.nullish(v.unknown()) }))),
  citations: v.nullish(v.array(v.unknown())),
});
export type CohereV2Message = v.InferOutput<typeof CohereV2Message>;

/** Response of a Cohere v2 model. */
export const CohereV2Answer = v.looseObject({
  modelId: v.nullish(v.string()),
  chatResponse: v.looseObject({
    id: v.nullish(v.string()),
    message: CohereV2Message,
    finishReason: v.nullish(v.string()),
    errorMessage: v.nullish(v.string()),
    usage: v.nullish(Usage),
  }),
});

/** Event of a Cohere v2 stream; an error has a code and a message. */
export const CohereV2Event = v.looseObject({
  message: v.nullish(v.union([CohereV2Message, v.string()])),
  finishReason: v.nullish(v.string()),
  errorMessage: v.nullish(v.string()),
  usage: v.nullish(Usage),
  code: v.nullish(v.union([v.string(), v.number()])),
});

/** Usage in the gateway's shape. */
export function toUsage(usage: v.InferOutput<typeof Usage> | null | undefined) {
  if (!usage) return undefined;
  const { promptTokens: prompt, completionTokens: completion, totalTokens: total } = usage;
  const { promptTokensDetails: input, completionTokensDetails: output } = usage;
  return {
    prompt_tokens: prompt ?? 0,
    completion_tokens: completion ?? 0,
    total_tokens: total ?? (prompt ?? 0) + (completion ?? 0),
    prompt_tokens_details: { cached_tokens: input?.cachedTokens ?? 0 },
    completion_tokens_details: {
      reasoning_tokens: output?.reasoningTokens ?? 0,
      ...(output?.acceptedPredictionTokens != null && { accepted_prediction_tokens: output.acceptedPredictionTokens }),
      ...(output?.rejectedPredictionTokens != null && { rejected_prediction_tokens: output.rejectedPredictionTokens }),
    },
  };
}

const finishReasons: Readonly<Record<string, string>> = {
  stop: "stop",
  complete: "stop",
  stop_sequence: "stop",
  length: "length",
  max_tokens: "length",
  tool_calls: "tool_calls",
  tool_call: "tool_calls",
  content_filter: "content_filter",
  error_toxic: "content_filter",
};

/** The finish reason in the gateway's terms; unknown reasons stay unchanged when the response need not be strict. */
export function toFinishReason(reason: string, strict: boolean): string {
  const word = reason.toLowerCase();
  const known = Object.hasOwn(finishReasons, word) ? finishReasons[word] : undefined;
  return known ?? (strict ? "stop" : reason);
}

/** Id and creation time of a response: the upstream never returns an id, and a time only sometimes. */
export function namesOf(
  { answerId, created }: ConversionOptions,
  time?: string | null,
): { id: string; created: number } {
  return { id: answerId ?? "chatcmpl-oracle", created: toSeconds(time) ?? created ?? 0 };
}
