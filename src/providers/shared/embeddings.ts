import * as v from "valibot";
import { toBase64 } from "../../lib/base64.ts";
import { isObject } from "../../lib/json.ts";
import { type EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import { refuseMember } from "./messages.ts";

/** What of a request its answer depends on. */
type Asked = Pick<EmbeddingRequest, "model" | "encoding_format">;

/**
 * A vector as it was asked for: where base64 was, numbers become the bytes of 32-bit floats, little endian
 * (https://platform.openai.com/docs/api-reference/embeddings/create). What is no list of numbers stays as it is.
 */
export function encodeVector(values: unknown, { encoding_format: format }: Pick<Asked, "encoding_format">): unknown {
  if (format !== "base64" || !Array.isArray(values)) return values;
  if (!values.every((value) => typeof value === "number")) return values;
  const view = new DataView(new ArrayBuffer(values.length * 4));
  for (const [index, value] of values.entries()) view.setFloat32(index * 4, value, true);
  return toBase64(new Uint8Array(view.buffer));
}

/**
 * Lets the forms of vectors pass that the gateway can make of numbers.
 *
 * @throws {InvalidRequestError} For other forms.
 */
export function requireNumbers(provider: string, { encoding_format: format }: Asked): void {
  if (!format || format === "float" || format === "base64") return;
  refuseMember(provider, "encoding_format", "it gives vectors as numbers only");
}

/** Usage of what was embedded; nothing where nothing was counted. */
function usageOf(tokens: number | null | undefined, total = tokens): EmbeddingResponse["usage"] {
  return { prompt_tokens: tokens ?? 0, total_tokens: total ?? 0 };
}

/** An embedding answer in the gateway's shape. */
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

/** Lists in OpenAI's form; where only all tokens are counted, they are those of the input. */
export function embeddingList(body: unknown, asked: Asked): EmbeddingResponse {
  const { data, model, usage } = v.parse(EmbeddingResponse, body);
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

/** As `embeddingList`, for answers that are already what was asked for in most cases: those go back as they came. */
export function encodeWhereAsked(body: unknown, asked: Asked): EmbeddingResponse | undefined {
  const [first]: readonly unknown[] = isObject(body) && Array.isArray(body.data) ? body.data : [];
  if (asked.encoding_format !== "base64" || !isObject(first) || !Array.isArray(first.embedding)) return undefined;
  return { ...v.parse(EmbeddingResponse, body), ...embeddingList(body, asked) };
}

/** Requests of at most so many inputs each; undefined where the request has no more. */
export function splitInputs(size: number, request: EmbeddingRequest): readonly EmbeddingRequest[] | undefined {
  const { input } = request;
  if (!Array.isArray(input) || input.length <= size || typeof input[0] === "number") return undefined;
  const count = Math.ceil(input.length / size);
  return Array.from({ length: count }, (_, at) => {
    const some = input.slice(at * size, (at + 1) * size);
    return { ...request, input: some as EmbeddingRequest["input"] }; // a part of a list is of the list's type
  });
}

/** One answer from those of requests that were split: the vectors in order, the usage summed. */
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

/** Members of an adapter of a provider that takes at most so many inputs a call. */
export function inBatches(size: number) {
  return {
    split: (request: EmbeddingRequest) => splitInputs(size, request),
    join: joinEmbeddings,
  };
}
