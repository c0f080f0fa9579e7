import * as v from "valibot";
import { plainObject } from "./objects.ts";

const text = v.nullish(v.string());

/** Most results of a search. */
export const maxSearchResults = 20;
/** Longest query, in characters. */
const maxSearchQuery = 2_000;

/** Body of `POST /search`. Unknown fields are forwarded. */
export const SearchRequest = plainObject({
  /** Kind of search at the provider, such as `auto` or `basic`. */
  model: v.string(),
  query: v.pipe(v.string(), v.regex(/\S/, "must not be empty"), v.maxLength(maxSearchQuery)),
  max_results: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxSearchResults))),
  /** Hosts of results. With a minus sign in front: hosts that have none. */
  search_domain_filter: v.nullish(v.pipe(v.array(v.pipe(v.string(), v.maxLength(256))), v.maxLength(200))),
  /** Two letters (ISO 3166-1). */
  country: v.nullish(v.pipe(v.string(), v.regex(/^[A-Za-z]{2}$/))),
});
export type SearchRequest = v.InferOutput<typeof SearchRequest>;

/** A page that a search found. */
export const SearchResult = v.looseObject({
  title: v.string(),
  url: v.string(),
  /** What the page says about the query. */
  snippet: v.string(),
  /** When the page was published. */
  date: text,
});
export type SearchResult = v.InferOutput<typeof SearchResult>;

/** Response of `POST /search`: the best result first. */
export const SearchResponse = v.looseObject({
  object: v.literal("search"),
  id: v.string(),
  model: v.string(),
  provider: v.optional(v.string()),
  results: v.array(SearchResult),
  usage: v.optional(
    v.looseObject({
      /** US dollars, where the provider reports them. */
      cost: v.optional(v.number()),
    }),
  ),
});
export type SearchResponse = v.InferOutput<typeof SearchResponse>;
