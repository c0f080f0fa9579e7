import { finiteNumber, isObject, nonEmptyString, objectsIn, stringOf } from "../../lib/json.ts";
import type { SearchWish } from "./web-search.ts";

type Item = Readonly<Record<string, unknown>>;

/** Results of a search by the size of its context. */
const resultsBySize: Readonly<Record<string, number>> = { low: 3, medium: 5, high: 10 };

function stringsIn(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((one) => typeof one === "string" && one !== "") : [];
}

/** The country of a place, as two letters. */
function countryOf(place: unknown): string | undefined {
  const inner = isObject(place) && isObject(place.approximate) ? place.approximate : place;
  const country = isObject(inner) ? nonEmptyString(inner.country) : undefined;
  return country !== undefined && /^[A-Za-z]{2}$/.test(country) ? country : undefined;
}

/** What OpenAI's forms ask: `web_search` of the Responses API and `web_search_options` of chats. */
function ofOpenai(asked: Item): SearchWish {
  const filters = isObject(asked.filters) ? asked.filters : {};
  return {
    maxResults: resultsBySize[stringOf(asked.search_context_size) ?? ""],
    allowed: stringsIn(filters.allowed_domains),
    blocked: stringsIn(filters.blocked_domains),
    country: countryOf(asked.user_location),
  };
}

/** Whether a tool of the Responses API or of a chat is a search of the web: `web_search`, its preview, their dated names. */
export function isOpenaiSearch({ type }: Item): boolean {
  return typeof type === "string" && /^web_search(?:_preview)?(?:_\d{4}_\d\d_\d\d)?$/.test(type);
}

/** Whether a tool of the Messages API is a search of the web, in any version. */
export function isMessagesSearch({ type }: Item): boolean {
  return typeof type === "string" && /^web_search_\d{8}$/.test(type);
}

/** What a request of the Responses API asks of searches; undefined if it asks for none. */
export function wishOfResponses(tools: readonly Item[]): SearchWish | undefined {
  const tool = tools.find(isOpenaiSearch);
  return tool && ofOpenai(tool);
}

/** What a request of the Messages API asks of searches; undefined if it asks for none. */
export function wishOfMessages(tools: readonly Item[]): SearchWish | undefined {
  const tool = tools.find(isMessagesSearch);
  if (!tool) return undefined;
  return {
    maxUses: finiteNumber(tool.max_uses),
    allowed: stringsIn(tool.allowed_domains),
    blocked: stringsIn(tool.blocked_domains),
    country: countryOf(tool.user_location),
  };
}

/** What a chat asks of searches; undefined if it asks for none. */
export function wishOfChat({ web_search_options: options, tools }: Item): SearchWish | undefined {
  if (isObject(options)) return ofOpenai(options);
  return wishOfMessages(objectsIn(tools)) ?? wishOfResponses(objectsIn(tools));
}

/** Names of the search in tools of the Gemini API, in both spellings. */
const geminiSearches = [
  "googleSearch",
  "google_search",
  "googleSearchRetrieval",
  "google_search_retrieval",
  "enterpriseWebSearch",
  "enterprise_web_search",
] as const;

/** A tool of the Gemini API without its search. */
export function withoutGeminiSearch(tool: Item): Item {
  return Object.fromEntries(Object.entries(tool).filter(([name]) => !geminiSearches.some((one) => one === name)));
}

/** What a request of the Gemini API asks of searches; undefined if it asks for none. */
export function wishOfGemini({ tools }: Item): SearchWish | undefined {
  const found = objectsIn(tools).flatMap((tool) => geminiSearches.map((name) => tool[name]));
  const asked = found.find((one) => one !== undefined && one !== null);
  if (asked === undefined) return undefined;
  const options = isObject(asked) ? asked : {};
  return { blocked: stringsIn(options.excludeDomains ?? options.exclude_domains) };
}
