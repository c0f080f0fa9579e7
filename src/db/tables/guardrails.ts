import { index, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { guardrailTargets } from "../../schemas/guardrails.ts";
import { createdAt, lastUpdatedAt } from "./columns.ts";
import { workspaces } from "./tenants.ts";

/** Saved guardrails of a workspace, or of the organisation for all its workspaces. Their content is in their versions. */
export const guardrails = sqliteTable(
  "guardrails",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id").notNull(),
    /** Null for guardrails of the organisation. */
    workspaceId: text("workspace_id").references(() => workspaces.id),
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    /** What it guards, fixed at creation: `llm`, requests to models, or `mcp_tools`. */
    target: text("target", { enum: guardrailTargets }).notNull(),
    status: text("status", { enum: ["active"] }).notNull(),
    /** The current version. */
    versionId: text("version_id").notNull(),
    /** User or key that created it, and that changed it last. */
    ownerId: text("owner_id").notNull(),
    updatedBy: text("updated_by"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("guardrails_slug").on(table.organisationId, table.slug),
    index("guardrails_workspace").on(table.organisationId, table.workspaceId),
  ],
);
export type GuardrailRow = typeof guardrails.$inferSelect;

/** Every version of a guardrail. */
export const guardrailVersions = sqliteTable(
  "guardrail_versions",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id"),
    guardrailId: text("guardrail_id")
      .notNull()
      .references(() => guardrails.id, { onDelete: "cascade" }),
    /** A `GuardrailContent` as JSON text. */
    content: text("content").notNull(),
    ownerId: text("owner_id").notNull(),
    createdAt,
  },
  (table) => [index("guardrail_versions_guardrail").on(table.guardrailId)],
);
export type GuardrailVersionRow = typeof guardrailVersions.$inferSelect;
