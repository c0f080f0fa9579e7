import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import type { EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import type { ConversionOptions } from "../types.ts";
import type { BedrockModel } from "./model.ts";
import { type Block, refuse } from "./parts.ts";
import { CohereEmbeddings, TitanEmbedding } from "./wire.ts";

/** Most texts one call of Cohere's models takes. */
const maxTexts = 96;

function textsOf({ input }: EmbeddingRequest): string[] {
  const texts = Array.isArray(input) ? input : [input];
  if (texts.every((text) => typeof text === "string")) return texts;
  return refuse("Cannot embed tokens with this provider: send texts", "input");
}

/** The rest of a request: what is not converted is the model's business. */
function restOf(request: EmbeddingRequest, options: ConversionOptions): Block {
  const { model: _model, input: _input, dimensions: _dimensions, encoding_format: _format, user, ...rest } = request;
  if (user !== undefined && user !== null) options.drop("user");
  return rest;
}

function toTitan(request: EmbeddingRequest, { name }: BedrockModel, options: ConversionOptions): Block {
  const [text, ...more] = textsOf(request);
  if (more.length > 0) refuse("Cannot embed more than one text in one request with this model", "input");
  const { dimensions } = request;
  const rest = restOf(request, options);
  if (typeof dimensions !== "number") return { ...rest, inputText: text };
  if (name.startsWith("titan-embed-image")) {
    return { ...rest, inputText: text, embeddingConfig: { outputEmbeddingLength: dimensions } };
  }
  if (/^titan-embed-(?:text-v1|g1)/.test(name)) {
    options.drop("dimensions");
    return { ...rest, inputText: text };
  }
  return { ...rest, inputText: text, dimensions };
}

function toCohere(request: EmbeddingRequest, options: ConversionOptions): Block {
  const texts = textsOf(request);
  if (texts.length > maxTexts)
    refuse(`Cannot embed more than ${maxTexts} texts in one request with this model`, "input");
  const { dimensions } = request;
  return {
    input_type: "search_document",
    ...restOf(request, options),
    texts,
    embedding_types: ["float"],
    ...(typeof dimensions === "number" && { output_dimension: dimensions }),
  };
}

/** A request of an embedding model (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html). */
export function toEmbedding(request: EmbeddingRequest, model: BedrockModel, options: ConversionOptions): Block {
  if (model.vendor === "cohere") return toCohere(request, options);
  if (model.vendor === "amazon" && model.name.startsWith("titan-embed")) return toTitan(request, model, options);
  return refuse("Cannot embed with this model: Titan and Cohere models are known", "model");
}

/** Numbers as the clients of OpenAI ask for them: 32-bit floats, little endian, in base64. */
function toBase64(numbers: readonly number[]): string {
  const view = new DataView(new ArrayBuffer(numbers.length * 4));
  for (const [index, number] of numbers.entries()) view.setFloat32(index * 4, number, true);
  let binary = "";
  for (const byte of new Uint8Array(view.buffer)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** The answer to a request for embeddings. Cohere's models count tokens in a header only: none are told. */
export function fromEmbedding(body: unknown, request: EmbeddingRequest): EmbeddingResponse {
  const isTitan = isObject(body) && "embedding" in body;
  const titan = isTitan ? v.parse(TitanEmbedding, body) : undefined;
  const found = titan ? [titan.embedding] : vectorsOf(v.parse(CohereEmbeddings, body));
  const tokens = titan?.inputTextTokenCount ?? 0;
  return {
    object: "list",
    data: found.map((vector, index) => ({
      object: "embedding",
      index,
      embedding: request.encoding_format === "base64" ? toBase64(vector) : vector,
    })),
    model: request.model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

function vectorsOf({ embeddings }: v.InferOutput<typeof CohereEmbeddings>): number[][] {
  return Array.isArray(embeddings) ? embeddings : embeddings.float;
}
