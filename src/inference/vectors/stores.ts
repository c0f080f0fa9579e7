import type { CallerContext } from "../../context.ts";
import type { StoreCounts } from "../../db/stores/vector-stores.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { VectorStoreRow } from "../../db/tables/vector-stores.ts";
import { readJsonBody, requireBody } from "../../endpoint/body.ts";
import { InvalidRequestError, RateLimitError } from "../../errors.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import type { FileSearchSettings } from "../../routing/server-tools.ts";
import { type VectorStore, VectorStoreChange, VectorStoreRequest } from "../../schemas/vector-stores.ts";
import { usualDimensions } from "../cache/embedding.ts";
import { createStoreId } from "../facts/store-ids.ts";
import { namesOwnSlug, tenantOf, toSeconds } from "../files/gateway-store.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { requireKeyTargets } from "../target/key-models.ts";
import { addFiles, prepareFiles } from "./add-files.ts";
import { expiryOf, hasExpired, readPage, requireStore } from "./own-stores.ts";

/** Most vector stores of a workspace. */
const maxStores = 100;

const noCounts: StoreCounts = { byStatus: {}, bytes: 0, chunks: 0 };

/** How many files have each status. */
export function toFileCounts({ byStatus }: StoreCounts): NonNullable<VectorStore["file_counts"]> {
  const of = (status: string): number => byStatus[status] ?? 0;
  const counts = { in_progress: of("in_progress"), completed: of("completed"), failed: of("failed") };
  const cancelled = of("cancelled");
  return { ...counts, cancelled, total: counts.in_progress + counts.completed + counts.failed + cancelled };
}

/** A store as responses show it. */
function toStoreObject(row: VectorStoreRow, counts: StoreCounts, now: number): VectorStore & { id: string } {
  const file_counts = toFileCounts(counts);
  const { expiresDays: days } = row;
  return {
    id: row.id,
    object: "vector_store",
    created_at: toSeconds(row.createdAt) ?? 0,
    name: row.name,
    usage_bytes: counts.bytes,
    file_counts,
    status: hasExpired(row, now) ? "expired" : file_counts.in_progress > 0 ? "in_progress" : "completed",
    expires_after: days === null ? null : { anchor: "last_active_at", days },
    expires_at: toSeconds(expiryOf(row)),
    last_active_at: toSeconds(row.lastActiveAt),
    metadata: row.metadata as Record<string, string> | null, // written from a request that the schema accepted
    embedding_model: row.embeddings,
  };
}

async function showStore(row: VectorStoreRow, context: CallerContext): Promise<Reply> {
  const { vectorStores, clock } = context.services;
  const now = clock.now();
  const counts = await vectorStores.store.counts(row, { ids: [row.id], now });
  return jsonReply(toStoreObject(row, counts.get(row.id) ?? noCounts, now));
}

/** The body of a request for a store. */
export async function readStoreBody(context: CallerContext): Promise<unknown> {
  const { limits } = context.services;
  return (await readJsonBody(context, limits.jsonBodyBytes, context.services, { empty: "{}" })).value;
}

/** What the config of a request says of vector stores. */
async function readFileSettings(context: CallerContext): Promise<FileSearchSettings | undefined> {
  const text = context.header("config");
  if (text !== null && namesOwnSlug(text)) return undefined;
  return (await readRequestConfig(context)).node.serverTools?.fileSearch;
}

/** What makes the vectors of a new store. */
async function readEmbeddings(
  given: string | null | undefined,
  context: CallerContext,
): Promise<Pick<VectorStoreRow, "embeddings" | "dimensions">> {
  const settings = await readFileSettings(context);
  const embeddings = given ?? settings?.embeddings;
  if (embeddings !== undefined) {
    if (given != null) requireKeyTargets([given], context);
    return { embeddings, dimensions: settings?.dimensions ?? usualDimensions(embeddings) ?? null };
  }
  throw new InvalidRequestError(
    "Cannot make a vector store: name what makes its vectors in embedding_model, or in server_tools.file_search.embeddings " +
      "of the config, as @provider/model",
    { code: "embeddings_required", param: "embedding_model" },
  );
}

/** `POST /vector_stores` */
export async function createStore(context: CallerContext): Promise<Reply> {
  const { clock, vectorStores } = context.services;
  const body = requireBody(VectorStoreRequest, await readStoreBody(context));
  const tenant = tenantOf(context);
  const made = await readEmbeddings(body.embedding_model, context);
  if ((await vectorStores.store.totals(tenant)).stores >= maxStores) {
    throw new RateLimitError(`Cannot make a vector store: this workspace has ${maxStores} already`, {
      code: "too_many_vector_stores",
      headers: { "retry-after": "60" },
    });
  }
  const now = clock.now();
  const row: VectorStoreRow = {
    id: createStoreId(),
    ...tenant,
    name: body.name ?? null,
    metadata: (body.metadata ?? null) as JsonValue, // parsed from JSON
    status: "open",
    ...made,
    length: null,
    expiresDays: body.expires_after?.days ?? null,
    lastActiveAt: now,
    createdAt: now,
  };
  const shared = { chunking_strategy: body.chunking_strategy };
  const wishes = (body.file_ids ?? []).map((file_id) => ({ ...shared, file_id }));
  const files = wishes.length > 0 ? await prepareFiles(wishes, context) : [];
  await vectorStores.create(row);
  if (files.length > 0) await addFiles(row, files, context);
  return showStore(row, context);
}

/** `GET /vector_stores` */
export async function listStores(context: CallerContext): Promise<Reply> {
  const { vectorStores, clock } = context.services;
  const tenant = tenantOf(context);
  let counts: ReadonlyMap<string, StoreCounts> = new Map();
  const now = clock.now();
  const write = await readPage(
    context,
    (id) => requireStore(context, id),
    async (page) => {
      const rows = await vectorStores.store.page(tenant, page);
      if (rows.length > 0) counts = await vectorStores.store.counts(tenant, { ids: rows.map(({ id }) => id), now });
      return rows;
    },
  );
  return jsonReply(write((row) => toStoreObject(row, counts.get(row.id) ?? noCounts, now)));
}

/** `GET /vector_stores/{id}` */
export async function retrieveStore(context: CallerContext): Promise<Reply> {
  return showStore(await requireStore(context), context);
}

/** `POST /vector_stores/{id}` */
export async function changeStore(context: CallerContext): Promise<Reply> {
  const row = await requireStore(context);
  const { name, expires_after, metadata } = requireBody(VectorStoreChange, await readStoreBody(context));
  const changes = {
    ...(name !== undefined && { name }),
    ...(expires_after !== undefined && { expiresDays: expires_after?.days ?? null }),
    ...(metadata !== undefined && { metadata: metadata as JsonValue }), // parsed from JSON
  };
  const { control, vectorStores } = context.services;
  if (Object.keys(changes).length > 0) {
    await vectorStores.store.write([control.stores.vectorStores.update(row, { id: row.id }, changes)]);
  }
  return showStore(await requireStore(context), context);
}

/** `DELETE /vector_stores/{id}` */
export async function deleteStore(context: CallerContext): Promise<Reply> {
  const row = await requireStore(context);
  await context.services.vectorStores.remove(row);
  return jsonReply({ id: row.id, object: "vector_store.deleted", deleted: true });
}
