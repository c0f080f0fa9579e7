import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { createdAt, jsonColumn, lastUpdatedAt, record } from "./columns.ts";

/** Exports of log rows. Times are Unix milliseconds. */
export const logExports = sqliteTable(
  "log_exports",
  {
    ...record,
    workspaceId: text("workspace_id").notNull(),
    description: text("description"),
    /** As given. */
    filters: jsonColumn("filters").notNull(),
    requestedData: jsonColumn("requested_data").notNull(),
    /** `draft`, `in_progress`, `success`, `failed` or `stopped`. */
    status: text("status").notNull(),
    /** Why it failed. */
    failure: text("failure"),
    /** The user who created it, or else the key. */
    createdBy: text("created_by").notNull(),
    /** Only rows of this user; null: of all. */
    userId: text("user_id"),
    /** Rows that the filters found when it was saved; once it succeeded, rows of its file. */
    total: integer("total").notNull().default(0),
    /** The file it writes; null as long as it has none. */
    fileId: text("file_id"),
    /** Rows before this id are still to be visited, newest first. */
    cursor: text("cursor").notNull().default(""),
    /** Rows that belong to earlier pages, and rows that were written. */
    skipped: integer("skipped").notNull().default(0),
    written: integer("written").notNull().default(0),
    bytes: integer("bytes").notNull().default(0),
    /** Times in a row that a step did not succeed. */
    failures: integer("failures").notNull().default(0),
    /** Incremented with every step: two processes that take the same step conflict here. */
    turn: integer("turn").notNull().default(0),
    /** The process that writes it, and until when. */
    leaseOwner: text("lease_owner"),
    leaseUntil: integer("lease_until").notNull().default(0),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    index("log_exports_tenant").on(table.organisationId, table.workspaceId, table.createdAt),
    index("log_exports_work").on(table.status, table.leaseUntil),
  ],
);
export type LogExportRow = typeof logExports.$inferSelect;
