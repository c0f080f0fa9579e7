import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * Requests without bodies: one row for requests of one tenant that were written together. A bound value costs as much as
 * the rest of a small row, so requests share a row.
 */
export const logBatches = sqliteTable(
  "log_batches",
  {
    /** Order of writing; counters store how far they have read. */
    seq: integer("seq").primaryKey({ autoIncrement: true }),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id"),
    /** Smallest and largest id (ULID) of the requests. */
    firstId: text("first_id").notNull(),
    lastId: text("last_id").notNull(),
    /** JSON array of `LogDetails`, in order of writing. */
    details: text("details").notNull(),
    /** The `LimitCounter`s of money that each request counts in, `logs/charged.ts` has the format. Null: none. */
    charged: text("charged"),
  },
  (table) => [
    index("log_batches_by_workspace").on(table.workspaceId, table.lastId, table.firstId),
    index("log_batches_by_organisation").on(table.organisationId, table.lastId, table.firstId),
  ],
);

/** Results of hooks that ran after a response. */
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

/** Headers and bodies of the requests of a batch; deleted before the row in `log_batches`. */
export const logBodies = sqliteTable("log_bodies", {
  /** `seq` of the row in `log_batches`. */
  seq: integer("seq").primaryKey(),
  /** A JSON array of lengths, a line feed, and the concatenated bodies of `LogContent`. */
  content: text("content").notNull(),
});

/** The first rows that lists and look-ups show: those before are past their retention. */
export const logHidden = sqliteTable("log_hidden", {
  /** Empty: every organisation. */
  organisationId: text("organisation_id").primaryKey(),
  /** Smallest id (ULID) that is shown. */
  firstId: text("first_id").notNull(),
});
