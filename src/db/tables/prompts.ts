import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { partialStatuses } from "../../schemas/prompts.ts";
import { createdAt, jsonColumn, lastUpdatedAt, record } from "./columns.ts";
import { tenantRecord, workspaceRecord } from "./tenants.ts";

/** Folders of prompts and partials. A workspace's default folder has no row: its id is the workspace's. */
export const collections = sqliteTable(
  "collections",
  {
    ...workspaceRecord,
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    /** The parent collection; null at the top. */
    parentCollectionId: text("parent_collection_id"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("collections_slug").on(table.organisationId, table.slug),
    index("collections_workspace").on(table.organisationId, table.workspaceId),
  ],
);
export type CollectionRow = typeof collections.$inferSelect;

/** Labels for versions of prompts. The built-in ones have no rows. */
export const labels = sqliteTable(
  "labels",
  {
    /** Null: a label of the organisation, for all of its workspaces. */
    ...tenantRecord,
    name: text("name").notNull(),
    description: text("description"),
    colorCode: text("color_code"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("labels_name").on(table.workspaceId, table.name),
    // names of the organisation's own labels; the other index does not compare rows without a workspace
    uniqueIndex("labels_organisation_name").on(table.organisationId, table.name).where(sql`workspace_id IS NULL`),
  ],
);
export type LabelRow = typeof labels.$inferSelect;

/** Saved prompts; their content is in their versions. */
export const prompts = sqliteTable(
  "prompts",
  {
    ...workspaceRecord,
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    collectionId: text("collection_id").notNull(),
    status: text("status", { enum: ["active"] }).notNull(),
    /** Model of the default version, for lists. */
    model: text("model"),
    /** The default version, used when a request names no version. */
    version: integer("version").notNull(),
    versionId: text("version_id").notNull(),
    latestVersion: integer("latest_version").notNull(),
    latestVersionId: text("latest_version_id").notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("prompts_slug").on(table.organisationId, table.slug),
    index("prompts_workspace").on(table.organisationId, table.workspaceId),
    index("prompts_collection").on(table.collectionId),
  ],
);
export type PromptRow = typeof prompts.$inferSelect;

/** Every version of a prompt; numbered from 1 without gaps, never changed. */
export const promptVersions = sqliteTable(
  "prompt_versions",
  {
    ...record,
    workspaceId: text("workspace_id").notNull(),
    promptId: text("prompt_id")
      .notNull()
      .references(() => prompts.id, { onDelete: "cascade" }),
    version: integer("version").notNull(),
    /** Messages as JSON text, or a plain text; both with tags. */
    template: text("template").notNull(),
    parameters: jsonColumn<Record<string, unknown>>("parameters").notNull(),
    model: text("model"),
    /** Slug or id of a stored provider; empty: the request names one. */
    virtualKey: text("virtual_key").notNull(),
    functions: jsonColumn<Record<string, unknown>[]>("functions"),
    tools: jsonColumn<Record<string, unknown>[]>("tools"),
    toolChoice: jsonColumn<string | Record<string, unknown>>("tool_choice"),
    isRawTemplate: integer("is_raw_template", { mode: "boolean" }).notNull(),
    description: text("description"),
    metadata: jsonColumn<Record<string, unknown>>("metadata"),
    ownerId: text("owner_id").notNull(),
    createdAt,
  },
  (table) => [uniqueIndex("prompt_versions_number").on(table.promptId, table.version)],
);
export type PromptVersionRow = typeof promptVersions.$inferSelect;

/** Which version of a prompt has a label. */
export const promptLabels = sqliteTable(
  "prompt_labels",
  {
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    promptId: text("prompt_id")
      .notNull()
      .references(() => prompts.id, { onDelete: "cascade" }),
    labelId: text("label_id").notNull(),
    versionId: text("version_id").notNull(),
    createdAt,
  },
  (table) => [primaryKey({ columns: [table.promptId, table.labelId] }), index("prompt_labels_label").on(table.labelId)],
);
export type PromptLabelRow = typeof promptLabels.$inferSelect;

/** Snippets that prompts include; their content is in their versions. */
export const partials = sqliteTable(
  "prompt_partials",
  {
    ...workspaceRecord,
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    collectionId: text("collection_id").notNull(),
    status: text("status", { enum: partialStatuses }).notNull(),
    version: integer("version").notNull(),
    versionId: text("version_id").notNull(),
    latestVersion: integer("latest_version").notNull(),
    latestVersionId: text("latest_version_id").notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("prompt_partials_slug").on(table.organisationId, table.slug),
    index("prompt_partials_workspace").on(table.organisationId, table.workspaceId),
    index("prompt_partials_collection").on(table.collectionId),
  ],
);
export type PartialRow = typeof partials.$inferSelect;

/** Every version of a partial; numbered from 1 without gaps, never changed. */
export const partialVersions = sqliteTable(
  "prompt_partial_versions",
  {
    ...record,
    workspaceId: text("workspace_id").notNull(),
    partialId: text("partial_id")
      .notNull()
      .references(() => partials.id, { onDelete: "cascade" }),
    version: integer("version").notNull(),
    template: text("template").notNull(),
    description: text("description"),
    ownerId: text("owner_id").notNull(),
    createdAt,
  },
  (table) => [uniqueIndex("prompt_partial_versions_number").on(table.partialId, table.version)],
);
export type PartialVersionRow = typeof partialVersions.$inferSelect;
