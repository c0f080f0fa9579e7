import * as v from "valibot";
import type { EmbeddingRequest } from "../../schemas/embeddings.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import type { ConversionOptions } from "../core/types.ts";
import { embeddingList, inBatches, requireNumbers } from "../shared/embeddings.ts";
import { requireStrings } from "../shared/inputs.ts";
import { hasMedia, type MediaInput, type Medium, readInputs } from "../shared/media-inputs.ts";
import { copyMembers, type MemberMap } from "../shared/members.ts";
import { refuseMember } from "../shared/messages.ts";
import { rerankLikeCohere } from "../shared/rerank.ts";

const handled = ["model", "input"];
const shared = {
  input_type: "input_type",
  truncation: "truncation",
  dimensions: "output_dimension",
  output_dimension: "output_dimension",
} satisfies MemberMap;
const members = {
  ...shared,
  output_dtype: "output_dtype",
  // vectors are numbers by default
  encoding_format: ["encoding_format", (format: unknown) => (format === "float" ? undefined : format)],
} satisfies MemberMap;

/** Whether a request is for a multimodal model. */
function isMultimodal(request: EmbeddingRequest): boolean {
  return request.model.startsWith("voyage-multimodal") || hasMedia(request);
}

function toMediaPart(kind: "image" | "video", { url, base64, type }: Medium): object {
  if (url !== undefined) return { type: `${kind}_url`, [`${kind}_url`]: url };
  return { type: `${kind}_base64`, [`${kind}_base64`]: `data:${type};base64,${base64 ?? ""}` };
}

/** One input; an input in Voyage's own form stays unchanged. */
function toContent({ text, image, video, sent }: MediaInput): unknown {
  if (Array.isArray(Reflect.get(Object(sent), "content"))) return sent;
  const content = [
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...(image ? [toMediaPart("image", image)] : []),
    ...(video ? [toMediaPart("video", video)] : []),
  ];
  return content.length > 0 ? { content } : refuseMember("voyage", "input", "an input has no text, image or video");
}

function toUpstream(request: EmbeddingRequest, { drop }: ConversionOptions): object {
  const { model } = request;
  if (!isMultimodal(request)) {
    const copied = copyMembers(request, members, { handled, kind: "embed", drop });
    return { ...copied, model, input: requireStrings("voyage", request) };
  }
  requireNumbers("voyage", request);
  const inputs = readInputs("voyage", request).map(toContent);
  const rules = { handled: [...handled, "encoding_format"], kind: "embed", drop } as const;
  return { ...copyMembers(request, shared, rules), model, inputs };
}

/** Voyage AI (https://docs.voyageai.com/reference/embeddings-api, https://docs.voyageai.com/reference/multimodal-embeddings-api). */
export const voyage = defineProvider({
  slug: "voyage",
  settings: { prefix: "voyage", schema: v.object({}) },
  baseUrl: "https://api.voyageai.com/v1",
  authenticate: bearer,
  operations: {
    embed: {
      path: (request) => (isMultimodal(request) ? "/multimodalembeddings" : "/embeddings"),
      toUpstream,
      fromUpstream: embeddingList,
      ...inBatches(1000),
    },
    // https://docs.voyageai.com/reference/reranker-api
    rerank: rerankLikeCohere({
      path: "/rerank",
      members: { top_n: "top_k", return_documents: "return_documents", truncation: "truncation" },
    }),
  },
});
