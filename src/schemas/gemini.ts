import * as v from "valibot";
import { plainObject } from "./objects.ts";

const text = v.nullish(v.string());
const flag = v.nullish(v.boolean());
/** A number; 64-bit integers are strings. */
const numeric = v.nullish(v.union([v.number(), v.pipe(v.string(), v.regex(/^-?[0-9]+(?:\.[0-9]+)?$/))]));

/** A list, or a single item. */
const listOf = <Item extends v.GenericSchema>(item: Item) => v.union([v.array(item), item]);

/** One part of a turn (https://ai.google.dev/api/caching#Part). Field names may also be in snake_case. */
const Part = plainObject({
  text,
  thought: flag,
  thoughtSignature: text,
  inlineData: v.nullish(plainObject({ mimeType: text, data: text })),
  fileData: v.nullish(plainObject({ mimeType: text, fileUri: text })),
  functionCall: v.nullish(plainObject({ id: text, name: text, args: v.nullish(plainObject({})) })),
  functionResponse: v.nullish(plainObject({ id: text, name: text, response: v.nullish(plainObject({})) })),
});

/** One turn. */
const Content = plainObject({ role: text, parts: v.nullish(listOf(Part)) });

const Tool = plainObject({
  functionDeclarations: v.nullish(listOf(plainObject({ name: text, description: text }))),
});

const GenerationConfig = plainObject({
  temperature: numeric,
  topP: numeric,
  topK: numeric,
  candidateCount: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(8))),
  maxOutputTokens: numeric,
  stopSequences: v.nullish(listOf(v.string())),
  responseMimeType: text,
  responseSchema: v.nullish(plainObject({})),
  seed: numeric,
  presencePenalty: numeric,
  frequencyPenalty: numeric,
  responseLogprobs: flag,
  logprobs: numeric,
  responseModalities: v.nullish(listOf(v.string())),
  thinkingConfig: v.nullish(plainObject({ includeThoughts: flag, thinkingBudget: numeric, thinkingLevel: text })),
});

const contents = listOf(Content);

const conversation = {
  systemInstruction: v.nullish(Content),
  system_instruction: v.nullish(Content),
  tools: v.nullish(listOf(Tool)),
  toolConfig: v.nullish(plainObject({})),
  tool_config: v.nullish(plainObject({})),
  safetySettings: v.nullish(listOf(plainObject({}))),
  safety_settings: v.nullish(listOf(plainObject({}))),
  generationConfig: v.nullish(GenerationConfig),
  generation_config: v.nullish(plainObject({})),
  cachedContent: text,
  cached_content: text,
};

/** Body of `:generateContent` and `:streamGenerateContent` (https://ai.google.dev/api/generate-content). Unknown fields are forwarded. */
export const GenerateContentBody = plainObject({ contents, ...conversation });

/** Information from a path, in addition to the body. */
interface OfPath {
  /** The model in the path. */
  model: string;
  /** Whether the response is streamed. */
  stream?: boolean;
}

/** A generateContent request, with the model and mode of its path. */
export type GenerateContentRequest = v.InferOutput<typeof GenerateContentBody> & OfPath;

/** Token counts of a response. */
const UsageMetadata = v.looseObject({
  promptTokenCount: v.nullish(v.number()),
  candidatesTokenCount: v.nullish(v.number()),
  thoughtsTokenCount: v.nullish(v.number()),
  cachedContentTokenCount: v.nullish(v.number()),
  totalTokenCount: v.nullish(v.number()),
});

/** Response of `:generateContent`, and each event of a stream. */
export const GenerateContentResponse = v.looseObject({
  candidates: v.nullish(v.array(v.looseObject({ finishReason: text, index: v.nullish(v.number()) }))),
  usageMetadata: v.nullish(UsageMetadata),
  modelVersion: text,
  responseId: text,
});
export type GenerateContentResponse = v.InferOutput<typeof GenerateContentResponse>;

/** Body of `:countTokens` (https://ai.google.dev/api/tokens): contents, or a whole request. */
export const CountContentsBody = plainObject({
  contents: v.nullish(contents),
  generateContentRequest: v.nullish(plainObject({ contents: v.nullish(contents) })),
  generate_content_request: v.nullish(plainObject({ contents: v.nullish(contents) })),
});
export type CountContentsRequest = v.InferOutput<typeof CountContentsBody> & OfPath;

/** Response of `:countTokens`. */
export const CountContentsResponse = v.looseObject({ totalTokens: v.number() });
export type CountContentsResponse = v.InferOutput<typeof CountContentsResponse>;

const embedEntries = {
  content: Content,
  taskType: text,
  title: text,
  outputDimensionality: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1))),
};

/** Body of `:embedContent` (https://ai.google.dev/api/embeddings). */
export const EmbedContentBody = plainObject({ model: text, ...embedEntries });
export type EmbedContentRequest = v.InferOutput<typeof EmbedContentBody> & OfPath;

/** Response of `:embedContent`. */
export const EmbedContentResponse = v.looseObject({ embedding: v.looseObject({ values: v.array(v.number()) }) });
export type EmbedContentResponse = v.InferOutput<typeof EmbedContentResponse>;

/** Body of `:batchEmbedContents`. */
export const BatchEmbedContentsBody = plainObject({
  requests: v.pipe(v.array(plainObject({ model: text, ...embedEntries })), v.minLength(1), v.maxLength(2048)),
});
export type BatchEmbedContentsRequest = v.InferOutput<typeof BatchEmbedContentsBody> & OfPath;

/** Response of `:batchEmbedContents`. */
export const BatchEmbedContentsResponse = v.looseObject({
  embeddings: v.array(v.looseObject({ values: v.array(v.number()) })),
});
export type BatchEmbedContentsResponse = v.InferOutput<typeof BatchEmbedContentsResponse>;

/** A model in the format of the Gemini API (https://ai.google.dev/api/models). */
export const GeminiModel = v.looseObject({
  name: v.string(),
  displayName: text,
  supportedGenerationMethods: v.array(v.string()),
});
export type GeminiModel = v.InferOutput<typeof GeminiModel>;

/** Response of `GET /v1beta/models`. */
export const GeminiModelList = v.looseObject({ models: v.array(GeminiModel), nextPageToken: text });
