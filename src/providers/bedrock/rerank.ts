import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import type { RerankDocument, RerankRequest } from "../../schemas/rerank.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { countSearchUnits, documentText, takenMembers, toRerankAnswer, unknownMembers } from "../shared/rerank.ts";
import { type Block, refuseValue } from "./parts.ts";

/**
 * Maximum number of documents per call
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_agent-runtime_Rerank.html).
 */
const maxSources = 1_000;

const Reply = v.looseObject({
  results: v.array(
    v.looseObject({
      index: v.pipe(v.number(), v.integer(), v.minValue(0)),
      relevanceScore: v.number(),
      document: v.nullish(v.looseObject({ textDocument: v.nullish(v.looseObject({ text: v.nullish(v.string()) })) })),
    }),
  ),
});

/** Prefix of the ARNs of a region. */
function partitionOf(region: string): string {
  if (region.startsWith("cn-")) return "aws-cn";
  return region.startsWith("us-gov-") ? "aws-us-gov" : "aws";
}

/**
 * The ARN of a model; an id becomes the ARN of a foundation model in the region.
 *
 * @throws {InvalidRequestError} If the ARN belongs to another region: only the configured region is called.
 */
function toModelArn(model: string, region: string): string {
  if (!model.startsWith("arn:")) return `arn:${partitionOf(region)}:bedrock:${region}::foundation-model/${model}`;
  const [, , service, place] = model.split(":");
  if (service === "bedrock" && place === region) return model;
  return refuseValue(`Cannot rerank with this model: it must be a Bedrock ARN in ${region}`, "model");
}

/** Documents with fields besides the text are sent as JSON objects. */
function toSource(document: RerankDocument): Block {
  const isPlain = typeof document === "string" || Object.keys(document).every((name) => name === "text");
  const source: Block = isPlain
    ? { type: "TEXT", textDocument: { text: documentText(document) } }
    : { type: "JSON", jsonDocument: document };
  return { type: "INLINE", inlineDocumentSource: source };
}

function toBody(request: RerankRequest, region: string, options: ConversionOptions): Block {
  const { model, query, documents, top_n: wanted } = request;
  if (documents.length > maxSources) refuseValue(`Cannot rerank more than ${maxSources} documents`, "documents");
  const { parameters } = takenMembers(request, { top_n: "top_n", parameters: "parameters" }, options);
  const fields = { ...unknownMembers(request), ...(isObject(parameters) && parameters) };
  return {
    queries: [{ type: "TEXT", textQuery: { text: query } }],
    sources: documents.map(toSource),
    rerankingConfiguration: {
      type: "BEDROCK_RERANKING_MODEL",
      bedrockRerankingConfiguration: {
        numberOfResults: Math.min(wanted ?? documents.length, documents.length),
        modelConfiguration: {
          modelArn: toModelArn(model, region),
          ...(Object.keys(fields).length > 0 && { additionalModelRequestFields: fields }),
        },
      },
    },
  };
}

/** Reranking through the agent runtime, whose hosts and models are regional. */
export function createRerank(region: string): OperationAdapter<"rerank"> {
  return {
    path: () => "/rerank",
    toUpstream: (request, options) => toBody(request, region, options),
    fromUpstream(body, request, options) {
      const results = v.parse(Reply, body).results.map(({ index, relevanceScore, document }) => ({
        index,
        score: relevanceScore,
        text: document?.textDocument?.text ?? undefined,
      }));
      return toRerankAnswer({ results, searchUnits: countSearchUnits(request) }, request, options);
    },
  };
}
