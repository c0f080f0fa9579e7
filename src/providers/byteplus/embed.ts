import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import type { EmbeddingRequest } from "../../schemas/embeddings.ts";
import type { OperationAdapter } from "../core/types.ts";
import {
  embeddingList,
  encodeWhereAsked,
  joinEmbeddings,
  splitInputs,
  toEmbeddingAnswer,
} from "../shared/embeddings.ts";
import { requireStringsOrObjects } from "../shared/inputs.ts";
import { hasMedia, type MediaInput, readInputs, toAddress } from "../shared/media-inputs.ts";
import { refuseMember } from "../shared/messages.ts";
import { tokenCount } from "../shared/token-count.ts";

/** A response of multimodal models: one vector for all parts. */
const Reply = v.looseObject({
  data: v.looseObject({ embedding: v.union([v.array(v.number()), v.string()]) }),
  usage: v.nullish(v.looseObject({ prompt_tokens: tokenCount, total_tokens: tokenCount })),
});

function isMultimodal(request: EmbeddingRequest): boolean {
  return hasMedia(request) || request.model.includes("embedding-vision");
}

function toParts({ text, image, video }: MediaInput): object[] {
  const parts = [
    ...(image ? [{ type: "image_url", image_url: { url: toAddress(image) } }] : []),
    ...(video ? [{ type: "video_url", video_url: { url: toAddress(video) } }] : []),
    ...(text === undefined ? [] : [{ type: "text", text }]),
  ];
  return parts.length > 0 ? parts : refuseMember("byteplus", "input", "an input has no text, image or video");
}

/**
 * Embeddings (https://docs.byteplus.com/en/docs/ModelArk/1409291): text in OpenAI's form, media with one input per
 * call.
 */
export const embed: OperationAdapter<"embed"> = {
  path: (request) => (isMultimodal(request) ? "/embeddings/multimodal" : "/embeddings"),
  toUpstream(request) {
    requireStringsOrObjects("byteplus", request);
    if (!isMultimodal(request)) return request;
    return { ...request, input: readInputs("byteplus", request).flatMap(toParts) };
  },
  fromUpstream(body, request) {
    if (!isMultimodal(request)) return encodeWhereAsked(body, request);
    if (isObject(body) && Array.isArray(body.data)) return embeddingList(body, request);
    const { data, usage } = v.parse(Reply, body);
    return toEmbeddingAnswer([data.embedding], request, usage?.prompt_tokens ?? usage?.total_tokens);
  },
  split: (request) => (isMultimodal(request) ? splitInputs(1, request) : undefined),
  join: joinEmbeddings,
};
