import * as v from "valibot";
import type { RerankDocument, RerankRequest, RerankResponse } from "../../schemas/rerank.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { tokenCount } from "./token-count.ts";

/** Text of a document. */
export function documentText(document: RerankDocument): string {
  return typeof document === "string" ? document : document.text;
}

/** Fields only some providers support; the gateway itself returns documents when they are requested. */
const optional = [
  ...(["top_n", "return_documents", "max_chunks_per_doc", "max_tokens_per_doc"] as const),
  ...(["priority", "rank_fields", "truncation", "parameters"] as const),
];
type OptionalMember = (typeof optional)[number];
const known: ReadonlySet<string> = new Set(["model", "query", "documents", ...optional]);

/** Fields a provider supports, with its names for them. */
export type RerankMembers = { readonly [Name in OptionalMember]?: string };

/** Values of the fields a provider supports, under its names; other fields are reported as dropped. */
export function takenMembers(
  request: RerankRequest,
  members: RerankMembers,
  { drop }: ConversionOptions,
): Record<string, unknown> {
  const taken: Record<string, unknown> = {};
  for (const name of optional) {
    const value = request[name];
    if (value === undefined || value === null) continue;
    const there = members[name];
    if (there !== undefined) taken[there] = value;
    else if (name !== "top_n" && name !== "return_documents") drop(name);
  }
  return taken;
}

/** Unknown fields, which are forwarded unchanged. */
export function unknownMembers(request: RerankRequest): Record<string, unknown> {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !known.has(name)));
}

/**
 * Converts a request for a provider whose body is Cohere's (https://docs.cohere.com/reference/rerank) with other names.
 */
export function toRerankBody(
  request: RerankRequest,
  members: RerankMembers,
  options: ConversionOptions,
): Record<string, unknown> {
  return {
    ...unknownMembers(request),
    model: request.model,
    query: request.query,
    documents: request.documents.map(documentText),
    ...takenMembers(request, members, options),
  };
}

/** A provider's result for one document. */
interface RankedDocument {
  index: number;
  score: number;
  /** The document as the provider returned it. */
  text?: string | undefined;
}

/** What a rerank response is made from. */
interface Ranking {
  id?: string | null | undefined;
  model?: string | null | undefined;
  results: readonly RankedDocument[];
  searchUnits?: number | null | undefined;
  totalTokens?: number | null | undefined;
}

/** Documents of one search unit. */
const documentsOfUnit = 100;

/**
 * Search units of a request, for providers that bill them and report none: one for each 100 documents
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-pricing.html).
 */
export function countSearchUnits({ documents }: Pick<RerankRequest, "documents">): number {
  return Math.ceil(documents.length / documentsOfUnit);
}

const Index = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Valid token counts: whole numbers that are not negative. */
function counted(name: string, value: number | null | undefined): Record<string, number> {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? { [name]: value } : {};
}

/**
 * A rerank response in the gateway's shape: sorted, cut to the requested number, with documents when requested.
 *
 * @throws {Error} If a result refers to no document of the request.
 */
export function toRerankAnswer(
  { id, model, results, searchUnits, totalTokens }: Ranking,
  request: RerankRequest,
  { answerId }: Pick<ConversionOptions, "answerId">,
): RerankResponse {
  const { documents, return_documents: returned, top_n: wanted } = request;
  const sorted = results.toSorted((one, other) => other.score - one.score || one.index - other.index);
  const usage = { ...counted("search_units", searchUnits), ...counted("total_tokens", totalTokens) };
  return {
    object: "list",
    id: id || (answerId ?? "0").replace(/^(?:chatcmpl-)?/, "rerank-"),
    model: model || request.model,
    results: sorted.slice(0, wanted ?? undefined).map(({ index, score, text }) => {
      const document = documents[index];
      if (document === undefined) throw new RangeError(`no document ${index}`);
      const shown = returned === true && { document: { text: text ?? documentText(document) } };
      return { index, relevance_score: score, ...shown };
    }),
    ...(Object.keys(usage).length > 0 && { usage }),
  };
}

const number = v.nullish(v.number());
const text = v.nullish(v.string());
const EchoedDocument = v.nullish(v.union([v.string(), v.looseObject({ text })]));
const Results = v.nullish(
  v.array(
    v.looseObject({
      index: Index,
      relevance_score: number,
      score: number,
      document: EchoedDocument,
    }),
  ),
);

const Reply = v.looseObject({
  id: text,
  model: text,
  results: Results,
  data: Results,
  usage: v.nullish(v.looseObject({ search_units: tokenCount, rerank_units: tokenCount, total_tokens: tokenCount })),
  meta: v.nullish(
    v.looseObject({
      billed_units: v.nullish(v.looseObject({ search_units: tokenCount })),
      tokens: v.nullish(v.looseObject({ input_tokens: tokenCount })),
    }),
  ),
});

/**
 * Reads responses like Cohere's with other names: results or data, with relevance scores or scores.
 *
 * @throws {Error} If there are no results, or one has no score.
 */
export function readRanking(body: unknown): Ranking {
  const { id, model, results, data, usage, meta } = v.parse(Reply, body);
  const list = results ?? data;
  if (!list) throw new TypeError("no results");
  return {
    id,
    model,
    searchUnits: usage?.search_units ?? usage?.rerank_units ?? meta?.billed_units?.search_units,
    totalTokens: usage?.total_tokens ?? meta?.tokens?.input_tokens,
    results: list.map(({ index, relevance_score, score, document }) => ({
      index,
      score: v.parse(v.number(), relevance_score ?? score),
      text: (typeof document === "string" ? document : document?.text) ?? undefined,
    })),
  };
}

/** How a provider whose rerank API is like Cohere's is called. */
interface RerankRules {
  path: string;
  members: RerankMembers;
}

/** Reranking by a provider whose API is like Cohere's. */
export function rerankLikeCohere({ path, members }: RerankRules): OperationAdapter<"rerank"> {
  return {
    path: () => path,
    toUpstream: (request, options) => toRerankBody(request, members, options),
    fromUpstream: (body, request, options) => toRerankAnswer(readRanking(body), request, options),
  };
}
