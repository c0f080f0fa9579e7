import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions } from "../core/types.ts";
import { traitsOf } from "./model.ts";
import { toOpenapiSchema } from "./schema.ts";
import { toThinkingConfig } from "./thinking.ts";

/** A field that is omitted when it has no value. */
function given(name: string, value: unknown): Record<string, unknown> {
  return value === undefined || value === null ? {} : { [name]: value };
}

/** The response format: JSON, with or without a schema. Newer models accept JSON schemas unchanged. */
function toResponseFormat(format: unknown, model: string): Record<string, unknown> {
  if (!isObject(format) || (format.type !== "json_object" && format.type !== "json_schema")) return {};
  const asJson = { responseMimeType: "application/json" };
  const schema = isObject(format.json_schema) ? format.json_schema.schema : undefined;
  if (format.type === "json_object" || !isObject(schema)) return asJson;
  const { generation, family } = traitsOf(model);
  if (family === "gemini" && (generation ?? 3) >= 2.5) {
    const { $schema: _, ...rest } = schema;
    return { ...asJson, responseJsonSchema: rest };
  }
  return { ...asJson, responseSchema: toOpenapiSchema(schema) };
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
    ...toResponseFormat(request.response_format, model),
    ...given("responseModalities", toModalities(request.modalities)),
    ...given("speechConfig", toSpeechConfig(request)),
    ...given("imageConfig", toImageConfig(request)),
    ...given("mediaResolution", request.media_resolution),
    ...given("thinkingConfig", toThinkingConfig(request, options)),
  };
}
