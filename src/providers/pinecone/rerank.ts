import type { RerankDocument } from "../../schemas/rerank.ts";
import type { OperationAdapter } from "../core/types.ts";
import { readRanking, toRerankAnswer, toRerankBody } from "../shared/rerank.ts";

const members = { top_n: "top_n", rank_fields: "rank_fields", parameters: "parameters" };

/** A document as an object with string values: Pinecone accepts no other values. */
function toRecord(document: RerankDocument): Record<string, string> {
  if (typeof document === "string") return { text: document };
  const entries = Object.entries(document).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}

/** Reranking (https://docs.pinecone.io/reference/api/2025-10/inference/rerank). */
export const rerank: OperationAdapter<"rerank"> = {
  path: () => "/rerank",
  toUpstream: (request, options) => ({
    ...toRerankBody(request, members, options),
    documents: request.documents.map(toRecord),
    // documents are returned by default
    return_documents: request.return_documents === true,
  }),
  fromUpstream: (body, request, options) => toRerankAnswer(readRanking(body), request, options),
};
