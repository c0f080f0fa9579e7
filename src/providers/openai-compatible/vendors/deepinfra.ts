import * as v from "valibot";
import type { OperationAdapter } from "../../core/types.ts";
import { modelPath } from "../../shared/hosts.ts";
import { documentText, takenMembers, toRerankAnswer, unknownMembers } from "../../shared/rerank.ts";

const Reply = v.looseObject({ scores: v.array(v.number()), input_tokens: v.nullish(v.number()) });

/**
 * Reranking by DeepInfra (https://deepinfra.com/Qwen/Qwen3-Reranker-0.6B/api): the model stands in the path, and each
 * document comes with its own query.
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
    if (scores.length !== request.documents.length) throw new RangeError("not one score for each document");
    return toRerankAnswer({ results: scores.map((score, index) => ({ index, score })), totalTokens }, request, options);
  },
};
