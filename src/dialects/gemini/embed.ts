import { type Refuse, refuseWith, UpstreamError } from "../../errors.ts";
import { nonEmptyString } from "../../lib/json.ts";
import type { EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import type {
  BatchEmbedContentsRequest,
  BatchEmbedContentsResponse,
  EmbedContentRequest,
  EmbedContentResponse,
} from "../../schemas/gemini.ts";
import { readUsage } from "../chat-reader.ts";
import type { DialectOptions } from "../types.ts";
import { itemsOf, type Members, membersOf, numberOf } from "./members.ts";

/** Fields that are mapped. */
const mapped = new Set(["model", "stream", "content", "outputDimensionality"]);

const refuse: Refuse = refuseWith("unsupported_parameter");

/** Text of the content to embed. */
function readText(content: unknown): string {
  const strings = itemsOf(membersOf(content).parts).map((part) => {
    const text = nonEmptyString(part.text);
    return text ?? refuse("Cannot embed this content: the provider of this model accepts text only", "content");
  });
  if (strings.length === 0) refuse("Cannot embed this content: it has no text", "content");
  return strings.join("\n");
}

function readOne(request: unknown, { drop }: DialectOptions): { text: string; dimensions: number | undefined } {
  const given: Members = membersOf(request);
  for (const [name, value] of Object.entries(given)) {
    if (!mapped.has(name) && value !== null && value !== undefined) drop(name);
  }
  return { text: readText(given.content), dimensions: numberOf(given.outputDimensionality) };
}

/**
 * The equivalent embeddings request.
 *
 * @throws {InvalidRequestError} If the content is not text.
 */
export function toEmbedding(request: EmbedContentRequest, options: DialectOptions): EmbeddingRequest {
  const { text, dimensions } = readOne(request, options);
  return { model: request.model, input: text, ...(dimensions !== undefined && { dimensions }) };
}

/**
 * As `toEmbedding`, for several contents at once.
 *
 * @throws {InvalidRequestError} Also if they ask for different dimensions.
 */
export function toEmbeddings(
  { model, requests }: BatchEmbedContentsRequest,
  options: DialectOptions,
): EmbeddingRequest {
  const all = requests.map((request) => readOne(request, options));
  const dimensions = all[0]?.dimensions;
  if (all.some((one) => one.dimensions !== dimensions)) {
    refuse("Cannot embed these contents at once: they ask for different dimensions", "requests.outputDimensionality");
  }
  return { model, input: all.map(({ text }) => text), ...(dimensions !== undefined && { dimensions }) };
}

/** Embeddings of a response, in the order of the input. */
function readLists({ data }: EmbeddingResponse): { values: number[] }[] {
  return data.map(({ embedding }) => {
    if (Array.isArray(embedding) && embedding.every((value) => typeof value === "number")) return { values: embedding };
    throw new UpstreamError(502, "Cannot use the response: it has no embeddings", { code: "upstream_bad_answer" });
  });
}

function usageOf({ usage }: EmbeddingResponse): object {
  const { prompt } = readUsage(usage);
  return prompt > 0 ? { usageMetadata: { promptTokenCount: prompt } } : {};
}

/** The embedContent response for an embeddings response. */
export function fromEmbedding(answer: EmbeddingResponse): EmbedContentResponse {
  const [embedding] = readLists(answer);
  if (!embedding) {
    throw new UpstreamError(502, "Cannot use the response: it has no embeddings", { code: "upstream_bad_answer" });
  }
  return { embedding, ...usageOf(answer) };
}

/** The batchEmbedContents response for an embeddings response. */
export function fromEmbeddings(answer: EmbeddingResponse): BatchEmbedContentsResponse {
  return { embeddings: readLists(answer), ...usageOf(answer) };
}
