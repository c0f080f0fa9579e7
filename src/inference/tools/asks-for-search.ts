import { isObject, objectsIn } from "../../lib/json.ts";
import { isMessagesSearch, isOpenaiSearch, wishOfGemini } from "./search-wish.ts";

type Item = Readonly<Record<string, unknown>>;

const isSearch = (tool: Item): boolean => isOpenaiSearch(tool) || isMessagesSearch(tool);

/** Whether a request asks for a search of the web, by its operation. Tools that items of an input add are not read. */
const asks = {
  responses: ({ tools }: Item) => objectsIn(tools).some(isOpenaiSearch),
  messages: ({ tools }: Item) => objectsIn(tools).some(isMessagesSearch),
  chat: ({ web_search_options: options, tools }: Item) => isObject(options) || objectsIn(tools).some(isSearch),
  generateContent: (request: Item) => Array.isArray(request.tools) && wishOfGemini(request) !== undefined,
};

/** Operations in which models search the web. */
export type SearchingOperation = keyof typeof asks;

/** Whether models search the web in an operation. */
export function isSearchingOperation(operation: string): operation is SearchingOperation {
  return Object.hasOwn(asks, operation);
}

/** Whether a request asks for a search of the web. */
export function asksForSearch(operation: SearchingOperation, request: Item): boolean {
  return asks[operation](request);
}
