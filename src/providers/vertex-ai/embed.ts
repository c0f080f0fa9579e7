import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import type { EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { embedMembers, fromEmbedAnswer, readContents, unmappedMembers } from "../google/embed.ts";
import { encodeVector, joinEmbeddings, requireNumbers, splitInputs, toEmbeddingAnswer } from "../shared/embeddings.ts";
import { requireStrings } from "../shared/inputs.ts";
import { type MediaInput, type Medium, readInputs } from "../shared/media-inputs.ts";
import { refuseMember } from "../shared/messages.ts";
import { tokenCount } from "../shared/token-count.ts";
import { toLabels } from "./chat.ts";
import { googleModelPath, type PublishedModel, readModel } from "./publishers.ts";
import type { VertexSettings } from "./settings.ts";

const Values = v.array(v.number());

/**
 * Response of predict for text
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api).
 */
const TextPredictions = v.looseObject({
  predictions: v.array(
    v.looseObject({
      embeddings: v.looseObject({
        values: Values,
        statistics: v.nullish(v.looseObject({ token_count: tokenCount })),
      }),
    }),
  ),
});

/**
 * Response of predict for media
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/multimodal-embeddings-api).
 */
const MediaPredictions = v.looseObject({
  predictions: v.array(
    v.looseObject({
      textEmbedding: v.nullish(Values),
      imageEmbedding: v.nullish(Values),
      videoEmbeddings: v.nullish(
        v.array(v.looseObject({ embedding: Values, startOffsetSec: v.unknown(), endOffsetSec: v.unknown() })),
      ),
    }),
  ),
});

/**
 * Request format of a model: newer ones as in the Gemini API, multimodal ones with media fields, others with text only.
 */
function kindOf({ name }: PublishedModel): "content" | "media" | "text" {
  if (/^gemini-embedding-(?:[2-9]|[1-9][0-9])/.test(name)) return "content";
  return name.startsWith("multimodalembedding") ? "media" : "text";
}

/**
 * Maximum number of inputs per call
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api).
 */
function mostInputs(model: PublishedModel): number {
  if (kindOf(model) !== "text" || model.name.startsWith("gemini-embedding")) return 1;
  return 250;
}

function modelOf({ model }: EmbeddingRequest): PublishedModel {
  const found = readModel(model);
  if (found.dialect === "gemini") return found;
  throw new InvalidRequestError("Cannot embed with this model: only Google's models support embeddings", {
    param: "model",
    code: "unsupported_model",
  });
}

/** URL or bytes of a medium. */
function toMedium({ url, base64 }: Medium): object {
  return base64 === undefined ? { gcsUri: url } : { bytesBase64Encoded: base64 };
}

/** The segment of a video to embed. */
function toSegment({ more: { start_offset: from, end_offset: to, interval } }: Medium): object {
  const segment = { startOffsetSec: from, endOffsetSec: to, intervalSec: interval };
  return Object.values(segment).some((value) => value !== undefined) ? { videoSegmentConfig: segment } : {};
}

function toMediaInstance({ text, image, video }: MediaInput): object {
  const instance = {
    ...(text !== undefined && { text }),
    ...(image && { image: toMedium(image) }),
    ...(video && { video: { ...toMedium(video), ...toSegment(video) } }),
  };
  if (Object.keys(instance).length > 0) return instance;
  return refuseMember("vertex-ai", "input", "an input has no text, image or video");
}

function toBody(request: EmbeddingRequest, options: ConversionOptions): object {
  const kind = kindOf(modelOf(request));
  requireNumbers("vertex-ai", request);
  const unknown = unmappedMembers(request, options, [
    "metadata",
    "labels",
    ...(kind === "text" ? ["auto_truncate"] : []),
  ]);
  const { dimensions, task_type: task, title, auto_truncate: truncate } = request;
  if (kind === "content") {
    const [content] = readContents("vertex-ai", request);
    return { ...unknown, content, ...embedMembers(request) };
  }
  if (kind === "media") {
    const parameters = typeof dimensions === "number" ? { parameters: { dimension: dimensions } } : {};
    const instances = readInputs("vertex-ai", request).map(toMediaInstance);
    return { ...unknown, instances, ...parameters, ...toLabels(request) };
  }
  const beside = { ...(typeof task === "string" && { task_type: task }), ...(typeof title === "string" && { title }) };
  const parameters = {
    ...(typeof dimensions === "number" && { outputDimensionality: dimensions }),
    ...(typeof truncate === "boolean" && { autoTruncate: truncate }),
  };
  return {
    ...unknown,
    instances: requireStrings("vertex-ai", request).map((content) => ({ content, ...beside })),
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...toLabels(request),
  };
}

function fromMedia(body: unknown, request: EmbeddingRequest): EmbeddingResponse {
  const { predictions } = v.parse(MediaPredictions, body);
  const data = predictions.map(({ textEmbedding, imageEmbedding, videoEmbeddings }, index) => ({
    object: "embedding",
    index,
    ...(textEmbedding && { embedding: encodeVector(textEmbedding, request) }),
    ...(imageEmbedding && { image_embedding: encodeVector(imageEmbedding, request) }),
    ...(videoEmbeddings && {
      video_embeddings: videoEmbeddings.map(({ embedding, startOffsetSec, endOffsetSec }) => ({
        object: "embedding",
        embedding: encodeVector(embedding, request),
        start_offset: startOffsetSec,
        end_offset: endOffsetSec,
      })),
    }),
  }));
  return { object: "list", data, model: request.model, usage: { prompt_tokens: 0, total_tokens: 0 } };
}

function fromTextAnswer(body: unknown, request: EmbeddingRequest): EmbeddingResponse {
  const { predictions } = v.parse(TextPredictions, body);
  const tokens = predictions.reduce((sum, { embeddings }) => sum + (embeddings.statistics?.token_count ?? 0), 0);
  const lists = predictions.map(({ embeddings }) => embeddings.values);
  return toEmbeddingAnswer(lists, request, tokens);
}

/** An adapter with synchronous conversions that other adapters can use. */
export type EmbedAdapter = OperationAdapter<"embed"> &
  Required<Pick<OperationAdapter<"embed">, "path" | "toUpstream" | "fromUpstream">>;

/** Embeddings by Google's models. */
export function createEmbed(settings: VertexSettings): EmbedAdapter {
  return {
    path(request) {
      const model = modelOf(request);
      return googleModelPath(model, kindOf(model) === "content" ? "embedContent" : "predict", settings);
    },
    toUpstream: toBody,
    split: (request) => splitInputs(mostInputs(modelOf(request)), request),
    join: joinEmbeddings,
    fromUpstream(body, request) {
      const kind = kindOf(modelOf(request));
      if (kind === "media") return fromMedia(body, request);
      return kind === "text" ? fromTextAnswer(body, request) : fromEmbedAnswer(body, { ...request, input: "-" });
    },
  };
}
