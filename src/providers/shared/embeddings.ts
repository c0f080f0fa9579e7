import * as v from "valibot";
import { toBase64 } from "../../lib/base64.ts";
import { isObject } from "../../lib/json.ts";
import { type EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import { refuseMember } from "./messages.ts";
import { tokenCount } from "./token-count.ts";

/** A list in OpenAI's form, whatever its counts. */
const EmbeddingList = v.looseObject({
  ...EmbeddingResponse.entries,
  usage: v.nullish(v.looseObject({ prompt_tokens: tokenCount, total_tokens: tokenCount })),
});

/** The request fields that control the response. */
type Asked = Pick<EmbeddingRequest, "model" | "encoding_format">;

/**
 * A vector in the requested encoding: for base64, numbers become 32-bit little-endian floats
 * (https://platform.openai.com/docs/api-reference/embeddings/create). Values that are not number lists stay unchanged.
 */
export function encodeVector(values: unknown, { encoding_format: format }: Pick<Asked, "encoding_format">): unknown {
  if (format !== "base64" || !Array.isArray(values)) return values;
  if (!values.every((value) => typeof value === "number")) return values;
  const view = new DataView(new ArrayBuffer(values.length * 4));
  for (const [index, value] of values.entries()) view.setFloat32(index * 4, value, true);
  return toBase64(new Uint8Array(view.buffer));
}

/**
 * Accepts the encodings the gateway can produce from numbers.
 *
 * @throws {InvalidRequestError} For other encodings.
 */
export function requireNumbers(provider: string, { encoding_format: format }: Asked): void {
  if (!format || format === "float" || format === "base64") return;
  refuseMember(provider, "encoding_format", "it returns vectors as numbers only");
}

/** Usage of an embedding request; undefined without token counts. */
function usageOf(tokens: number | null | undefined, total = tokens): EmbeddingResponse["usage"] {
  return { prompt_tokens: tokens ?? 0, total_tokens: total ?? 0 };
}

/** An embeddings response in the gateway's shape. */
export function toEmbeddingAnswer(
  vectors: readonly unknown[],
  asked: Asked,
  tokens: number | null | undefined,
): EmbeddingResponse {
  const data = vectors.map((vector, index) => ({
    object: "embedding",
    index,
    embedding: encodeVector(vector, asked),
  }));
  return { object: "list", data, model: asked.model, usage: usageOf(tokens) };
}

/** Lists in OpenAI's form. When only total tokens are reported, they count as input tokens. */
export function embeddingList(body: unknown, asked: Asked): EmbeddingResponse {
  const { data, model, usage } = v.parse(EmbeddingList, body);
  const tokens = usage?.prompt_tokens ?? usage?.total_tokens;
  return {
    object: "list",
    data: data.map((item) =>
      "embedding" in item ? { ...item, embedding: encodeVector(item.embedding, asked) } : item,
    ),
    model: model ?? asked.model,
    usage: usageOf(tokens, usage?.total_tokens ?? tokens),
  };
}

/** As `embeddingList`, but returns undefined for responses that need no change. */
export function encodeWhereAsked(body: unknown, asked: Asked): EmbeddingResponse | undefined {
  const [first]: readonly unknown[] = isObject(body) && Array.isArray(body.data) ? body.data : [];
  if (asked.encoding_format !== "base64" || !isObject(first) || !Array.isArray(first.embedding)) return undefined;
  return { ...v.parse(EmbeddingList, body), ...embeddingList(body, asked) };
}

/** Splits a request into requests with at most `size` inputs; undefined when it has no more than that. */
export function splitInputs(size: number, request: EmbeddingRequest): readonly EmbeddingRequest[] | undefined {
  const { input } = request;
  if (!Array.isArray(input) || input.length <= size || typeof input[0] === "number") return undefined;
  const count = Math.ceil(input.length / size);
  return Array.from({ length: count }, (_, at) => {
    const some = input.slice(at * size, (at + 1) * size);
    return { ...request, input: some as EmbeddingRequest["input"] }; // part of a list has the list's type
  });
}

/** Joins the responses of split requests: vectors in order, usage summed. */
export function joinEmbeddings(answers: readonly EmbeddingResponse[], { model }: Asked): EmbeddingResponse {
  const sum = (member: "prompt_tokens" | "total_tokens") =>
    answers.reduce((all, { usage }) => all + (usage?.[member] ?? 0), 0);
  return {
    object: "list",
    data: answers.flatMap(({ data }) => data).map((item, index) => ({ ...item, index })),
    model: answers[0]?.model ?? model,
    usage: usageOf(sum("prompt_tokens"), sum("total_tokens")),
  };
}

/** Adapter functions for a provider with a maximum number of inputs per call. */
export function inBatches(size: number) {
  return {
    split: (request: EmbeddingRequest) => splitInputs(size, request),
    join: joinEmbeddings,
  };
}
