import * as v from "valibot";
import type { RerankDocument, RerankRequest, RerankResponse } from "../../schemas/rerank.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";

/** Text of a document. */
export function documentText(document: RerankDocument): string {
  return typeof document === "string" ? document : document.text;
}

/** Members only some providers take; the gateway itself gives documents back where it is asked for them. */
const optional = [
  ...(["top_n", "return_documents", "max_chunks_per_doc", "max_tokens_per_doc"] as const),
  ...(["priority", "rank_fields", "truncation", "parameters"] as const),
];
type OptionalMember = (typeof optional)[number];
const known: ReadonlySet<string> = new Set(["model", "query", "documents", ...optional]);

/** Members a provider takes, by its names for them. */
export type RerankMembers = { readonly [Name in OptionalMember]?: string };

/** Values of the members a provider takes, under its names; those it does not take are told. */
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

/** Members nobody knows: they go on as they are. */
export function unknownMembers(request: RerankRequest): Record<string, unknown> {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !known.has(name)));
}

/** Turns a request into that of a provider whose body is Cohere's (https://docs.cohere.com/reference/rerank) but for names. */
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

/** What a provider says of one document. */
interface RankedDocument {
  index: number;
  score: number;
  /** As it came back. */
  text?: string | undefined;
}

/** What a rerank answer is made from. */
interface Ranking {
  id?: string | null | undefined;
  model?: string | null | undefined;
  results: readonly RankedDocument[];
  searchUnits?: number | null | undefined;
  totalTokens?: number | null | undefined;
}

const Index = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Counts that can be told: whole numbers that are not negative. */
function counted(name: string, value: number | null | undefined): Record<string, number> {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? { [name]: value } : {};
}

/**
 * A rerank answer in the gateway's shape: sorted, cut to what was asked for, documents where they were.
 *
 * @throws {Error} If a result is of no document of the request.
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

const count = v.nullish(v.number());
const text = v.nullish(v.string());
const EchoedDocument = v.nullish(v.union([v.string(), v.looseObject({ text })]));
const Results = v.nullish(
  v.array(
    v.looseObject({
      index: Index,
      relevance_score: count,
      score: count,
      document: EchoedDocument,
    }),
  ),
);

const Reply = v.looseObject({
  id: text,
  model: text,
  results: Results,
  data: Results,
  usage: v.nullish(v.looseObject({ search_units: count, rerank_units: count, total_tokens: count })),
  meta: v.nullish(
    v.looseObject({
      billed_units: v.nullish(v.looseObject({ search_units: count })),
      tokens: v.nullish(v.looseObject({ input_tokens: count })),
    }),
  ),
});

/**
 * Reads the forms answers have that are Cohere's but for names: results or data, with relevance scores or scores.
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

/** How a provider whose interface is Cohere's but for names reranks. */
interface RerankRules {
  path: string;
  members: RerankMembers;
}

/** Reranking by a provider whose interface is Cohere's but for names. */
export function rerankLikeCohere({ path, members }: RerankRules): OperationAdapter<"rerank"> {
  return {
    path: () => path,
    toUpstream: (request, options) => toRerankBody(request, members, options),
    fromUpstream: (body, request, options) => toRerankAnswer(readRanking(body), request, options),
  };
}
