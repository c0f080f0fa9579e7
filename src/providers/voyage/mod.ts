import * as v from "valibot";
import { bearer } from "../auth/headers.ts";
import { embeddingList } from "../shapes/embeddings.ts";
import { requireTexts } from "../shapes/inputs.ts";
import { copyMembers, type MemberMap } from "../shapes/members.ts";
import { rerankLikeCohere } from "../shapes/rerank.ts";
import { defineProvider } from "../types.ts";

const members = {
  ...{ input_type: "input_type", truncation: "truncation", output_dtype: "output_dtype" },
  ...{ dimensions: "output_dimension", output_dimension: "output_dimension" },
  // numbers are what it answers with when no form is named
  encoding_format: ["encoding_format", (format: unknown) => (format === "float" ? undefined : format)],
} satisfies MemberMap;

/** Voyage AI (https://docs.voyageai.com/reference/embeddings-api). */
export const voyage = defineProvider({
  slug: "voyage",
  settings: { prefix: "voyage", schema: v.object({}) },
  baseUrl: "https://api.voyageai.com/v1",
  authenticate: bearer,
  operations: {
    embed: {
      path: () => "/embeddings",
      toUpstream: (request, { drop }) => ({
        ...{ model: request.model, input: requireTexts("voyage", request) },
        ...copyMembers(request, members, { handled: ["model", "input"], drop }),
      }),
      fromUpstream: embeddingList,
    },
    // https://docs.voyageai.com/reference/reranker-api
    rerank: rerankLikeCohere({
      path: "/rerank",
      members: { top_n: "top_k", return_documents: "return_documents", truncation: "truncation" },
    }),
  },
});
