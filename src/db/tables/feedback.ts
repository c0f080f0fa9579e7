import { index, integer, real, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { createdAt, jsonColumn, lastUpdatedAt, record } from "./columns.ts";

/** Ratings of traces. A trace may have several, or no row in the log. */
export const feedback = sqliteTable(
  "feedback",
  {
    ...record,
    workspaceId: text("workspace_id").notNull(),
    /** Key of the caller. */
    apiKeyId: text("api_key_id").notNull(),
    traceId: text("trace_id").notNull(),
    /** A whole number from -10 to 10. */
    value: integer("value").notNull(),
    /** From 0 to 1. */
    weight: real("weight").notNull(),
    metadata: jsonColumn("metadata").notNull(),
    /** Greater than that of all earlier changes of the organisation's feedback; triggers set it. */
    change: integer("change").notNull().default(0),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    index("feedback_by_workspace").on(table.organisationId, table.workspaceId),
    index("feedback_by_time").on(table.createdAt),
    index("feedback_by_change").on(table.organisationId, table.change),
    index("feedback_by_trace").on(table.organisationId, table.workspaceId, table.traceId),
  ],
);
export type FeedbackRow = Omit<typeof feedback.$inferSelect, "change">;
