import { rerankLikeCohere } from "../shared/rerank.ts";

/** Reranking (https://docs.cohere.com/reference/rerank). */
export const rerank = rerankLikeCohere({
  path: "/v2/rerank",
  members: { top_n: "top_n", max_tokens_per_doc: "max_tokens_per_doc", priority: "priority" },
});
