import { withoutPrefixes } from "../core/model-names.ts";
import type { OperationAdapter } from "../core/types.ts";
import { readRanking, toRerankAnswer, toRerankBody } from "../shared/rerank.ts";

/** Whether the URL is a dedicated deployment of one model, which uses Cohere's own paths. */
export function isOneModel(url: string | undefined): boolean {
  return /\.(?:models\.ai|inference\.ai|inference\.ml)\.azure\.[a-z]+$/.test(URL.parse(url ?? "")?.hostname ?? "");
}

/** Removes the publisher prefix from one of Cohere's models. */
export function plainName(model: string): string {
  return withoutPrefixes(model, /^cohere\./);
}

/** Reranking by Cohere's models (https://learn.microsoft.com/azure/ai-foundry/how-to/deploy-models-cohere-rerank). */
export function createRerank(url: string | undefined): OperationAdapter<"rerank"> {
  const path = isOneModel(url) ? "/v2/rerank" : "/providers/cohere/v2/rerank";
  const members = { top_n: "top_n", max_tokens_per_doc: "max_tokens_per_doc", priority: "priority" };
  return {
    path: () => path,
    toUpstream: (request, options) => ({
      ...toRerankBody(request, members, options),
      model: plainName(request.model),
    }),
    fromUpstream: (body, request, options) => toRerankAnswer(readRanking(body), request, options),
  };
}
