import { blob, index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { createdAt, jsonColumn, record } from "./columns.ts";

/** Vector stores of the gateway. Times are Unix milliseconds. Their contents are sealed, in blocks. */
export const vectorStores = sqliteTable(
  "vector_stores",
  {
    /** `gw_vs_<uuid>`. */
    ...record,
    workspaceId: text("workspace_id").notNull(),
    name: text("name"),
    metadata: jsonColumn("metadata"),
    /** `open`, or `deleted` until its contents are deleted. */
    status: text("status").notNull(),
    /** What makes its vectors: `@provider/model`, an alias or the slug of a config. */
    embeddings: text("embeddings").notNull(),
    /** Numbers of a vector that the model is asked for; null: as many as it makes. */
    dimensions: integer("dimensions"),
    /** Numbers of its vectors; null before the first. */
    length: integer("length"),
    /** Days after its last use; null: it does not expire. */
    expiresDays: integer("expires_days"),
    lastActiveAt: integer("last_active_at").notNull(),
    createdAt,
  },
  (table) => [index("vector_stores_tenant").on(table.organisationId, table.workspaceId, table.createdAt)],
);
export type VectorStoreRow = typeof vectorStores.$inferSelect;

/** Files of vector stores. */
export const vectorStoreFiles = sqliteTable(
  "vector_store_files",
  {
    storeId: text("store_id").notNull(),
    /** The file of the gateway. */
    id: text("file_id").notNull(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    filename: text("filename").notNull(),
    /** The key that added it; its embeddings count as requests of this key. */
    apiKeyId: text("api_key_id").notNull(),
    /** Files that were added together. */
    batchId: text("batch_id"),
    /** `in_progress`, `completed`, `failed` or `cancelled`. */
    status: text("status").notNull(),
    errorCode: text("error_code"),
    errorMessage: text("error_message"),
    /** Tokens of a chunk, and those it shares with the one before. */
    chunkTokens: integer("chunk_tokens").notNull(),
    chunkOverlap: integer("chunk_overlap").notNull(),
    attributes: jsonColumn("attributes"),
    /** Chunks that have vectors. */
    position: integer("position").notNull().default(0),
    /** Bytes of its blocks. */
    bytes: integer("bytes").notNull().default(0),
    /** Failures since its last block. */
    attempts: integer("attempts").notNull().default(0),
    /** Incremented with every step: two runners that take the same step conflict here. */
    turn: integer("turn").notNull().default(0),
    /** The runner that holds the lease, and its expiry. */
    leaseOwner: text("lease_owner"),
    leaseUntil: integer("lease_until").notNull().default(0),
    createdAt,
  },
  (table) => [
    primaryKey({ columns: [table.storeId, table.id] }),
    index("vector_store_files_tenant").on(table.organisationId, table.workspaceId, table.createdAt),
    index("vector_store_files_file").on(table.id),
    index("vector_store_files_work").on(table.status, table.leaseUntil),
  ],
);
export type VectorStoreFileRow = typeof vectorStoreFiles.$inferSelect;

/** Chunks of files that were embedded together: their vectors and their text, sealed. */
export const vectorStoreBlocks = sqliteTable(
  "vector_store_blocks",
  {
    storeId: text("store_id").notNull(),
    fileId: text("file_id").notNull(),
    /** Number of its first chunk in the file. */
    seq: integer("seq").notNull(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    /** Numbers of 32 bits, one vector after the other. */
    vectors: blob("vectors", { mode: "buffer" }).notNull(),
    content: blob("content", { mode: "buffer" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.storeId, table.fileId, table.seq] })],
);
