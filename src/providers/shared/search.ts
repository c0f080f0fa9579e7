import * as v from "valibot";
import { nonEmptyString } from "../../lib/json.ts";
import type { SearchRequest, SearchResponse, SearchResult } from "../../schemas/search.ts";
import type { ConversionOptions } from "../core/types.ts";

const known: ReadonlySet<string> = new Set(["model", "query", "max_results", "search_domain_filter", "country"]);
/** Results of a request that names no number. */
const defaultResults = 5;
/** Most pages of an answer that are read. Providers find a hundred at most. */
const maxPages = 1_000;

/** Unknown fields, which are forwarded unchanged. */
export function unknownMembers(request: SearchRequest): Record<string, unknown> {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !known.has(name)));
}

/** How many results a request asks for. */
export function countOf({ max_results: count }: SearchRequest): number {
  return count ?? defaultResults;
}

/** Hosts whose pages may be found, and hosts whose pages may not. */
interface Hosts {
  readonly allowed: readonly string[];
  readonly blocked: readonly string[];
}

/** The hosts of a request. */
export function hostsOf({ search_domain_filter: filter }: SearchRequest): Hosts {
  const all = filter ?? [];
  return {
    allowed: all.filter((host) => !host.startsWith("-")),
    blocked: all.filter((host) => host.startsWith("-")).map((host) => host.slice(1)),
  };
}

/** The query of a request, with its hosts in the operators that search engines have. */
export function queryWithHosts(request: SearchRequest): string {
  const { allowed, blocked } = hostsOf(request);
  const only = allowed.map((host) => `site:${host}`).join(" OR ");
  const parts = [request.query, ...(only === "" ? [] : [`(${only})`]), ...blocked.map((host) => `-site:${host}`)];
  return parts.join(" ");
}

/** Whether the address of a page belongs to a host, which may have a path. */
function isBelow(url: URL, entry: string): boolean {
  const [host = "", ...path] = entry
    .toLowerCase()
    .replace(/^https?:\/\//, "")
    .split("/");
  const isHost = url.hostname === host || url.hostname.endsWith(`.${host}`);
  return isHost && url.pathname.slice(1).startsWith(path.join("/"));
}

/** Whether a page may be found: providers take the hosts of a request as a wish. */
function isAllowed(address: string, { allowed, blocked }: Hosts): boolean {
  const url = URL.parse(address);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) return false;
  if (blocked.some((host) => isBelow(url, host))) return false;
  return allowed.length === 0 || allowed.some((host) => isBelow(url, host));
}

/** A page as its provider describes it. */
interface Page {
  title?: string | null | undefined;
  url?: string | null | undefined;
  snippet?: string | null | undefined;
  date?: string | null | undefined;
}

function toResult({ title, url, snippet, date }: Page): SearchResult | undefined {
  const address = nonEmptyString(url);
  if (address === undefined) return undefined;
  return {
    title: nonEmptyString(title) ?? address,
    url: address,
    snippet: snippet ?? "",
    ...(nonEmptyString(date) !== undefined && { date }),
  };
}

/** A response in the gateway's shape: pages of allowed hosts, at most as many as requested. */
export function toSearchAnswer(
  pages: readonly Page[],
  request: SearchRequest,
  { answerId }: Pick<ConversionOptions, "answerId">,
): SearchResponse {
  const hosts = hostsOf(request);
  const read = pages.slice(0, maxPages);
  const results = read.flatMap((page) => toResult(page) ?? []).filter(({ url }) => isAllowed(url, hosts));
  return {
    object: "search",
    id: (answerId ?? "0").replace(/^(?:chatcmpl-)?/, "search-"),
    model: request.model,
    results: results.slice(0, countOf(request)),
  };
}

/** A string that may be missing. */
export const text = v.nullish(v.string());
