import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import type { EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import { splitForCohere, toCohereInputs } from "../cohere/inputs.ts";
import type { ConversionOptions } from "../core/types.ts";
import { requireNumbers, splitInputs, toEmbeddingAnswer } from "../shared/embeddings.ts";
import { type MediaInput, readInputs, requireBytes } from "../shared/media-inputs.ts";
import { refuseMember } from "../shared/messages.ts";
import { readCounts } from "./counts.ts";
import type { BedrockModel } from "./model.ts";
import { type Block, refuseValue } from "./parts.ts";
import { CohereEmbeddings, NovaEmbeddings, TitanEmbedding } from "./wire.ts";

/** Fields that are not converted are forwarded to the model. */
function restOf(request: EmbeddingRequest, options: ConversionOptions): Block {
  const { model: _model, input: _input, dimensions: _dimensions, encoding_format: _format, user, ...rest } = request;
  if (user !== undefined && user !== null) options.drop("user");
  return rest;
}

/** The single input of a request. */
function requireOne(request: EmbeddingRequest): MediaInput {
  const [input, ...more] = readInputs("bedrock", request);
  if (input === undefined || more.length > 0)
    return refuseMember("bedrock", "input", "this model takes one input per call");
  return input;
}

function requireText({ text, image, video }: MediaInput): string {
  if (text === undefined || image || video) return refuseMember("bedrock", "input", "this model embeds text");
  return text;
}

function toTitanImage(request: EmbeddingRequest, options: ConversionOptions): Block {
  const { text, image, video } = requireOne(request);
  if (video || (text === undefined && !image)) refuseMember("bedrock", "input", "this model embeds text and images");
  const { dimensions } = request;
  return {
    ...restOf(request, options),
    ...(text !== undefined && { inputText: text }),
    ...(image && { inputImage: requireBytes("bedrock", image) }),
    ...(typeof dimensions === "number" && { embeddingConfig: { outputEmbeddingLength: dimensions } }),
  };
}

function toTitan(request: EmbeddingRequest, { name }: BedrockModel, options: ConversionOptions): Block {
  if (name.startsWith("titan-embed-image")) return toTitanImage(request, options);
  const { dimensions } = request;
  const body = { ...restOf(request, options), inputText: requireText(requireOne(request)) };
  if (typeof dimensions !== "number") return body;
  if (!/^titan-embed-(?:text-v1|g1)/.test(name)) return { ...body, dimensions };
  options.drop("dimensions");
  return body;
}

/** The request for Nova (https://docs.aws.amazon.com/nova/latest/userguide/embeddings-schema.html). */
function toNova(request: EmbeddingRequest, options: ConversionOptions): Block {
  const { text, image, video } = requireOne(request);
  const { dimensions } = request;
  if (video || (text === undefined) === (image === undefined)) {
    refuseMember("bedrock", "input", "an input for this model is either text or an image");
  }
  const { embedding_purpose: purpose = "GENERIC_INDEX", ...rest } = restOf(request, options);
  return {
    ...rest,
    taskType: "SINGLE_EMBEDDING",
    singleEmbeddingParams: {
      embeddingPurpose: purpose,
      ...(typeof dimensions === "number" && { embeddingDimension: dimensions }),
      ...(text !== undefined && { text: { truncationMode: "END", value: text } }),
      ...(image && {
        image: { format: image.type.replace(/^image\//, ""), source: { bytes: requireBytes("bedrock", image) } },
      }),
    },
  };
}

function toCohere(request: EmbeddingRequest, options: ConversionOptions): Block {
  const { dimensions } = request;
  return {
    input_type: "search_document",
    ...restOf(request, options),
    ...toCohereInputs("bedrock", request),
    embedding_types: ["float"],
    ...(typeof dimensions === "number" && { output_dimension: dimensions }),
  };
}

/** The request for an embedding model (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html). */
export function toEmbedding(request: EmbeddingRequest, model: BedrockModel, options: ConversionOptions): Block {
  requireNumbers("bedrock", request);
  if (model.vendor === "cohere") return toCohere(request, options);
  if (model.vendor === "amazon" && model.name.startsWith("titan-embed")) return toTitan(request, model, options);
  if (model.vendor === "amazon" && model.name.startsWith("nova")) return toNova(request, options);
  return refuseValue("Cannot embed with this model: only Titan, Nova and Cohere models are supported", "model");
}

/** Splits a request to the size of one call; Amazon's own models take one input per call. */
export function splitEmbedding(request: EmbeddingRequest, { vendor }: BedrockModel) {
  return vendor === "cohere" ? splitForCohere(request) : splitInputs(1, request);
}

/** The embeddings response; most models report token counts in a header only. */
export function fromEmbedding(
  body: unknown,
  request: EmbeddingRequest,
  options: Pick<ConversionOptions, "answerHeader">,
): EmbeddingResponse {
  const { prompt: counted } = readCounts(options);
  if (isObject(body) && "embedding" in body) {
    const { embedding, inputTextTokenCount: tokens } = v.parse(TitanEmbedding, body);
    return toEmbeddingAnswer([embedding], request, tokens ?? counted);
  }
  const isNova = isObject(body) && Array.isArray(body.embeddings) && isObject(body.embeddings[0]);
  const found = isNova
    ? v.parse(NovaEmbeddings, body).embeddings.map(({ embedding }) => embedding)
    : vectorsOf(v.parse(CohereEmbeddings, body));
  return toEmbeddingAnswer(found, request, counted);
}

function vectorsOf({ embeddings }: v.InferOutput<typeof CohereEmbeddings>): number[][] {
  return Array.isArray(embeddings) ? embeddings : embeddings.float;
}
