import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { ViewQuestion, viewPages } from "../../schemas/saved-views.ts";
import { createdAt, jsonColumn, lastUpdatedAt, record } from "./columns.ts";

/** Of whom a saved record is. */
const owned = {
  /** The person who alone sees it; empty: everybody in the workspace. */
  audience: text("audience").notNull(),
  /** The user, or else the key. */
  createdBy: text("created_by").notNull(),
};

/** Saved runs of the playground. Times are Unix milliseconds. */
export const playgroundRuns = sqliteTable(
  "playground_runs",
  {
    ...record,
    workspaceId: text("workspace_id").notNull(),
    name: text("name").notNull(),
    models: jsonColumn<string[]>("models").notNull(),
    /** The hidden file with its contents, and their length. */
    fileId: text("file_id").notNull(),
    bytes: integer("bytes").notNull(),
    ...owned,
    createdAt,
    lastUpdatedAt,
    /** When the contents are removed; null: with the run. */
    expiresAt: integer("expires_at"),
  },
  (table) => [index("playground_runs_tenant").on(table.organisationId, table.workspaceId, table.audience)],
);
export type PlaygroundRunRow = typeof playgroundRuns.$inferSelect;

/** Questions to pages of the console under a name. Times are Unix milliseconds. */
export const savedViews = sqliteTable(
  "saved_views",
  {
    ...record,
    workspaceId: text("workspace_id").notNull(),
    name: text("name").notNull(),
    page: text("page").$type<(typeof viewPages)[number]>().notNull(),
    question: jsonColumn<ViewQuestion>("question").notNull(),
    pinned: integer("pinned", { mode: "boolean" }).notNull(),
    ...owned,
    createdAt,
    lastUpdatedAt,
  },
  (table) => [index("saved_views_tenant").on(table.organisationId, table.workspaceId, table.audience)],
);
export type SavedViewRow = typeof savedViews.$inferSelect;

/** The views that pages open with, by person. */
export const savedViewDefaults = sqliteTable(
  "saved_view_defaults",
  {
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    /** The user, or else the key. */
    person: text("person").notNull(),
    page: text("page").$type<(typeof viewPages)[number]>().notNull(),
    viewId: text("view_id").notNull(),
    createdAt,
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.person, table.page] }),
    index("saved_view_defaults_tenant").on(table.organisationId, table.workspaceId),
  ],
);
