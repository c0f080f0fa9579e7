import * as v from "valibot";
import type { OperationAdapter } from "../../core/types.ts";
import { modelPath } from "../../shared/hosts.ts";
import { documentText, takenMembers, toRerankAnswer, unknownMembers } from "../../shared/rerank.ts";
import { tokenCount } from "../../shared/token-count.ts";

const Reply = v.looseObject({ scores: v.array(v.number()), input_tokens: tokenCount });

/**
 * Reranking by DeepInfra (https://deepinfra.com/Qwen/Qwen3-Reranker-0.6B/api). The path contains the model, and each
 * document needs its own copy of the query.
 */
export const deepinfraRerank: OperationAdapter<"rerank"> = {
  path: ({ model }) => `/inference${modelPath(model)}`,
  toUpstream: (request, options) => ({
    ...unknownMembers(request),
    ...takenMembers(request, {}, options),
    queries: request.documents.map(() => request.query),
    documents: request.documents.map(documentText),
  }),
  fromUpstream(body, request, options) {
    const { scores, input_tokens: totalTokens } = v.parse(Reply, body);
    if (scores.length !== request.documents.length)
      throw new RangeError("the number of scores differs from the number of documents");
    return toRerankAnswer({ results: scores.map((score, index) => ({ index, score })), totalTokens }, request, options);
  },
};
