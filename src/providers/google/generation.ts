import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { ConversionOptions } from "../core/types.ts";
import { geminiFactsOf } from "./family.ts";
import { toResponseSchema } from "./response-schema.ts";
import { toOpenapiSchema } from "./schema.ts";
import { toThinkingConfig } from "./thinking.ts";

/** A field that is omitted when it has no value. */
function given(name: string, value: unknown): Record<string, unknown> {
  return value === undefined || value === null ? {} : { [name]: value };
}

const schemaMember = "response_format.json_schema.schema";

/** The response format: JSON, with or without a schema. */
function toResponseFormat(
  format: unknown,
  { responseSchemas = "native" }: ModelFacts,
  { drop }: ConversionOptions,
): Record<string, unknown> {
  if (!isObject(format) || (format.type !== "json_object" && format.type !== "json_schema")) return {};
  const asJson = { responseMimeType: "application/json" };
  const schema = isObject(format.json_schema) ? format.json_schema.schema : undefined;
  if (format.type === "json_object" || !isObject(schema)) return asJson;
  if (responseSchemas === "native") return { ...asJson, responseJsonSchema: toResponseSchema(schema) };
  return { ...asJson, responseSchema: toOpenapiSchema(schema, undefined, () => drop(`${schemaMember}.$ref`)) };
}

function toSpeechConfig({ speech_config: speech, audio }: ChatRequest): unknown {
  if (isObject(speech)) return speech;
  if (!isObject(audio) || typeof audio.voice !== "string") return undefined;
  return { voiceConfig: { prebuiltVoiceConfig: { voiceName: audio.voice } } };
}

function toImageConfig({ image_config: image }: ChatRequest): unknown {
  if (!isObject(image)) return undefined;
  const { aspect_ratio: ratio, image_size: size, ...rest } = image;
  return { ...rest, ...given("aspectRatio", ratio), ...given("imageSize", size) };
}

function toModalities(modalities: unknown): unknown {
  return Array.isArray(modalities) ? modalities.map((one) => String(one).toUpperCase()) : undefined;
}

/** Generation settings (https://ai.google.dev/api/generate-content#generationconfig). */
export function toGenerationConfig(request: ChatRequest, options: ConversionOptions): Record<string, unknown> {
  const { model, stop } = request;
  const facts = geminiFactsOf(model, options);
  return {
    ...given("maxOutputTokens", request.max_completion_tokens ?? request.max_tokens),
    ...given("temperature", request.temperature),
    ...given("topP", request.top_p),
    ...given("topK", request.top_k),
    ...given("stopSequences", typeof stop === "string" ? [stop] : stop),
    ...given("candidateCount", request.n),
    ...given("seed", request.seed),
    ...given("presencePenalty", request.presence_penalty),
    ...given("frequencyPenalty", request.frequency_penalty),
    ...given("responseLogprobs", request.logprobs),
    ...given("logprobs", request.top_logprobs),
    ...toResponseFormat(request.response_format, facts, options),
    ...given("responseModalities", toModalities(request.modalities)),
    ...given("speechConfig", toSpeechConfig(request)),
    ...given("imageConfig", toImageConfig(request)),
    ...given("mediaResolution", request.media_resolution),
    ...given("thinkingConfig", toThinkingConfig(request, options)),
  };
}
