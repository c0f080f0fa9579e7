import { headersOfTrace } from "../../context/own-request.ts";
import type { CallerContext } from "../../context.ts";
import type { BlockSeal } from "../../control/vector-stores/block-seal.ts";
import type { VectorStoreFileRow, VectorStoreRow } from "../../db/tables/vector-stores.ts";
import { requireBody } from "../../endpoint/body.ts";
import { InvalidRequestError, UpstreamError } from "../../errors.ts";
import { finiteNumber, isObject } from "../../lib/json.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { withUnits } from "../../logs/usage.ts";
import { type VectorStoreResults, VectorStoreSearch } from "../../schemas/vector-stores.ts";
import { embedStrings } from "./embed.ts";
import { attributesOf } from "./files.ts";
import { type FileFilter, readFilters } from "./filters.ts";
import { findNearest, type NearChunk } from "./nearest.ts";
import { requireLiveStore } from "./own-stores.ts";
import { readStoreBody } from "./stores.ts";

/** Results without `max_num_results`. */
const usualResults = 10;
/** Most queries of a search, and characters of one. */
const maxQueries = 8;
const maxQuery = 4_096;

/** Files of a page while those that match are found. */
const pageFiles = 1_000;

function readQueries({ query }: VectorStoreSearch): string[] {
  const queries = typeof query === "string" ? [query] : query;
  if (queries.length <= maxQueries && queries.every((one) => /\S/.test(one) && one.length <= maxQuery)) return queries;
  throw new InvalidRequestError(
    `Cannot use query: it must be a text of 1 to ${maxQuery} characters, or at most ${maxQueries} of them`,
    { param: "query", code: "invalid_body" },
  );
}

/** The smallest score of `ranking_options`. There is one ranking: names of rankers make no difference. */
function readThreshold({ ranking_options: options }: VectorStoreSearch): number {
  const threshold = isObject(options) ? (options.score_threshold ?? 0) : 0;
  const score = finiteNumber(threshold);
  if (score !== undefined && score >= 0 && score <= 1) return score;
  throw new InvalidRequestError("Cannot use ranking_options: score_threshold must be a number from 0 to 1", {
    param: "ranking_options.score_threshold",
    code: "invalid_body",
  });
}

/**
 * The fields of a search.
 *
 * @throws {InvalidRequestError} 400 naming the field that is wrong.
 */
export function readSearch(value: unknown) {
  const body = requireBody(VectorStoreSearch, value);
  return {
    queries: readQueries(body),
    least: readThreshold(body),
    matches: readFilters(body.filters),
    most: body.max_num_results ?? usualResults,
  };
}

/** Files whose vectors are complete, and whose attributes match. */
async function findFiles(
  store: VectorStoreRow,
  matches: FileFilter,
  { services: { vectorStores, clock } }: CallerContext,
): Promise<ReadonlyMap<string, VectorStoreFileRow>> {
  const found = new Map<string, VectorStoreFileRow>();
  let after: VectorStoreFileRow | undefined;
  for (;;) {
    const page = { limit: pageFiles, order: "asc", after, status: "completed" } as const;
    const rows = await vectorStores.store.files(store, clock.now(), page);
    for (const row of rows) if (matches(attributesOf(row) ?? {})) found.set(row.id, row);
    after = rows.at(-1);
    if (rows.length < pageFiles) return found;
  }
}

/** The vectors of the queries. @throws {UpstreamError} If they cannot be made, or do not fit the store's. */
async function embedQueries(
  queries: readonly string[],
  store: VectorStoreRow,
  context: CallerContext,
): Promise<readonly Float32Array[]> {
  const { services, principal, request } = context;
  const caller = {
    handle: services.handle,
    principal,
    trace: headersOfTrace(context),
    signal: request.signal,
    metadata: context.header("metadata"),
  };
  const embedded = await embedStrings(queries, store, caller);
  if ("problem" in embedded) {
    const message = `Cannot search: the embedding of the query failed: ${embedded.problem}`;
    throw new UpstreamError(embedded.status, message, { code: "embedding_failed" });
  }
  if (embedded.vectors[0]?.length === store.length) return embedded.vectors;
  const message = `Cannot search: ${store.embeddings} makes vectors of another length than those of this store. Make it again`;
  throw new UpstreamError(502, message, { code: "embedding_failed" });
}

/** The text of each chunk; undefined for one that was removed meanwhile. */
async function readContents(
  store: VectorStoreRow,
  chunks: readonly NearChunk[],
  { seal, context }: { seal: BlockSeal; context: CallerContext },
): Promise<(string | undefined)[]> {
  const { vectorStores } = context.services;
  const blocks = new Map<string, Promise<readonly string[]>>();
  const open = async ({ place }: NearChunk): Promise<readonly string[]> => {
    const [block] = await vectorStores.store.contents(store, place, 1);
    return block?.seq === place.seq ? seal.openContents(place, block.contents) : [];
  };
  const contents = chunks.map(async (chunk) => {
    const name = `${chunk.place.fileId} ${chunk.place.seq}`;
    const block = blocks.get(name) ?? open(chunk);
    blocks.set(name, block);
    return (await block)[chunk.index];
  });
  return Promise.all(contents);
}

/** What a search found, best first. */
async function find(
  store: VectorStoreRow,
  { queries, least, matches, most }: ReturnType<typeof readSearch>,
  context: CallerContext,
): Promise<VectorStoreResults["data"]> {
  const { vectorStores } = context.services;
  const files = await findFiles(store, matches, context);
  if (files.size === 0) return [];
  const vectors = await embedQueries(queries, store, context);
  const seal = await vectorStores.sealOf(store);
  const question = { queries: vectors, least, most };
  const fileIds = JSON.stringify([...files.keys()]);
  const chunks = await vectorStores.searches.run(store.workspaceId, () =>
    findNearest(store, { ...question, fileIds }, { store: vectorStores.store, seal }),
  );
  const contents = await readContents(store, chunks, { seal, context });
  return chunks.flatMap(({ place, score }, index) => {
    const [row, text] = [files.get(place.fileId), contents[index]];
    if (!row || text === undefined) return [];
    const content = [{ type: "text", text }];
    return [{ file_id: row.id, filename: row.filename, score, attributes: attributesOf(row), content }];
  });
}

/** `POST /vector_stores/{id}/search` */
export async function searchStore(context: CallerContext): Promise<Reply> {
  const store = await requireLiveStore(context);
  const search = readSearch(await readStoreBody(context));
  const data = await find(store, search, context);
  const { vectorStores, clock } = context.services;
  await vectorStores.store.touch(store, clock.now());
  // the embedding, which is a separate request, has the cost
  context.log.usage = withUnits(null, { units: { file_search: 1 } });
  context.log.charge = 0;
  const search_query = search.queries;
  const answer = { object: "vector_store.search_results.page", search_query, data, has_more: false, next_page: null };
  const reply = jsonReply(answer);
  context.log.responseBody = String(reply.body);
  return reply;
}
