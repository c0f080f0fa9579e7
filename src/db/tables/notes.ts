import { index, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { createdAt, lastUpdatedAt } from "./columns.ts";
import { workspaces } from "./tenants.ts";

/** Notes of a workspace for its people. */
export const notes = sqliteTable(
  "notes",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id")
      .notNull()
      .references(() => workspaces.id),
    name: text("name").notNull(),
    content: text("content").notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [index("notes_workspace").on(table.organisationId, table.workspaceId)],
);
export type NoteRow = typeof notes.$inferSelect;
