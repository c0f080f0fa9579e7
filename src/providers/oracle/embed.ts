import * as v from "valibot";
import type { EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import type { ConversionOptions } from "../core/types.ts";
import { requireNumbers, splitInputs, toEmbeddingAnswer } from "../shared/embeddings.ts";
import { hasMedia, readInputs, toAddress } from "../shared/media-inputs.ts";
import { copyMembers, type MemberMap } from "../shared/members.ts";
import { refuseMember } from "../shared/messages.ts";
import { tokenCount } from "../shared/token-count.ts";

/** Maximum number of inputs per call. */
const maxInputs = 96;

const Answer = v.looseObject({
  embeddings: v.array(v.array(v.number())),
  usage: v.nullish(v.looseObject({ promptTokens: tokenCount, totalTokens: tokenCount })),
});

const upper = (value: unknown) => (typeof value === "string" ? value.toUpperCase() : value);

const members = {
  dimensions: "outputDimensions",
  output_dimensions: "outputDimensions",
  embedding_types: "embeddingTypes",
  input_type: ["inputType", upper],
  truncate: ["truncate", upper],
} satisfies MemberMap;

/** The inputs: strings, or one image as a data URL. */
function toInputs(request: EmbeddingRequest): object {
  const inputs = readInputs("oracle", request);
  const strings = inputs.flatMap(({ text, image, video }) => (image || video ? [] : (text ?? [])));
  if (strings.length === inputs.length) return { inputs: strings };
  const images = inputs.flatMap(({ text, image }) => (image && text === undefined ? toAddress(image) : []));
  if (images.length === inputs.length) return { inputs: images, inputType: "IMAGE" };
  return refuseMember("oracle", "input", "an input is a text or an image");
}

/**
 * Embedding request fields besides the model's location
 * (https://docs.oracle.com/iaas/api/#/en/generative-ai-inference/20231130/EmbedTextResult/EmbedText).
 */
export function toEmbedRequest(request: EmbeddingRequest, { drop }: ConversionOptions): object {
  requireNumbers("oracle", request);
  return {
    // same as in Cohere's own API, whose models these are
    inputType: "SEARCH_DOCUMENT",
    ...copyMembers(request, members, { handled: ["model", "input", "encoding_format"], kind: "embed", drop }),
    ...toInputs(request),
  };
}

/** The gateway's response. */
export function fromEmbedAnswer(body: unknown, request: EmbeddingRequest): EmbeddingResponse {
  const { embeddings, usage } = v.parse(Answer, body);
  return toEmbeddingAnswer(embeddings, request, usage?.promptTokens ?? usage?.totalTokens);
}

/** Splits a request to the size of one call. */
export function splitEmbedRequest(request: EmbeddingRequest) {
  return splitInputs(hasMedia(request) ? 1 : maxInputs, request);
}
