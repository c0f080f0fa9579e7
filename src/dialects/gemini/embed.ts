import { InvalidRequestError, UpstreamError } from "../../errors.ts";
import type { EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import type {
  BatchEmbedContentsRequest,
  BatchEmbedContentsResponse,
  EmbedContentRequest,
  EmbedContentResponse,
} from "../../schemas/gemini.ts";
import { readUsage } from "../chat-reader.ts";
import type { DialectOptions } from "../types.ts";
import { itemsOf, type Members, membersOf, numberOf, textOf } from "./members.ts";

/** Members that are mapped. */
const mapped = new Set(["model", "stream", "content", "outputDimensionality"]);

function refuse(message: string, param: string): never {
  throw new InvalidRequestError(message, { param, code: "unsupported_parameter" });
}

/** Text of what is to be embedded. */
function readText(content: unknown): string {
  const texts = itemsOf(membersOf(content).parts).map((part) => {
    const text = textOf(part.text);
    return text ?? refuse("Cannot embed this content: the provider of this model takes text only", "content");
  });
  if (texts.length === 0) refuse("Cannot embed this content: it says nothing", "content");
  return texts.join("\n");
}

function readOne(request: unknown, { drop }: DialectOptions): { text: string; dimensions: number | undefined } {
  const given: Members = membersOf(request);
  for (const [name, value] of Object.entries(given)) {
    if (!mapped.has(name) && value !== null && value !== undefined) drop(name);
  }
  return { text: readText(given.content), dimensions: numberOf(given.outputDimensionality) };
}

/**
 * The request for embeddings that asks for the same.
 *
 * @throws {InvalidRequestError} If something else than text is to be embedded.
 */
export function toEmbedding(request: EmbedContentRequest, options: DialectOptions): EmbeddingRequest {
  const { text, dimensions } = readOne(request, options);
  return { model: request.model, input: text, ...(dimensions !== undefined && { dimensions }) };
}

/**
 * As `toEmbedding`, for several contents at once.
 *
 * @throws {InvalidRequestError} Also if they ask for different sizes.
 */
export function toEmbeddings(
  { model, requests }: BatchEmbedContentsRequest,
  options: DialectOptions,
): EmbeddingRequest {
  const all = requests.map((request) => readOne(request, options));
  const dimensions = all[0]?.dimensions;
  if (all.some((one) => one.dimensions !== dimensions)) {
    refuse("Cannot embed these contents at once: they ask for different sizes", "requests.outputDimensionality");
  }
  return { model, input: all.map(({ text }) => text), ...(dimensions !== undefined && { dimensions }) };
}

/** Lists of values of an answer, in the order of its items. */
function readLists({ data }: EmbeddingResponse): { values: number[] }[] {
  return data.map(({ embedding }) => {
    if (Array.isArray(embedding) && embedding.every((value) => typeof value === "number")) return { values: embedding };
    throw new UpstreamError(502, "Cannot use the answer: it holds no embeddings", { code: "upstream_bad_answer" });
  });
}

function usageOf({ usage }: EmbeddingResponse): object {
  const { prompt } = readUsage(usage);
  return prompt > 0 ? { usageMetadata: { promptTokenCount: prompt } } : {};
}

/** An answer of embedContent from one of embeddings. */
export function fromEmbedding(answer: EmbeddingResponse): EmbedContentResponse {
  const [embedding] = readLists(answer);
  if (!embedding) {
    throw new UpstreamError(502, "Cannot use the answer: it holds no embeddings", { code: "upstream_bad_answer" });
  }
  return { embedding, ...usageOf(answer) };
}

/** An answer of batchEmbedContents from one of embeddings. */
export function fromEmbeddings(answer: EmbeddingResponse): BatchEmbedContentsResponse {
  return { embeddings: readLists(answer), ...usageOf(answer) };
}
