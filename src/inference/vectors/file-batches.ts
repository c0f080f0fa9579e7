import type { CallerContext } from "../../context.ts";
import type { VectorStoreRow } from "../../db/tables/vector-stores.ts";
import { requireBody } from "../../endpoint/body.ts";
import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { type FileBatch, FileBatchRequest } from "../../schemas/vector-stores.ts";
import { toSeconds } from "../files/gateway-store.ts";
import { addFiles, prepareFiles } from "./add-files.ts";
import { listFilesOf, pollHeaders } from "./files.ts";
import { requireLiveStore, requireStore } from "./own-stores.ts";
import { readStoreBody, toFileCounts } from "./stores.ts";

/** A batch is its files: it has no separate record. */
async function showBatch(store: VectorStoreRow, batchId: string, context: CallerContext): Promise<Reply> {
  const { vectorStores, clock } = context.services;
  const now = clock.now();
  const [first] = await vectorStores.store.files(store, now, { limit: 1, order: "asc", batchId });
  if (!first) {
    throw new NotFoundError("Cannot find this batch of files", { code: "file_batch_not_found", param: "batch_id" });
  }
  const sums = await vectorStores.store.counts(store, { ids: [store.id], now, batchId });
  const file_counts = toFileCounts(sums.get(store.id) ?? { byStatus: {}, bytes: 0, chunks: 0 });
  const { in_progress: open, cancelled, failed, total } = file_counts;
  const status = open > 0 ? "in_progress" : cancelled > 0 ? "cancelled" : failed === total ? "failed" : "completed";
  const batch: FileBatch = {
    id: batchId,
    object: "vector_store.files_batch",
    created_at: toSeconds(first.createdAt) ?? 0,
    vector_store_id: store.id,
    status,
    file_counts,
  };
  const reply = jsonReply(batch);
  return open > 0 ? { ...reply, headers: { ...reply.headers, ...pollHeaders } } : reply;
}

/** `POST /vector_stores/{id}/file_batches` */
export async function addStoreFiles(context: CallerContext): Promise<Reply> {
  const store = await requireLiveStore(context);
  const { file_ids, files, attributes, chunking_strategy } = requireBody(
    FileBatchRequest,
    await readStoreBody(context),
  );
  if ((file_ids == null) === (files == null)) {
    throw new InvalidRequestError("Invalid request body: give either file_ids or files", {
      code: "invalid_body",
      param: "file_ids",
    });
  }
  const wishes = files ?? (file_ids ?? []).map((file_id) => ({ file_id, attributes, chunking_strategy }));
  const batchId = `gw_vsfb_${crypto.randomUUID()}`;
  await addFiles(store, await prepareFiles(wishes, context), context, batchId);
  return showBatch(store, batchId, context);
}

/** `GET /vector_stores/{id}/file_batches/{batch_id}` */
export async function retrieveFileBatch(context: CallerContext): Promise<Reply> {
  return showBatch(await requireStore(context), context.params.batch_id ?? "", context);
}

/** `POST /vector_stores/{id}/file_batches/{batch_id}/cancel`: files that have their vectors stay. */
export async function cancelFileBatch(context: CallerContext): Promise<Reply> {
  const store = await requireStore(context);
  const batchId = context.params.batch_id ?? "";
  await context.services.vectorStores.store.cancelBatch(store, batchId);
  context.services.vectorStores.wake();
  return showBatch(store, batchId, context);
}

/** `GET /vector_stores/{id}/file_batches/{batch_id}/files` */
export async function listFileBatchFiles(context: CallerContext): Promise<Reply> {
  return listFilesOf(await requireStore(context), context, context.params.batch_id ?? "");
}
