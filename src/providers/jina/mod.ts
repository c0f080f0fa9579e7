import * as v from "valibot";
import { bearer } from "../auth/headers.ts";
import { embeddingList } from "../shapes/embeddings.ts";
import { requireTextOrObjects } from "../shapes/inputs.ts";
import { rerankLikeCohere } from "../shapes/rerank.ts";
import { defineProvider } from "../types.ts";

/** Jina AI (https://api.jina.ai/docs). */
export const jina = defineProvider({
  slug: "jina",
  settings: { prefix: "jina", schema: v.object({}) },
  baseUrl: "https://api.jina.ai/v1",
  authenticate: bearer,
  operations: {
    embed: {
      path: () => "/embeddings",
      toUpstream(request, { drop }) {
        const { user, encoding_format: format, ...rest } = request;
        if (user !== undefined && user !== null) drop("user");
        requireTextOrObjects("jina", request);
        // numbers are what it answers with unless another form is named
        return format && format !== "float" ? { embedding_type: format, ...rest } : rest;
      },
      fromUpstream: embeddingList,
    },
    rerank: rerankLikeCohere({
      path: "/rerank",
      members: { top_n: "top_n", return_documents: "return_documents", truncation: "truncation" },
    }),
  },
});
