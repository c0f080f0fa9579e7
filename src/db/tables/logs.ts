import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * What is known of requests, without bodies: one row for those of one tenant that were written together. A bound value
 * costs as much as the rest of a small row, so requests share theirs.
 */
export const logBatches = sqliteTable(
  "log_batches",
  {
    /** Order of writing; counters remember how far they have read. */
    seq: integer("seq").primaryKey({ autoIncrement: true }),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id"),
    /** Smallest and largest id (ULID) of the requests. */
    firstId: text("first_id").notNull(),
    lastId: text("last_id").notNull(),
    /** JSON array of `LogDetails`, in order of writing. */
    details: text("details").notNull(),
  },
  (table) => [
    index("log_batches_by_workspace").on(table.workspaceId, table.lastId, table.firstId),
    index("log_batches_by_organisation").on(table.organisationId, table.lastId, table.firstId),
  ],
);

/** What hooks said that ran behind the answer of a request. */
export const logHooks = sqliteTable(
  "log_hooks",
  {
    seq: integer("seq").primaryKey({ autoIncrement: true }),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id"),
    /** Id (ULID) of the request. */
    logId: text("log_id").notNull(),
    /** JSON of `HookResults`. */
    results: text("results").notNull(),
  },
  (table) => [index("log_hooks_by_log").on(table.logId)],
);

/** Headers and bodies of the requests of a batch; dropped before the row in `log_batches` is. */
export const logBodies = sqliteTable("log_bodies", {
  /** `seq` of the row in `log_batches`. */
  seq: integer("seq").primaryKey(),
  /** A JSON array of lengths, a line feed, and the texts of `LogContent` one after the other. */
  content: text("content").notNull(),
});
