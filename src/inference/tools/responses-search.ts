import type { CallerContext } from "../../context.ts";
import { isOwnItemId } from "../../dialects/responses/ids.ts";
import { isObject, objectsIn, stringOf } from "../../lib/json.ts";
import type { WebSearchSettings } from "../../routing/server-tools.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { findCitations } from "./citations.ts";
import { describePages, toPages } from "./found-pages.ts";
import type { ToolOutcome } from "./mcp-tools.ts";
import type { OwnCall, ResponsesKit } from "./responses-kit.ts";
import { isOpenaiSearch, wishOfResponses } from "./search-wish.ts";
import { type SearchOutcome, searchFunction, searchFunctionName, WebSearch } from "./web-search.ts";

type Item = Readonly<Record<string, unknown>>;

/** Tools of a request, and those that items of its input add. */
export function toolsOf({ tools, input }: Pick<ResponsesRequest, "tools" | "input">): Item[] {
  const added = Array.isArray(input) ? input.filter(({ type }) => type === "additional_tools") : [];
  return [...objectsIn(tools), ...added.flatMap((item) => objectsIn(item.tools))];
}

/** Whether an item is a search that the gateway ran. */
export function isOwnSearch({ type, id }: Item): boolean {
  return type === "web_search_call" && isOwnItemId(id);
}

/** A search of an earlier response as a call of a function. Its results are known where the response had them. */
export function toPlainSearch({ id, action, results }: Item): Item[] {
  const query = isObject(action) ? (stringOf(action.query) ?? "") : "";
  const call_id = `call_${String(id)}`;
  const known = Array.isArray(results) ? describePages(query, toPages(results)) : undefined;
  const output = known ?? "The results of this search are not in the conversation. Search again if you need them.";
  return [
    { type: "function_call", call_id, name: "web_search", arguments: JSON.stringify({ query }) },
    { type: "function_call_output", call_id, output },
  ];
}

/** Whether an outcome is one of a search. */
function isSearch(outcome: ToolOutcome | undefined): outcome is SearchOutcome {
  return outcome !== undefined && "pages" in outcome;
}

/** A search of the web as a tool of a request of the Responses API. */
export class SearchKit implements ResponsesKit {
  readonly prefix = "ws";
  readonly included = "web_search_call.";
  readonly #name: string;
  readonly #search: WebSearch;
  readonly #included: ReadonlySet<string>;

  constructor(request: ResponsesRequest, settings: WebSearchSettings, context: CallerContext) {
    const tools = toolsOf(request);
    this.#name = searchFunctionName(new Set(tools.map(({ name }) => name)));
    this.#search = new WebSearch(settings, wishOfResponses(tools) ?? {}, context);
    this.#included = new Set(request.include ?? []);
  }

  serves = isOpenaiSearch;

  async open(): Promise<readonly Item[]> {
    return [];
  }

  functions(): readonly Item[] {
    return [{ type: "function", name: this.#name, ...searchFunction, strict: false }];
  }

  has(name: unknown): boolean {
    return name === this.#name;
  }

  toChoice(choice: Item): unknown {
    return isOpenaiSearch(choice) ? { type: "function", name: this.#name } : undefined;
  }

  callAll(calls: readonly OwnCall[]): Promise<readonly ToolOutcome[]> {
    return this.#search.callAll(calls.map(({ given }) => given));
  }

  toItem({ id, given }: OwnCall, outcome: ToolOutcome | undefined): Item {
    const query = isObject(given) ? (stringOf(given.query) ?? "") : "";
    const pages = isSearch(outcome) ? outcome.pages : [];
    return {
      id,
      type: "web_search_call",
      status: outcome ? (outcome.isError ? "failed" : "completed") : "in_progress",
      action: { type: "search", query, queries: [query], sources: pages.map(({ url }) => ({ type: "url", url })) },
      ...(outcome && !outcome.isError && { results: pages }),
    };
  }

  toShown({ results, ...item }: Item): Item {
    const { sources: _, ...action } = isObject(item.action) ? item.action : {};
    return {
      ...item,
      ...(!this.#included.has("web_search_call.action.sources") && { action }),
      ...(this.#included.has("web_search_call.results") && results !== undefined && { results }),
    };
  }

  toBegun(item: Item, output_index: number): readonly Item[] {
    const place = { output_index, item_id: item.id };
    return [
      { type: "response.output_item.added", output_index, item },
      { type: "response.web_search_call.in_progress", ...place },
      { type: "response.web_search_call.searching", ...place },
    ];
  }

  toEnded(item: Item, output_index: number): readonly Item[] {
    return [
      { type: "response.web_search_call.completed", output_index, item_id: item.id },
      { type: "response.output_item.done", output_index, item },
    ];
  }

  annotate(text: string): readonly Item[] {
    return findCitations(text, this.#search.pages).map(({ page: { url, title }, start, end }) => {
      return { type: "url_citation", start_index: start, end_index: end, url, title };
    });
  }
}
