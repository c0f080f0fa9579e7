import { index, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { createdAt, record } from "./columns.ts";

/** Responses that the gateway stores because their provider does not. */
export const storedResponses = sqliteTable(
  "stored_responses",
  {
    /** `resp_gw_` and the id (ULID) of the request. */
    ...record,
    workspaceId: text("workspace_id").notNull(),
    /** The previous response of the conversation. */
    previousId: text("previous_id"),
    /** Input and response as JSON, sealed (AES-256-GCM). */
    sealed: text("sealed").notNull(),
    createdAt,
  },
  (table) => [
    index("stored_responses_by_time").on(table.createdAt),
    index("stored_responses_tenant").on(table.organisationId, table.workspaceId),
  ],
);
export type StoredResponseRow = typeof storedResponses.$inferSelect;
