import * as v from "valibot";
import { tokenCount } from "../shared/token-count.ts";

const text = v.nullish(v.string());

/** Token counts of Converse; `inputTokens` excludes tokens read from or written to a cache. */
export const ConverseUsage = v.object({
  inputTokens: tokenCount,
  outputTokens: tokenCount,
  totalTokens: tokenCount,
  cacheReadInputTokens: tokenCount,
  cacheWriteInputTokens: tokenCount,
  cacheDetails: v.nullish(v.array(v.object({ ttl: text, inputTokens: tokenCount }))),
});
export type ConverseUsage = v.InferOutput<typeof ConverseUsage>;

const Reasoning = v.object({
  reasoningText: v.nullish(v.object({ text, signature: text })),
  redactedContent: text,
});

/** A block of a response; unknown kinds are preserved for callers that accept them. */
export const AnswerBlock = v.looseObject({
  text,
  toolUse: v.nullish(v.object({ toolUseId: v.string(), name: v.string(), input: v.nullish(v.unknown()), type: text })),
  reasoningContent: v.nullish(Reasoning),
  citationsContent: v.nullish(v.looseObject({ content: v.nullish(v.array(v.looseObject({ text }))) })),
});
export type AnswerBlock = v.InferOutput<typeof AnswerBlock>;

/** A response of Converse (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html). */
export const ConverseAnswer = v.object({
  output: v.object({ message: v.object({ content: v.nullish(v.array(AnswerBlock)) }) }),
  stopReason: text,
  usage: v.nullish(ConverseUsage),
  trace: v.nullish(v.unknown()),
  metrics: v.nullish(v.unknown()),
  additionalModelResponseFields: v.nullish(v.unknown()),
  serviceTier: v.nullish(v.looseObject({ type: text })),
});

const index = v.number();

/** Events of ConverseStream by their names
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html). */
export const BlockStart = v.object({
  contentBlockIndex: index,
  start: v.nullish(v.object({ toolUse: v.nullish(v.object({ toolUseId: v.string(), name: v.string(), type: text })) })),
});
export const BlockDelta = v.object({
  contentBlockIndex: index,
  delta: v.object({
    text,
    toolUse: v.nullish(v.object({ input: text })),
    reasoningContent: v.nullish(v.object({ text, signature: text, redactedContent: text })),
    citation: v.nullish(v.unknown()),
  }),
});
export const BlockStop = v.object({ contentBlockIndex: index });
export const MessageStop = v.object({ stopReason: text });
export const StreamMetadata = v.object({ usage: v.nullish(ConverseUsage) });
export const StreamFailure = v.object({
  error: v.object({ type: v.string(), message: v.string(), status: v.nullish(v.number()) }),
});

/** Responses of the embedding models of Amazon and Cohere. */
export const TitanEmbedding = v.object({ embedding: v.array(v.number()), inputTextTokenCount: tokenCount });
export const NovaEmbeddings = v.object({ embeddings: v.array(v.object({ embedding: v.array(v.number()) })) });
const vectors = v.array(v.array(v.number()));
export const CohereEmbeddings = v.object({ embeddings: v.union([vectors, v.object({ float: vectors })]) });

/** Response of `GET /foundation-models`. */
export const FoundationModels = v.object({
  modelSummaries: v.nullish(v.array(v.object({ modelId: v.string(), providerName: text }))),
});
