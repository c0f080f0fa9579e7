import { index, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { guardrailTargets } from "../../schemas/guardrails.ts";
import { createdAt, lastUpdatedAt, record } from "./columns.ts";
import { tenantRecord } from "./tenants.ts";

/** Saved guardrails of a workspace, or of the organisation for all its workspaces. Their content is in their versions. */
export const guardrails = sqliteTable(
  "guardrails",
  {
    /** Null for guardrails of the organisation. */
    ...tenantRecord,
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
    ...record,
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
