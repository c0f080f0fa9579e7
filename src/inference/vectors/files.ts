import type { CallerContext } from "../../context.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { VectorStoreFileRow, VectorStoreRow } from "../../db/tables/vector-stores.ts";
import { requireBody } from "../../endpoint/body.ts";
import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { type VectorStoreFile, VectorStoreFileChange, VectorStoreFileRequest } from "../../schemas/vector-stores.ts";
import { toSeconds } from "../files/gateway-store.ts";
import { addFiles, prepareFiles } from "./add-files.ts";
import { readPage, requireLiveStore, requireStore } from "./own-stores.ts";
import { readStoreBody } from "./stores.ts";

const fileStates = ["in_progress", "completed", "failed", "cancelled"];
/** Blocks of a page of content: about a megabyte of text. */
const contentBlocks = 32;

/** Clients of OpenAI ask again after this long. */
export const pollHeaders = { "openai-poll-after-ms": "500" };

/** Attributes of a file. */
export function attributesOf({ attributes }: VectorStoreFileRow): VectorStoreFile["attributes"] {
  // written from a request that the schema accepted
  return isObject(attributes) ? (attributes as Record<string, string | number | boolean>) : {};
}

/** A file of a store as responses show it. */
function toStoreFileObject(row: VectorStoreFileRow): VectorStoreFile & { id: string } {
  const { errorCode: code, errorMessage: message } = row;
  return {
    id: row.id,
    object: "vector_store.file",
    created_at: toSeconds(row.createdAt) ?? 0,
    usage_bytes: row.bytes,
    vector_store_id: row.storeId,
    // the column is only written with these
    status: row.status as VectorStoreFile["status"],
    last_error: code === null ? null : { code, message: message ?? "" },
    chunking_strategy: {
      type: "static",
      static: { max_chunk_size_tokens: row.chunkTokens, chunk_overlap_tokens: row.chunkOverlap },
    },
    attributes: attributesOf(row),
  };
}

/**
 * A file of a store.
 *
 * @throws {NotFoundError} 404 if the store does not have it.
 */
async function requireStoreFile(
  store: VectorStoreRow,
  context: CallerContext,
  id = context.params.file_id ?? "",
): Promise<VectorStoreFileRow> {
  const { vectorStores, clock } = context.services;
  const row = await vectorStores.store.file(store, id, clock.now());
  if (row) return row;
  throw new NotFoundError("Cannot find this file in the vector store", {
    code: "vector_store_file_not_found",
    param: "file_id",
  });
}

function showFile(row: VectorStoreFileRow): Reply {
  const reply = jsonReply(toStoreFileObject(row));
  return row.status === "in_progress" ? { ...reply, headers: { ...reply.headers, ...pollHeaders } } : reply;
}

/** `POST /vector_stores/{id}/files` */
export async function addStoreFile(context: CallerContext): Promise<Reply> {
  const store = await requireLiveStore(context);
  const body = requireBody(VectorStoreFileRequest, await readStoreBody(context));
  await addFiles(store, await prepareFiles([body], context), context);
  return showFile(await requireStoreFile(store, context, body.file_id));
}

/** A page of files of a store, or of one batch of them. */
export async function listFilesOf(store: VectorStoreRow, context: CallerContext, batchId?: string): Promise<Reply> {
  const { vectorStores, clock } = context.services;
  const status = context.url.searchParams.get("filter") ?? undefined;
  if (status !== undefined && !fileStates.includes(status)) {
    throw new InvalidRequestError(`Cannot use filter: it is one of ${fileStates.join(", ")}`, {
      param: "filter",
      code: "invalid_query",
    });
  }
  const write = await readPage(
    context,
    (id) => requireStoreFile(store, context, id),
    (page) => vectorStores.store.files(store, clock.now(), { ...page, status, batchId }),
  );
  return jsonReply(write(toStoreFileObject));
}

/** `GET /vector_stores/{id}/files` */
export async function listStoreFiles(context: CallerContext): Promise<Reply> {
  return listFilesOf(await requireStore(context), context);
}

/** `GET /vector_stores/{id}/files/{file_id}` */
export async function retrieveStoreFile(context: CallerContext): Promise<Reply> {
  return showFile(await requireStoreFile(await requireStore(context), context));
}

/** `POST /vector_stores/{id}/files/{file_id}` */
export async function changeStoreFile(context: CallerContext): Promise<Reply> {
  const store = await requireStore(context);
  const row = await requireStoreFile(store, context);
  const { attributes } = requireBody(VectorStoreFileChange, await readStoreBody(context));
  const { control, vectorStores } = context.services;
  const where = { storeId: store.id, id: row.id };
  const changes = { attributes: (attributes ?? null) as JsonValue }; // parsed from JSON
  await vectorStores.store.write([control.stores.vectorStoreFiles.update(store, where, changes)]);
  return showFile(await requireStoreFile(store, context));
}

/** `DELETE /vector_stores/{id}/files/{file_id}` */
export async function removeStoreFile(context: CallerContext): Promise<Reply> {
  const row = await requireStoreFile(await requireStore(context), context);
  await context.services.vectorStores.store.removeFile(row);
  return jsonReply({ id: row.id, object: "vector_store.file.deleted", deleted: true });
}

/** `GET /vector_stores/{id}/files/{file_id}/content`: its chunks, which share text where the strategy says so. */
export async function retrieveStoreFileContent(context: CallerContext): Promise<Reply> {
  const store = await requireStore(context);
  const { id: fileId } = await requireStoreFile(store, context);
  const { vectorStores } = context.services;
  const page = context.url.searchParams.get("page") ?? "0";
  const seq = /^[0-9]{1,6}$/.test(page) ? Number(page) : 0;
  const seal = await vectorStores.sealOf(store);
  const blocks = await vectorStores.store.contents(store, { fileId, seq }, contentBlocks + 1);
  const data: { type: "text"; text: string }[] = [];
  for (const block of blocks.slice(0, contentBlocks)) {
    const contents = await seal.openContents({ fileId, seq: block.seq }, block.contents);
    data.push(...contents.map((text) => ({ type: "text" as const, text })));
  }
  const next = blocks[contentBlocks];
  return jsonReply({
    object: "vector_store.file_content.page",
    data,
    has_more: next !== undefined,
    next_page: next === undefined ? null : String(next.seq),
  });
}
