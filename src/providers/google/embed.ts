import * as v from "valibot";
import type { EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import type { ConversionOptions } from "../core/types.ts";
import { requireNumbers, toEmbeddingAnswer } from "../shared/embeddings.ts";
import { passUnknown } from "../shared/known.ts";
import { type Medium, readInputs } from "../shared/media-inputs.ts";
import { refuseMember } from "../shared/messages.ts";
import { modelName } from "./model.ts";
import { toUsage } from "./usage.ts";
import { BatchEmbedContentsResponse, EmbedContentResponse } from "./wire.ts";

/** Embedding fields with a counterpart at Google. */
const mapped = new Set(["model", "input", "dimensions", "encoding_format", "task_type", "title"]);

/** Media as a part (https://ai.google.dev/api/caching#Part). */
function toMediaPart({ url, base64, type }: Medium): object {
  if (url !== undefined) return { fileData: { mimeType: type, fileUri: url } };
  return { inlineData: { mimeType: type, data: base64 } };
}

/**
 * The parts of each input of a request.
 *
 * @throws {InvalidRequestError} If an input is a token list or empty.
 */
export function readContents(provider: string, request: EmbeddingRequest): { parts: object[] }[] {
  return readInputs(provider, request).map(({ text, image, video }) => {
    const parts = [
      ...(text === undefined ? [] : [{ text }]),
      ...(image ? [toMediaPart(image)] : []),
      ...(video ? [toMediaPart(video)] : []),
    ];
    return parts.length > 0 ? { parts } : refuseMember(provider, "input", "an input has no text, image or video");
  });
}

/** Embedding fields that are forwarded to the model. */
export function unmappedMembers(
  request: EmbeddingRequest,
  { drop }: ConversionOptions,
  more: readonly string[] = [],
): Record<string, unknown> {
  return passUnknown(request, (member) => mapped.has(member) || more.includes(member), { kind: "embed", drop });
}

/** Fields of embedContent beside the content. */
export function embedMembers({ dimensions, task_type: task, title }: EmbeddingRequest): Record<string, unknown> {
  return {
    ...(typeof task === "string" && { taskType: task }),
    ...(typeof title === "string" && { title }),
    ...(typeof dimensions === "number" && { outputDimensionality: dimensions }),
  };
}

/** Body of embedContent, or of batchEmbedContents for a list (https://ai.google.dev/api/embeddings). */
export function toEmbedRequest(request: EmbeddingRequest, options: ConversionOptions): object {
  const unknown = unmappedMembers(request, options);
  const model = `models/${modelName(request.model)}`;
  requireNumbers("google", request);
  const beside = { ...unknown, model, ...embedMembers(request) };
  const bodies = readContents("google", request).map((content) => ({ ...beside, content }));
  return Array.isArray(request.input) ? { requests: bodies } : (bodies[0] ?? {});
}

/** The gateway's response from one of embedContent or batchEmbedContents. */
export function fromEmbedAnswer(body: unknown, request: EmbeddingRequest): EmbeddingResponse {
  if (!Array.isArray(request.input)) {
    const { embedding, usageMetadata } = v.parse(EmbedContentResponse, body);
    return toEmbeddingAnswer([embedding.values], request, toUsage(usageMetadata).prompt_tokens ?? 0);
  }
  const { embeddings, usageMetadata } = v.parse(BatchEmbedContentsResponse, body);
  const lists = embeddings.map(({ values }) => values);
  return toEmbeddingAnswer(lists, request, toUsage(usageMetadata).prompt_tokens ?? 0);
}
