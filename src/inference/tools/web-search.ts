import type { CallerContext } from "../../context.ts";
import { isObject, nonEmptyString, stringOf } from "../../lib/json.ts";
import { mapParallel } from "../../lib/parallel.ts";
import type { WebSearchSettings } from "../../routing/server-tools.ts";
import { describePages, type FoundPage, pagesInText, toPages } from "./found-pages.ts";
import { messageOf, type ToolOutcome, textOfResult } from "./mcp-tools.ts";
import { callSearch, callServer } from "./own-requests.ts";

/** Searches at once. */
const maxParallel = 4;
/** Longest query, in characters. */
const maxQuery = 2_000;

/** What a request asks of its searches. */
export interface SearchWish {
  readonly maxUses?: number | undefined;
  readonly maxResults?: number | undefined;
  readonly allowed?: readonly string[];
  readonly blocked?: readonly string[];
  readonly country?: string | undefined;
}

/** Why a search has no result, in the words of the Messages API. */
type SearchError = "max_uses_exceeded" | "invalid_tool_input" | "query_too_long" | "too_many_requests" | "unavailable";

/** What a search found. */
export interface SearchOutcome extends ToolOutcome {
  readonly query: string;
  readonly pages: readonly FoundPage[];
  readonly error?: SearchError;
}

function failed(query: string, error: SearchError, text: string): SearchOutcome {
  return { query, pages: [], error, text: `Cannot search: ${text}`, isError: true };
}

/** The name of the function that a model calls, unless the request has a function of that name. */
export function searchFunctionName(taken: ReadonlySet<unknown>): string {
  return ["web_search", "gateway_web_search"].find((name) => !taken.has(name)) ?? "gateway_web_search_2";
}

/** What the model reads of the function. */
export const searchFunction = {
  description:
    "Searches the web. Call it for facts that may have changed or that you do not know. One question for each call.",
  parameters: {
    type: "object",
    properties: { query: { type: "string", description: "What to search for" } },
    required: ["query"],
    additionalProperties: false,
  },
};

/** Searches the web for the model of one request. */
export class WebSearch {
  /** The pages of all searches, by their addresses. */
  readonly pages = new Map<string, FoundPage>();
  /** Queries of searches that found something or nothing, in their order. */
  readonly queries: string[] = [];
  readonly #settings: WebSearchSettings;
  readonly #wish: SearchWish;
  readonly #context: CallerContext;
  #uses = 0;

  constructor(settings: WebSearchSettings, wish: SearchWish, context: CallerContext) {
    this.#settings = settings;
    this.#wish = wish;
    this.#context = context;
  }

  /** Searches of a round, a few at once; in the order of the calls. What fails becomes text for the model. */
  async callAll(given: readonly unknown[]): Promise<SearchOutcome[]> {
    const most = Math.min(this.#settings.maxUses, this.#wish.maxUses ?? Number.POSITIVE_INFINITY);
    const left = Math.max(0, most - this.#uses);
    this.#uses += given.length;
    const outcomes = await mapParallel(given.slice(0, left), maxParallel, (one) => this.#search(one));
    for (const { pages, query, isError } of outcomes) {
      if (!isError) this.queries.push(query);
      for (const page of pages) if (!this.pages.has(page.url)) this.pages.set(page.url, page);
    }
    const refused = given.slice(left).map((one) => {
      const text = `this request may search ${most} times. Answer with what you have`;
      return failed(queryOf(one) ?? "", "max_uses_exceeded", text);
    });
    return [...outcomes, ...refused];
  }

  async #search(given: unknown): Promise<SearchOutcome> {
    const query = queryOf(given);
    if (query === undefined) return failed("", "invalid_tool_input", "the argument query must be a string");
    if (query.length > maxQuery)
      return failed(query, "query_too_long", `the query has more than ${maxQuery} characters`);
    const { source } = this.#settings;
    try {
      return await ("model" in source ? this.#askModel(query, source.model) : this.#askTool(query, source));
    } catch {
      return failed(query, "unavailable", "the search gave no answer that can be read");
    }
  }

  async #askModel(query: string, model: string): Promise<SearchOutcome> {
    const { allowed = [], blocked = [], country, maxResults } = this.#wish;
    const { maxResults: most, timeoutMs } = this.#settings;
    const hosts = [...allowed, ...blocked.map((host) => `-${host}`)];
    const body = {
      model,
      query,
      max_results: Math.min(most, maxResults ?? most),
      ...(hosts.length > 0 && { search_domain_filter: hosts }),
      ...(country !== undefined && { country }),
    };
    const { status, answer } = await callSearch(body, timeoutMs, this.#context);
    if (status > 299) {
      const error = status === 429 ? "too_many_requests" : "unavailable";
      return failed(query, error, `the search failed with ${status}: ${messageOf(answer)}`);
    }
    return this.#found(query, toPages(answer.results));
  }

  async #askTool(
    query: string,
    { server, tool, argument }: { server: string; tool: string; argument: string },
  ): Promise<SearchOutcome> {
    const params = { name: tool, arguments: { [argument]: query } };
    const { answer } = await callServer(server, { method: "tools/call", params }, this.#context);
    const { result } = answer;
    if (!isObject(result)) return failed(query, "unavailable", messageOf(answer));
    const text = textOfResult(result);
    if (result.isError === true) return failed(query, "unavailable", text.slice(0, this.#settings.maxCharacters));
    const structured = isObject(result.structuredContent) ? toPages(result.structuredContent.results) : [];
    const pages = (structured.length > 0 ? structured : pagesInText(text)).slice(0, this.#settings.maxResults);
    if (pages.some(({ snippet }) => snippet !== "")) return this.#found(query, pages);
    const shown = text.slice(0, this.#settings.maxCharacters * this.#settings.maxResults);
    return {
      query,
      pages,
      text: `${shown}\n\nCite each page that you use as a Markdown link to its URL.`,
      isError: false,
    };
  }

  #found(query: string, all: readonly FoundPage[]): SearchOutcome {
    const most = this.#settings.maxCharacters;
    const pages = all.map((page) => ({ ...page, snippet: page.snippet.slice(0, most).toWellFormed() }));
    return { query, pages, text: describePages(query, pages), isError: false };
  }
}

/** The query of a call. */
function queryOf(given: unknown): string | undefined {
  return isObject(given) ? nonEmptyString(stringOf(given.query)?.trim()) : undefined;
}
