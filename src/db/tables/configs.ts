import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { createdAt, lastUpdatedAt, record } from "./columns.ts";
import { workspaceRecord } from "./tenants.ts";

/** Saved routing configs; their content is in their versions. */
export const configs = sqliteTable(
  "configs",
  {
    ...workspaceRecord,
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    isDefault: integer("is_default", { mode: "boolean" }).notNull().default(false),
    status: text("status", { enum: ["active", "archived"] }).notNull(),
    /** The current version. */
    versionId: text("version_id").notNull(),
    /** User or key that created it, and that changed it last. */
    ownerId: text("owner_id").notNull(),
    updatedBy: text("updated_by"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("configs_slug").on(table.organisationId, table.slug),
    index("configs_workspace").on(table.organisationId, table.workspaceId),
  ],
);
export type ConfigRow = typeof configs.$inferSelect;

/** Every version of a config. */
export const configVersions = sqliteTable(
  "config_versions",
  {
    ...record,
    workspaceId: text("workspace_id").notNull(),
    configId: text("config_id")
      .notNull()
      .references(() => configs.id, { onDelete: "cascade" }),
    /** The routing object as JSON text. */
    content: text("content").notNull(),
    ownerId: text("owner_id").notNull(),
    createdAt,
  },
  (table) => [index("config_versions_config").on(table.configId)],
);
export type ConfigVersionRow = typeof configVersions.$inferSelect;
