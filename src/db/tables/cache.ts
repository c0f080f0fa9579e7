import { blob, customType, index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Responses of the cache. */
export const cacheEntries = sqliteTable(
  "cache_entries",
  {
    /** Digest of everything the response depends on. */
    key: text("key").primaryKey(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    /** Digest of the namespace; empty without one. */
    namespace: text("namespace").notNull(),
    /** Length of `sealed`. */
    bytes: integer("bytes").notNull(),
    /** Unix milliseconds. */
    storedAt: integer("stored_at").notNull(),
    /** Unix milliseconds. */
    expiresAt: integer("expires_at").notNull(),
    /** The response and facts about it, sealed (AES-256-GCM). */
    sealed: blob("sealed", { mode: "buffer" }).notNull(),
  },
  (table) => [
    index("cache_entries_by_time").on(table.storedAt, table.bytes),
    index("cache_entries_expiring").on(table.expiresAt),
    index("cache_entries_tenant").on(table.organisationId, table.workspaceId, table.namespace),
  ],
);

/** A vector of 32-bit floats (https://docs.turso.tech/features/ai-and-embeddings#vector-types). */
const floats = customType<{ data: Uint8Array }>({ dataType: () => "F32_BLOB" });

/** Embeddings of the questions of cached responses. */
export const cacheVectors = sqliteTable(
  "cache_vectors",
  {
    /** Key of the response. */
    key: text("key").primaryKey(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    namespace: text("namespace").notNull(),
    /** Digest of all that must be equal. */
    partition: text("partition").notNull(),
    /** Unix milliseconds. */
    storedAt: integer("stored_at").notNull(),
    /** Unix milliseconds. */
    expiresAt: integer("expires_at").notNull(),
    vector: floats("vector").notNull(),
  },
  (table) => [
    index("cache_vectors_partition").on(table.organisationId, table.partition, table.storedAt),
    index("cache_vectors_expiring").on(table.expiresAt),
    index("cache_vectors_tenant").on(table.organisationId, table.workspaceId, table.namespace),
  ],
);
