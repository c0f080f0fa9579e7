import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import type { ImageRequest, ImageResponse } from "../../schemas/images.ts";
import type { ConversionOptions } from "../core/types.ts";
import { imageMembers, modelOf, ratioOf, requireBytes, requireOneImage, toFilteredAnswer } from "../shared/images.ts";
import { copyMembers, splitMembers } from "../shared/members.ts";
import { modelName } from "./model.ts";
import { countOf } from "./usage.ts";
import { GenerateContentResponse } from "./wire.ts";

/** Whether a model is called with `predict`; the others generate images through chat. */
export function isImagen(model: string): boolean {
  return /^(?:imagen|imagegeneration)/.test(modelName(model));
}

const imagenRatios = ["1:1", "3:4", "4:3", "9:16", "16:9"];

const outputTypes: Readonly<Record<string, string>> = { png: "image/png", jpeg: "image/jpeg", webp: "image/webp" };
const qualities: Readonly<Record<string, number>> = { hd: 100, standard: 75 };

/**
 * A request to Imagen (https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/imagen-api,
 * https://ai.google.dev/gemini-api/docs/imagen).
 */
function toImagen(request: ImageRequest, slug: string, { drop }: ConversionOptions): object {
  requireBytes(slug, request);
  const { prompt, n, output_format: format, output_compression: compression, quality } = request;
  const members = {
    style: "sampleImageStyle",
    aspect_ratio: "aspectRatio",
    aspectRatio: "aspectRatio",
    seed: "seed",
    negative_prompt: "negativePrompt",
    negativePrompt: "negativePrompt",
    personGeneration: "personGeneration",
    person_generation: "personGeneration",
    safetySetting: "safetySetting",
    addWatermark: "addWatermark",
    imageSize: "imageSize",
    enhancePrompt: "enhancePrompt",
    storageUri: "storageUri",
  };
  const handled = [...imageMembers, "quality", "output_format", "output_compression"];
  const type = typeof format === "string" && Object.hasOwn(outputTypes, format) ? outputTypes[format] : undefined;
  const known = typeof quality === "string" && Object.hasOwn(qualities, quality) ? qualities[quality] : undefined;
  const level = compression ?? known;
  const output = {
    ...(type !== undefined && { mimeType: type }),
    ...(level !== undefined && { compressionQuality: level }),
  };
  const ratio = ratioOf(request, imagenRatios);
  return {
    instances: [{ prompt }],
    parameters: {
      sampleCount: n ?? 1,
      ...(ratio !== undefined && { aspectRatio: ratio }),
      ...(Object.keys(output).length > 0 && { outputOptions: output }),
      ...copyMembers(request, members, { handled, kind: "image", drop }),
    },
  };
}

const text = v.nullish(v.string());
const Predictions = v.looseObject({
  predictions: v.nullish(v.array(v.looseObject({ bytesBase64Encoded: text, prompt: text, raiFilteredReason: text }))),
});

function fromImagen(body: unknown, slug: string, options: ConversionOptions): ImageResponse {
  const predictions = v.parse(Predictions, body).predictions ?? [];
  const results = predictions.flatMap(({ bytesBase64Encoded: bytes, prompt }) =>
    bytes ? [{ b64_json: bytes, ...(prompt && { revised_prompt: prompt }) }] : [],
  );
  const reason = predictions.find((one) => one.raiFilteredReason)?.raiFilteredReason;
  return toFilteredAnswer(slug, results, { ...options, reason });
}

const geminiRatios = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];

/** A request to a Gemini model that generates images (https://ai.google.dev/gemini-api/docs/image-generation). */
function toGemini(request: ImageRequest, slug: string, { drop }: ConversionOptions): object {
  requireBytes(slug, request);
  requireOneImage(slug, request);
  const rules = { handled: [...imageMembers, "seed"], kind: "image", drop } as const;
  const { taken, unknown } = splitMembers(request, imageConfigMembers, rules);
  const config = { ...imageConfigOf(request), ...taken };
  return {
    ...unknown,
    contents: [{ role: "user", parts: [{ text: request.prompt }] }],
    generationConfig: {
      responseModalities: ["TEXT", "IMAGE"],
      ...(typeof request.seed === "number" && { seed: request.seed }),
      ...(Object.keys(config).length > 0 && { imageConfig: config }),
    },
  };
}

const imageConfigMembers = { aspect_ratio: "aspectRatio", aspectRatio: "aspectRatio", imageSize: "imageSize" };

function imageConfigOf(request: ImageRequest): { aspectRatio?: string } {
  const ratio = ratioOf(request, geminiRatios);
  return ratio === undefined ? {} : { aspectRatio: ratio };
}

function fromGemini(body: unknown, slug: string, { created = 0 }: ConversionOptions): ImageResponse {
  const { candidates, promptFeedback, usageMetadata: usage } = v.parse(GenerateContentResponse, body);
  const [candidate] = candidates ?? [];
  const parts = candidate?.content?.parts ?? [];
  const data = parts.flatMap(({ inlineData, thought }) =>
    inlineData && !thought ? [{ b64_json: inlineData.data }] : [],
  );
  if (data.length === 0) {
    const reason = promptFeedback?.blockReason ?? candidate?.finishReason ?? "the response contains no image";
    throw new UpstreamError(400, `${slug} error: the model returned no image: ${reason}`, {
      provider: slug,
      code: "content_filter",
    });
  }
  const input = usage?.promptTokenCount ?? 0;
  const output = (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0);
  const counts = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  const drawn = countOf(usage?.candidatesTokensDetails, "IMAGE");
  const details = drawn === undefined ? {} : { output_tokens_details: { image_tokens: drawn } };
  return { created, data, ...(usage && { usage: { ...counts, ...details } }) };
}

/** An image request in the format of its model. */
export function toGoogleImages(request: ImageRequest, slug: string, options: ConversionOptions): object {
  return isImagen(modelOf(slug, request)) ? toImagen(request, slug, options) : toGemini(request, slug, options);
}

/** The response to an image request. */
export function fromGoogleImages(
  body: unknown,
  { model }: ImageRequest,
  slug: string,
  options: ConversionOptions,
): ImageResponse {
  return isImagen(model ?? "") ? fromImagen(body, slug, options) : fromGemini(body, slug, options);
}
