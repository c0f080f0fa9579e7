import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import type { RerankDocument, RerankRequest } from "../../schemas/rerank.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { modelName } from "../google/model.ts";
import { countSearchUnits, documentText, takenMembers, toRerankAnswer, unknownMembers } from "../shared/rerank.ts";
import { locationPath, projectOf, type VertexSettings } from "./settings.ts";

/** Maximum number of records per call. */
const maxRecords = 200;

const Reply = v.looseObject({
  records: v.array(v.looseObject({ id: v.pipe(v.string(), v.regex(/^\d{1,9}$/)), score: v.number() })),
});

/** A record's id is the index of its document. */
function toRecord(document: RerankDocument, index: number): object {
  const title: unknown = typeof document === "string" ? undefined : document.title;
  return { id: String(index), ...(typeof title === "string" && { title }), content: documentText(document) };
}

function toBody(request: RerankRequest, options: ConversionOptions): object {
  const { model, query, documents, return_documents: returned } = request;
  if (documents.length > maxRecords) {
    throw new InvalidRequestError(`Cannot call vertex-ai: it ranks at most ${maxRecords} documents in one request`, {
      param: "documents",
      code: "unsupported_parameter",
    });
  }
  return {
    ...unknownMembers(request),
    model: modelName(model),
    query,
    records: documents.map(toRecord),
    ...takenMembers(request, { top_n: "topN" }, options),
    ignoreRecordDetailsInResponse: returned !== true,
  };
}

/** Reranking (https://cloud.google.com/generative-ai-app-builder/docs/ranking): a separate service without regions. */
export function createRerank(settings: VertexSettings): OperationAdapter<"rerank"> {
  return {
    path: () => `${locationPath({ ...settings, region: "global" })}/rankingConfigs/default_ranking_config:rank`,
    headers: () => ({ "x-goog-user-project": projectOf(settings) ?? "" }),
    toUpstream: toBody,
    fromUpstream(body, request, options) {
      const results = v.parse(Reply, body).records.map(({ id, score }) => ({ index: Number(id), score }));
      return toRerankAnswer({ results, searchUnits: countSearchUnits(request) }, request, options);
    },
  };
}
