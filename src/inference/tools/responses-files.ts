import type { CallerContext } from "../../context.ts";
import { isOwnItemId } from "../../dialects/responses/ids.ts";
import { GatewayError, InvalidRequestError, NotFoundError } from "../../errors.ts";
import { finiteNumber, objectsIn } from "../../lib/json.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { isOwnFileTool, isOwnStoreId, storesOf } from "../facts/store-ids.ts";
import { requireLiveStore } from "../vectors/own-stores.ts";
import { readSearch } from "../vectors/search.ts";
import { MarkCutter } from "./file-marks.ts";
import {
  describePassages,
  FileSearch,
  fileFunction,
  queriesOf,
  type StoreWish,
  showPassage,
  toPassages,
} from "./file-search.ts";
import type { ToolOutcome } from "./mcp-tools.ts";
import type { OwnCall, ResponsesKit } from "./responses-kit.ts";

type Item = Readonly<Record<string, unknown>>;

/** Results of a search without `max_num_results`: https://platform.openai.com/docs/guides/tools-file-search */
const usualResults = 20;
/** Most vector stores of a request. */
const maxStores = 10;

/** An error as one of a part of the request. */
function within(error: unknown, path: string): unknown {
  if (!(error instanceof GatewayError)) return error;
  const { message, code, param } = error;
  const field = param === "vector_store_id" || param === null ? "vector_store_ids" : param;
  const options = { param: `${path}.${field}`, cause: error, ...(code !== null && { code }) };
  if (error instanceof NotFoundError) return new NotFoundError(message, options);
  return error instanceof InvalidRequestError ? new InvalidRequestError(message, options) : error;
}

/**
 * What a tool searches.
 *
 * @throws {GatewayError} 400 or 404 naming its field.
 */
async function readTool(tool: Item, path: string, context: CallerContext): Promise<StoreWish[]> {
  const ids = [...new Set(storesOf(tool))];
  const own = ids.filter(isOwnStoreId);
  if (own.length < ids.length) {
    throw new InvalidRequestError(
      `Cannot use ${path}.vector_store_ids: it names vector stores of the gateway and others. Name them in separate tools`,
      { param: `${path}.vector_store_ids`, code: "mixed_vector_stores" },
    );
  }
  const { filters, ranking_options, max_num_results } = tool;
  const most = finiteNumber(max_num_results) ?? usualResults;
  const options = { filters, ranking_options, max_num_results: max_num_results ?? usualResults };
  try {
    readSearch({ ...options, query: "any" });
    for (const id of own) await requireLiveStore(context, id);
  } catch (error) {
    throw within(error, path);
  }
  return own.map((storeId) => ({ storeId, options, most }));
}

/**
 * What the tools of a request search of the gateway's vector stores.
 *
 * @param tools Those of the request, then those that its input adds.
 * @throws {GatewayError} 400 or 404 naming the field of the tool.
 */
async function readTools(
  tools: readonly Item[],
  { request, context }: { request: ResponsesRequest; context: CallerContext },
): Promise<StoreWish[]> {
  const wishes: StoreWish[] = [];
  const count = objectsIn(request.tools).length;
  const named = tools.filter(isOwnFileTool).map((tool) => new Set(storesOf(tool)).size);
  if (named.reduce((sum, size) => sum + size, 0) > maxStores) {
    throw new InvalidRequestError(`Cannot search more than ${maxStores} vector stores in one request`, {
      param: "tools",
      code: "too_many_vector_stores",
    });
  }
  for (const [index, tool] of tools.entries()) {
    if (!isOwnFileTool(tool)) continue;
    wishes.push(...(await readTool(tool, index < count ? `tools.${index}` : "input.tools", context)));
  }
  return wishes;
}

/** Whether an item is a search of files that the gateway ran. */
export function isOwnFileSearch({ type, id }: Item): boolean {
  return type === "file_search_call" && isOwnItemId(id);
}

/** A search of an earlier response as a call of a function, with what it found. */
function toCall({ id, queries, results }: Item, name: string, describe: (asked: string[]) => string): Item[] {
  const call_id = `call_${String(id)}`;
  const asked = queriesOf({ queries });
  const unknown = "The results of this search are not in the conversation. Search again if you need them.";
  const output = Array.isArray(results) ? describe(asked) : unknown;
  return [
    { type: "function_call", call_id, name, arguments: JSON.stringify({ queries: asked }) },
    { type: "function_call_output", call_id, output },
  ];
}

/** A search of an earlier response as a call of a function, for a request that cannot search. */
export function toPlainFileSearch(item: Item): Item[] {
  return toCall(item, "file_search", (asked) => {
    return describePassages(asked, toPassages(item.results).map(showPassage));
  });
}

/** Searches of the gateway's vector stores as a tool of a request of the Responses API. */
export class FileKit implements ResponsesKit {
  readonly prefix = "fs";
  readonly included = "file_search_call.";
  readonly #name: string;
  readonly #search: FileSearch;
  readonly #isIncluded: boolean;

  private constructor(request: ResponsesRequest, name: string, search: FileSearch) {
    this.#name = name;
    this.#search = search;
    this.#isIncluded = request.include?.includes("file_search_call.results") === true;
  }

  /**
   * The kit of a request.
   *
   * @param tools Those of the request, then those that its input adds.
   * @throws {GatewayError} 400 or 404 for a store that cannot be searched, naming the field of the tool.
   */
  static async of(request: ResponsesRequest, tools: readonly Item[], context: CallerContext): Promise<FileKit> {
    const wishes = await readTools(tools, { request, context });
    // neither a function of the client nor the search of the provider, which may stand beside it
    const isTaken = tools.some((tool) => tool.name === "file_search" || storesOf(tool).some((id) => !isOwnStoreId(id)));
    const name = isTaken ? "gateway_file_search" : "file_search";
    return new FileKit(request, name, new FileSearch(wishes, context));
  }

  serves = isOwnFileTool;

  async open(): Promise<readonly Item[]> {
    return [];
  }

  functions(): readonly Item[] {
    return [{ type: "function", name: this.#name, ...fileFunction, strict: false }];
  }

  has(name: unknown): boolean {
    return name === this.#name;
  }

  toChoice({ type }: Item): unknown {
    return type === "file_search" ? { type: "function", name: this.#name } : undefined;
  }

  callAll(calls: readonly OwnCall[]): Promise<readonly ToolOutcome[]> {
    return this.#search.callAll(calls.map(({ given }) => given));
  }

  toItem({ id, given }: OwnCall, outcome: ToolOutcome | undefined): Item {
    const results = outcome && "passages" in outcome && !outcome.isError ? outcome.passages : null;
    const status = outcome ? (outcome.isError ? "failed" : "completed") : "in_progress";
    return { id, type: "file_search_call", status, queries: queriesOf(given), results };
  }

  toShown(item: Item): Item {
    return this.#isIncluded ? item : { ...item, results: null };
  }

  toPlain(item: Item): Item[] | undefined {
    if (!isOwnFileSearch(item)) return undefined;
    return toCall(item, this.#name, (asked) => this.#search.describe(asked, toPassages(item.results)));
  }

  toBegun(item: Item, output_index: number): readonly Item[] {
    const place = { output_index, item_id: item.id };
    return [
      { type: "response.output_item.added", output_index, item },
      { type: "response.file_search_call.in_progress", ...place },
      { type: "response.file_search_call.searching", ...place },
    ];
  }

  toEnded(item: Item, output_index: number): readonly Item[] {
    return [
      { type: "response.file_search_call.completed", output_index, item_id: item.id },
      { type: "response.output_item.done", output_index, item },
    ];
  }

  cutter(): MarkCutter | undefined {
    const { files } = this.#search;
    return files.size === 0 ? undefined : new MarkCutter(files);
  }
}
