import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import type { ConversionOptions } from "../types.ts";
import { modelName } from "./model.ts";
import { dropUnknown } from "./request.ts";
import { toUsage } from "./usage.ts";
import { BatchEmbedContentsResponse, EmbedContentResponse } from "./wire.ts";

/** Members of a request for embeddings that have an equal here. */
const mapped = new Set(["model", "input", "dimensions", "encoding_format", "task_type", "title"]);

/**
 * The texts of a request.
 *
 * @throws {InvalidRequestError} If they are given as tokens.
 */
export function readTexts({ input }: EmbeddingRequest): string[] {
  const all: readonly unknown[] = Array.isArray(input) ? input : [input];
  return all.map((one) => {
    const text = isObject(one) ? one.text : one;
    if (typeof text === "string") return text;
    throw new InvalidRequestError("Cannot embed this input: give it as text", {
      ...{ param: "input", code: "unsupported_parameter" },
    });
  });
}

/** Values as OpenAI's clients ask for them: numbers, or the bytes of 32-bit floats in base64. */
export function encodeEmbedding(values: readonly number[], { encoding_format: format }: EmbeddingRequest) {
  if (format !== "base64") return values;
  const view = new DataView(new ArrayBuffer(values.length * 4));
  for (const [index, value] of values.entries()) view.setFloat32(index * 4, value, true);
  let text = "";
  for (const byte of new Uint8Array(view.buffer)) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Tells of members of a request for embeddings that have no equal. */
export function dropUnmapped(request: EmbeddingRequest, options: ConversionOptions, more: readonly string[] = []) {
  dropUnknown(request, (member) => mapped.has(member) || more.includes(member), options);
}

/** Members of embedContent beside the text. */
export function embedMembers({ dimensions, task_type: task, title }: EmbeddingRequest): Record<string, unknown> {
  return {
    ...(typeof task === "string" && { taskType: task }),
    ...(typeof title === "string" && { title }),
    ...(typeof dimensions === "number" && { outputDimensionality: dimensions }),
  };
}

/** Body of embedContent, and of batchEmbedContents for a list (https://ai.google.dev/api/embeddings). */
export function toEmbedRequest(request: EmbeddingRequest, options: ConversionOptions): object {
  dropUnmapped(request, options);
  const model = `models/${modelName(request.model)}`;
  const bodies = readTexts(request).map((text) => ({
    model,
    content: { parts: [{ text }] },
    ...embedMembers(request),
  }));
  return Array.isArray(request.input) ? { requests: bodies } : (bodies[0] ?? {});
}

/** The gateway's answer from lists of values. */
export function toEmbeddingResponse(
  lists: readonly (readonly number[])[],
  request: EmbeddingRequest,
  promptTokens: number,
): EmbeddingResponse {
  return {
    object: "list",
    data: lists.map((values, index) => ({
      ...{ object: "embedding", index },
      embedding: encodeEmbedding(values, request),
    })),
    model: request.model,
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  };
}

/** The gateway's answer from one of embedContent or batchEmbedContents. */
export function fromEmbedAnswer(body: unknown, request: EmbeddingRequest): EmbeddingResponse {
  if (!Array.isArray(request.input)) {
    const { embedding, usageMetadata } = v.parse(EmbedContentResponse, body);
    return toEmbeddingResponse([embedding.values], request, toUsage(usageMetadata).prompt_tokens ?? 0);
  }
  const { embeddings, usageMetadata } = v.parse(BatchEmbedContentsResponse, body);
  const lists = embeddings.map(({ values }) => values);
  return toEmbeddingResponse(lists, request, toUsage(usageMetadata).prompt_tokens ?? 0);
}
