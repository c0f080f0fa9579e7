import * as v from "valibot";
import { plainObject } from "./objects.ts";

/** A string, or an object with a `text` and any other fields. */
export const RerankDocument = v.union([v.string(), v.looseObject({ text: v.string() })]);
export type RerankDocument = v.InferOutput<typeof RerankDocument>;

const integer = v.nullish(v.pipe(v.number(), v.integer()));
const positiveInteger = v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1)));

/** Body of `POST /rerank`. Unknown fields are forwarded. */
export const RerankRequest = plainObject({
  model: v.string(),
  query: v.pipe(v.string(), v.minLength(1)),
  documents: v.pipe(v.array(RerankDocument), v.minLength(1)),
  /** Most results; absent: all documents. */
  top_n: positiveInteger,
  return_documents: v.nullish(v.boolean()),
  max_chunks_per_doc: integer,
  max_tokens_per_doc: positiveInteger,
  priority: v.nullish(v.number()),
  rank_fields: v.nullish(v.array(v.string())),
  truncation: v.nullish(v.boolean()),
  parameters: v.nullish(plainObject({})),
});
export type RerankRequest = v.InferOutput<typeof RerankRequest>;

/** Response of `POST /rerank`: the most relevant document first. */
export const RerankResponse = v.looseObject({
  object: v.literal("list"),
  id: v.string(),
  model: v.string(),
  provider: v.optional(v.string()),
  results: v.array(
    v.looseObject({
      /** Index of the document in the request. */
      index: v.pipe(v.number(), v.integer(), v.minValue(0)),
      relevance_score: v.number(),
      document: v.optional(v.looseObject({ text: v.string() })),
    }),
  ),
  usage: v.optional(
    v.looseObject({
      search_units: v.optional(v.pipe(v.number(), v.integer())),
      /** For providers that bill tokens instead. */
      total_tokens: v.optional(v.pipe(v.number(), v.integer())),
    }),
  ),
});
export type RerankResponse = v.InferOutput<typeof RerankResponse>;
