import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { createdAt, lastUpdatedAt } from "./columns.ts";

/** Sets of examples. Times are Unix milliseconds. */
export const exampleSets = sqliteTable(
  "example_sets",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    description: text("description"),
    /** Its newest version, and how many examples that has. */
    version: integer("version").notNull(),
    examples: integer("examples").notNull(),
    /** Days for which new versions and the answers of runs are stored; null: until they are deleted. */
    retentionDays: integer("retention_days"),
    /** The user, or else the key. */
    createdBy: text("created_by").notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("example_sets_slug").on(table.workspaceId, table.slug),
    index("example_sets_tenant").on(table.organisationId, table.workspaceId, table.createdAt),
  ],
);
export type ExampleSetRow = typeof exampleSets.$inferSelect;

/** Versions of sets, which never change. Their examples are lines of a hidden file. */
export const exampleVersions = sqliteTable(
  "example_set_versions",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    setId: text("set_id").notNull(),
    /** From 1, without gaps. */
    version: integer("version").notNull(),
    examples: integer("examples").notNull(),
    bytes: integer("bytes").notNull(),
    /** Some of its examples are requests of the log. */
    fromLogs: integer("from_logs", { mode: "boolean" }).notNull(),
    fileId: text("file_id").notNull(),
    createdBy: text("created_by").notNull(),
    createdAt,
    expiresAt: integer("expires_at"),
  },
  (table) => [
    uniqueIndex("example_set_versions_number").on(table.setId, table.version),
    index("example_set_versions_tenant").on(table.organisationId, table.workspaceId, table.createdAt),
  ],
);
export type ExampleVersionRow = typeof exampleVersions.$inferSelect;
