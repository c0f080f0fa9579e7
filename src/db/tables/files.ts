import { blob, index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { createdAt, record } from "./columns.ts";

/** Files that the gateway stores. Their sealed content is stored separately, in pieces. */
export const gatewayFiles = sqliteTable(
  "gateway_files",
  {
    /** `gw_file_<uuid>`. */
    ...record,
    workspaceId: text("workspace_id").notNull(),
    filename: text("filename").notNull(),
    purpose: text("purpose").notNull(),
    /** `writing` during the upload, `processed`, `hidden` where it belongs to another record, or `deleted` until its content is deleted. */
    status: text("status").notNull(),
    /** Length of the unencrypted content. */
    bytes: integer("bytes").notNull(),
    /** Where the pieces are stored: `database` or `s3`. */
    storage: text("storage").notNull(),
    pieces: integer("pieces").notNull(),
    /** Length of every piece but the last; 0 where lengths differ. */
    pieceBytes: integer("piece_bytes").notNull(),
    createdAt,
    /** Unix milliseconds; null for files that do not expire. */
    expiresAt: integer("expires_at"),
  },
  (table) => [
    index("gateway_files_tenant").on(table.organisationId, table.workspaceId, table.createdAt),
    index("gateway_files_expiry").on(table.expiresAt),
  ],
);
export type GatewayFileRow = typeof gatewayFiles.$inferSelect;

/** Sealed pieces of files that are stored in the database, at most 1 MiB each. */
export const gatewayFilePieces = sqliteTable(
  "gateway_file_pieces",
  {
    fileId: text("file_id").notNull(),
    /** From 0. */
    seq: integer("seq").notNull(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    content: blob("content", { mode: "buffer" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.fileId, table.seq] })],
);
