import { integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { RateLimit, StoredBudget } from "../../schemas/control.ts";
import type { AliasAccess, AliasTarget } from "../../schemas/model-aliases.ts";
import { createdAt, jsonColumn, lastUpdatedAt } from "./columns.ts";
import { tenantRecord } from "./tenants.ts";

/** Names that requests use as a model: of a workspace, or of the organisation for all its workspaces. */
export const modelAliases = sqliteTable(
  "model_aliases",
  {
    /** Null for aliases of the organisation. */
    ...tenantRecord,
    /** Unique in its workspace, and among those of the organisation. */
    name: text("name").notNull(),
    /** A model of a stored provider, or the slug of a saved config. */
    target: jsonColumn<AliasTarget>("target").notNull(),
    metadata: jsonColumn<Record<string, string>>("metadata"),
    tags: jsonColumn<string[]>("tags"),
    /** Who may use it; null for everyone. */
    access: jsonColumn<AliasAccess>("access"),
    usageLimits: jsonColumn<StoredBudget>("usage_limits"),
    rateLimits: jsonColumn<RateLimit[]>("rate_limits"),
    lastResetAt: integer("last_reset_at"),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    /** User or key that created it, and that changed it last. */
    ownerId: text("owner_id").notNull(),
    updatedBy: text("updated_by"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [uniqueIndex("model_aliases_name").on(table.organisationId, table.workspaceId, table.name)],
);
export type ModelAliasRow = typeof modelAliases.$inferSelect;
