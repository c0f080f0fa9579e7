import type { CallerContext } from "../../context.ts";
import { fromBase64, toBase64 } from "../../lib/base64.ts";
import { decodeUtf8, isObject, nonEmptyString, objectsIn, stringOf } from "../../lib/json.ts";
import type { WebSearchSettings } from "../../routing/server-tools.ts";
import type { MessagesRequest } from "../../schemas/messages.ts";
import { findCitations } from "./citations.ts";
import { describePages, type FoundPage } from "./found-pages.ts";
import type { ToolOutcome } from "./mcp-tools.ts";
import type { MessagesKit, UseBlock } from "./messages-kit.ts";
import { isMessagesSearch, wishOfMessages } from "./search-wish.ts";
import { type SearchOutcome, searchFunction, searchFunctionName, WebSearch } from "./web-search.ts";

type Item = Readonly<Record<string, unknown>>;

/** What ids of searches begin with that the gateway ran. */
const idPrefix = "srvtoolu_gw_";
/** What contents and places of pages begin with that the gateway wrote. */
const contentMark = "gw.";
/** Characters of a page that a citation repeats. */
const citedLength = 150;

/** Whether a block is a search that the gateway ran. */
export function isOwnSearchUse({ type, id }: Item): boolean {
  return type === "server_tool_use" && typeof id === "string" && id.startsWith(idPrefix);
}

/** Whether a block is the result of a search that the gateway ran. */
export function isOwnSearchResult({ type, tool_use_id: id }: Item): boolean {
  return type === "web_search_tool_result" && typeof id === "string" && id.startsWith(idPrefix);
}

/** What a page said, from its block. */
function readContent(text: unknown): string {
  if (typeof text !== "string" || !text.startsWith(contentMark)) return "";
  try {
    return decodeUtf8(fromBase64(text.slice(contentMark.length))) ?? "";
  } catch {
    return "";
  }
}

function toPage({ title, url, encrypted_content: content, page_age: date }: Item): FoundPage {
  return {
    title: stringOf(title) ?? "",
    url: stringOf(url) ?? "",
    snippet: readContent(content),
    ...(nonEmptyString(date) !== undefined && { date: String(date) }),
  };
}

/** The result of an earlier search, as the model reads it. */
export function toPlainResult({ tool_use_id, content }: Item, query: string): Item {
  if (!Array.isArray(content)) {
    const code = isObject(content) ? String(content.error_code) : "";
    return { type: "tool_result", tool_use_id, is_error: true, content: `Cannot search: ${code}` };
  }
  return { type: "tool_result", tool_use_id, content: describePages(query, objectsIn(content).map(toPage)) };
}

/** A block without citations of pages that the gateway found, which no provider knows. */
export function withoutOwnCitations(block: Item): Item {
  if (!Array.isArray(block.citations)) return block;
  const isOwn = ({ encrypted_index: place }: Item): boolean =>
    typeof place === "string" && place.startsWith(contentMark);
  const { citations, ...rest } = block;
  const others = objectsIn(citations).filter((one) => !isOwn(one));
  return others.length > 0 ? { ...rest, citations: others } : rest;
}

function isSearch(outcome: ToolOutcome): outcome is SearchOutcome {
  return "pages" in outcome;
}

function toResult({ title, url, snippet, date }: FoundPage): Item {
  const encrypted_content = `${contentMark}${toBase64(new TextEncoder().encode(snippet))}`;
  return { type: "web_search_result", title, url, encrypted_content, page_age: date ?? null };
}

/** A search of the web as a tool of a request of the Messages API. */
export class SearchKit implements MessagesKit {
  readonly #name: string;
  readonly #search: WebSearch;
  readonly #mark: string;
  #count = 0;

  constructor(request: MessagesRequest, settings: WebSearchSettings, context: CallerContext) {
    const tools = objectsIn(request.tools);
    const names = tools.filter((tool) => !isMessagesSearch(tool)).map(({ name }) => name);
    this.#name = searchFunctionName(new Set(names));
    this.#search = new WebSearch(settings, wishOfMessages(tools) ?? {}, context);
    this.#mark = context.id.replaceAll(/[^A-Za-z0-9]/g, "");
  }

  serves = isMessagesSearch;

  async open(): Promise<void> {}

  functions(): readonly Item[] {
    const { description, parameters } = searchFunction;
    return [{ name: this.#name, description, input_schema: parameters }];
  }

  has(name: unknown): boolean {
    return name === this.#name;
  }

  callAll(calls: readonly UseBlock[]): Promise<readonly ToolOutcome[]> {
    return this.#search.callAll(calls.map(({ input }) => input));
  }

  toBlocks({ input }: UseBlock, outcome: ToolOutcome): readonly Item[] {
    const id = `${idPrefix}${this.#mark}_${this.#count++}`;
    const found = isSearch(outcome) ? outcome : undefined;
    const error = { type: "web_search_tool_result_error", error_code: found?.error ?? "unavailable" };
    const content = outcome.isError ? error : (found?.pages ?? []).map(toResult);
    return [
      { type: "server_tool_use", id, name: "web_search", input },
      { type: "web_search_tool_result", tool_use_id: id, content },
    ];
  }

  cite(text: string): readonly Item[] {
    return findCitations(text, this.#search.pages).map(({ page: { url, title, snippet } }, index) => ({
      type: "web_search_result_location",
      url,
      title,
      encrypted_index: `${contentMark}${index}`,
      cited_text: snippet.slice(0, citedLength).toWellFormed(),
    }));
  }

  usage(): Item | undefined {
    const count = this.#search.queries.length;
    return count === 0 ? undefined : { server_tool_use: { web_search_requests: count } };
  }
}
