import { type SQL, sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** A member of `details` as a column: costs nothing when a row is written, and each bound value of a row does. */
function detail(name: string): { as: () => SQL; config: { mode: "virtual" } } {
  return { as: () => sql.raw(`details ->> '$.${name}'`), config: { mode: "virtual" } };
}

/** A text member of `details`. */
function textDetail(name: string) {
  const { as, config } = detail(name);
  return text(name).generatedAlwaysAs(as, config);
}

/** What is known of each request, without bodies. The time is the first part of the id (ULID). */
export const logs = sqliteTable(
  "logs",
  {
    /** Order of writing; counters remember how far they have read. */
    seq: integer("seq").primaryKey({ autoIncrement: true }),
    id: text("id").notNull(),
    workspaceId: text("workspace_id"),
    /** JSON of `LogDetails`. */
    details: text("details").notNull(),
    organisationId: textDetail("organisation_id"),
    apiKeyId: textDetail("api_key_id"),
    status: integer("status").generatedAlwaysAs(detail("status").as, detail("status").config),
    provider: textDetail("provider"),
    model: textDetail("model"),
    traceId: textDetail("trace_id"),
  },
  // one index only: each costs every request its share of a page write
  (table) => [index("logs_by_workspace").on(table.workspaceId, table.id)],
);

/** Headers and bodies of each request; dropped before the row in `logs` is. */
export const logBodies = sqliteTable("log_bodies", {
  /** `seq` of the row in `logs`. */
  seq: integer("seq").primaryKey(),
  /** Text of `LogContent`; null when it could not be kept. */
  content: text("content"),
});
