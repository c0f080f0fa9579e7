import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** What is known of each request, without bodies. The time is the first part of the id (ULID). */
export const logs = sqliteTable(
  "logs",
  {
    /** Order of writing; counters remember how far they have read. */
    seq: integer("seq").primaryKey({ autoIncrement: true }),
    id: text("id").notNull(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id"),
    apiKeyId: text("api_key_id").notNull(),
    status: integer("status").notNull(),
    provider: text("provider"),
    model: text("model"),
    traceId: text("trace_id").notNull(),
    /** JSON: everything lists show and nothing filters by. */
    details: text("details").notNull(),
  },
  // one index only: each costs every request its share of a page write
  (table) => [index("logs_by_workspace").on(table.workspaceId, table.id)],
);
export type LogTableRow = typeof logs.$inferSelect;

/** Headers and bodies of each request; dropped before the row in `logs` is. */
export const logBodies = sqliteTable("log_bodies", {
  /** `seq` of the row in `logs`. */
  seq: integer("seq").primaryKey(),
  /** JSON: headers of both sides, after redaction, and which body was cut. */
  headers: text("headers").notNull(),
  request: text("request"),
  response: text("response"),
});
