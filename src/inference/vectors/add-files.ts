import type { CallerContext } from "../../context.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { GatewayFileRow } from "../../db/tables/files.ts";
import type { VectorStoreFileRow, VectorStoreRow } from "../../db/tables/vector-stores.ts";
import { BudgetError, InvalidRequestError, PermissionError } from "../../errors.ts";
import type { VectorStoreFileRequest } from "../../schemas/vector-stores.ts";
import { requireFile } from "../files/files.ts";
import { requireReadable, UnreadableFile } from "./read-text.ts";

/** Most files of a store, and most bytes of the stores of a workspace. */
const maxFiles = 5_000;
const maxBytes = 4 * 2 ** 30;

/** Chunks without a strategy (https://platform.openai.com/docs/api-reference/vector-stores/create). */
const usualChunks = { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 };
/** Purposes of files that stores take. */
const purposes: readonly string[] = ["assistants", "user_data"];

/** What a request says of a file. */
type FileWish = Pick<VectorStoreFileRequest, "file_id" | "attributes" | "chunking_strategy">;

/** A file that can be added. */
interface PreparedFile {
  readonly file: GatewayFileRow;
  readonly columns: Pick<VectorStoreFileRow, "attributes" | "chunkTokens" | "chunkOverlap">;
}

function readStrategy(strategy: FileWish["chunking_strategy"]): typeof usualChunks {
  const given = strategy?.type === "static" ? strategy.static : usualChunks;
  if (given.chunk_overlap_tokens * 2 <= given.max_chunk_size_tokens) return given;
  throw new InvalidRequestError("Cannot use chunking_strategy: chunks may share half of their tokens at most", {
    param: "chunking_strategy",
    code: "invalid_body",
  });
}

async function prepareFile(wish: FileWish, context: CallerContext): Promise<PreparedFile> {
  const chunks = readStrategy(wish.chunking_strategy);
  const file = await requireFile(wish.file_id, context);
  if (!purposes.includes(file.purpose)) {
    throw new InvalidRequestError(
      `Cannot add this file: its purpose is ${file.purpose}, and must be ${purposes.join(" or ")}`,
      { code: "invalid_file_purpose", param: "file_id" },
    );
  }
  try {
    requireReadable(file);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    throw new InvalidRequestError(error.message, { code: error.code, param: "file_id", cause: error });
  }
  return {
    file,
    columns: {
      attributes: (wish.attributes ?? null) as JsonValue, // parsed from JSON
      chunkTokens: chunks.max_chunk_size_tokens,
      chunkOverlap: chunks.chunk_overlap_tokens,
    },
  };
}

/**
 * Files that a request adds, each of them once.
 *
 * @throws {GatewayError} 400 and 404 for files that cannot be added.
 */
export async function prepareFiles(wishes: readonly FileWish[], context: CallerContext): Promise<PreparedFile[]> {
  const once = new Map(wishes.map((wish) => [wish.file_id, wish]));
  const prepared: PreparedFile[] = [];
  for (const wish of once.values()) prepared.push(await prepareFile(wish, context));
  return prepared;
}

/** The key that embeddings are asked for with. It is looked up again while they are made, which a token could not be. */
async function requireKey({ principal, services: { authenticator } }: CallerContext): Promise<string> {
  if (await authenticator.ofKey(principal.keyId)) return principal.keyId;
  throw new PermissionError("Forbidden! Adding files to a vector store needs an API key, not a token", {
    code: "AB03",
  });
}

/** @throws {BudgetError} 412 if the store or the workspace is full. */
async function requireRoom(store: VectorStoreRow, count: number, context: CallerContext): Promise<void> {
  const { vectorStores, clock } = context.services;
  const [counts, totals] = await Promise.all([
    vectorStores.store.counts(store, { ids: [store.id], now: clock.now() }),
    vectorStores.store.totals(store),
  ]);
  const held = Object.values(counts.get(store.id)?.byStatus ?? {}).reduce((sum, one) => sum + one, 0);
  if (held + count > maxFiles) {
    throw new BudgetError(`Cannot add files: a vector store has at most ${maxFiles}`, { code: "vector_store_full" });
  }
  if (totals.bytes < maxBytes) return;
  throw new BudgetError("Cannot add files: the vector stores of this workspace are full", {
    code: "vector_store_full",
  });
}

/** Adds files to a store; the runner makes their vectors. Files that it has, or is about to have, stay as they are. */
export async function addFiles(
  store: VectorStoreRow,
  files: readonly PreparedFile[],
  context: CallerContext,
  batchId: string | null = null,
): Promise<void> {
  const { control, vectorStores, clock } = context.services;
  const apiKeyId = await requireKey(context);
  await requireRoom(store, files.length, context);
  const now = clock.now();
  const { organisationId, workspaceId } = store;
  for (const { file, columns } of files) {
    const known = await vectorStores.store.file(store, file.id, now);
    if (known && (known.status === "completed" || known.status === "in_progress")) continue;
    if (known) await vectorStores.store.removeFile(known);
    const row = { storeId: store.id, id: file.id, organisationId, workspaceId, filename: file.filename, apiKeyId };
    const insert = { ...row, ...columns, batchId, status: "in_progress", createdAt: now };
    await vectorStores.store.write([control.stores.vectorStoreFiles.put(store, insert)]);
  }
  await vectorStores.store.touch(store, now);
  vectorStores.wake();
}
