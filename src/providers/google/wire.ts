import * as v from "valibot";
import { tokenCount } from "../shared/token-count.ts";

const number = v.nullish(v.number());
const text = v.nullish(v.string());

/** A blob inside a response: an image or audio. */
const InlineData = v.looseObject({ mimeType: text, data: v.string() });

/** One part of a response (https://ai.google.dev/api/caching#Part). */
export const Part = v.looseObject({
  text,
  thought: v.nullish(v.boolean()),
  thoughtSignature: text,
  functionCall: v.nullish(v.looseObject({ id: text, name: v.string(), args: v.nullish(v.unknown()) })),
  inlineData: v.nullish(InlineData),
  executableCode: v.nullish(v.looseObject({})),
  codeExecutionResult: v.nullish(v.looseObject({})),
});
export type Part = v.InferOutput<typeof Part>;

const TokenOdds = v.looseObject({ token: text, logProbability: number });
export type TokenOdds = v.InferOutput<typeof TokenOdds>;

const LogprobsResult = v.looseObject({
  chosenCandidates: v.nullish(v.array(TokenOdds)),
  topCandidates: v.nullish(v.array(v.looseObject({ candidates: v.nullish(v.array(TokenOdds)) }))),
});
export type LogprobsResult = v.InferOutput<typeof LogprobsResult>;

/** One candidate. */
const Candidate = v.looseObject({
  index: number,
  content: v.nullish(v.looseObject({ parts: v.nullish(v.array(Part)) })),
  finishReason: text,
  finishMessage: text,
  logprobsResult: v.nullish(LogprobsResult),
});
export type Candidate = v.InferOutput<typeof Candidate>;

const ModalityCounts = v.nullish(v.array(v.looseObject({ modality: text, tokenCount: tokenCount })));

/** Token counts (https://ai.google.dev/api/generate-content#UsageMetadata). */
export const UsageMetadata = v.looseObject({
  promptTokenCount: tokenCount,
  toolUsePromptTokenCount: tokenCount,
  candidatesTokenCount: tokenCount,
  thoughtsTokenCount: tokenCount,
  cachedContentTokenCount: tokenCount,
  promptTokensDetails: ModalityCounts,
  cacheTokensDetails: ModalityCounts,
  candidatesTokensDetails: ModalityCounts,
});
export type UsageMetadata = v.InferOutput<typeof UsageMetadata>;

/** Response of generateContent, and each event of its stream (https://ai.google.dev/api/generate-content). */
export const GenerateContentResponse = v.looseObject({
  candidates: v.nullish(v.array(Candidate)),
  promptFeedback: v.nullish(v.looseObject({ blockReason: text })),
  usageMetadata: v.nullish(UsageMetadata),
  modelVersion: text,
  responseId: text,
  createTime: text,
});
export type GenerateContentResponse = v.InferOutput<typeof GenerateContentResponse>;

/** Response of embedContent. */
export const EmbedContentResponse = v.looseObject({
  embedding: v.looseObject({ values: v.array(v.number()) }),
  usageMetadata: v.nullish(UsageMetadata),
});

/** Response of batchEmbedContents. */
export const BatchEmbedContentsResponse = v.looseObject({
  embeddings: v.array(v.looseObject({ values: v.array(v.number()) })),
  usageMetadata: v.nullish(UsageMetadata),
});

/** Response of models.list (https://ai.google.dev/api/models). */
export const ListModelsResponse = v.looseObject({
  models: v.nullish(
    v.array(
      v.looseObject({
        name: v.string(),
        displayName: v.nullish(v.string()),
        inputTokenLimit: v.nullish(v.number()),
        outputTokenLimit: v.nullish(v.number()),
      }),
    ),
  ),
});
