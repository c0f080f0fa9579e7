import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { RateLimit, SecretMappings, StoredAccess, StoredBudget } from "../../schemas/control.ts";
import { integrationStatuses, type ShownAdjustments, type ShownPricing } from "../../schemas/integrations.ts";
import type { Labels } from "../../schemas/labels.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { createdAt, jsonColumn, lastUpdatedAt } from "./columns.ts";
import { tenantRecord, workspaceRecord, workspaces } from "./tenants.ts";

/** Credentials of a model provider: of one workspace, or of the organisation and shared with workspaces. */
export const integrations = sqliteTable(
  "integrations",
  {
    /** Null for integrations of the organisation. */
    ...tenantRecord,
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    description: text("description"),
    /** Slug of the model provider. */
    aiProviderId: text("ai_provider_id").notNull(),
    status: text("status", { enum: integrationStatuses }).notNull(),
    /** True for the credentials of one virtual key: they are deleted with it and not listed. */
    isPrivate: integer("is_private", { mode: "boolean" }).notNull().default(false),
    /** Settings that are not secret; secrets are sealed in `secrets`. */
    configurations: jsonColumn("configurations").notNull().default(sql`'{}'`),
    /** Masked forms of the sealed secrets by field name. */
    masked: jsonColumn("masked").notNull().default(sql`'{}'`),
    secretMappings: jsonColumn<SecretMappings>("secret_mappings"),
    /** What holds for all its calls: `region`, `zero_retention` and free labels. Policies and configs choose by them. */
    labels: jsonColumn<Labels>("labels"),
    pricingAdjustments: jsonColumn<ShownAdjustments>("pricing_adjustments"),
    allowAllModels: integer("allow_all_models", { mode: "boolean" }).notNull().default(true),
    /** Defaults for workspaces created later: `{enabled, usage_limits, rate_limits}`. */
    globalWorkspaceAccess: jsonColumn<StoredAccess>("global_workspace_access"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("integrations_slug").on(table.organisationId, table.slug),
    index("integrations_workspace").on(table.organisationId, table.workspaceId),
  ],
);
export type IntegrationRow = typeof integrations.$inferSelect;

/** Models of an integration with settings. */
export const integrationModels = sqliteTable(
  "integration_models",
  {
    organisationId: text("organisation_id").notNull(),
    integrationId: text("integration_id")
      .notNull()
      .references(() => integrations.id, { onDelete: "cascade" }),
    slug: text("slug").notNull(),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    isCustom: integer("is_custom", { mode: "boolean" }).notNull().default(false),
    isFinetune: integer("is_finetune", { mode: "boolean" }).notNull().default(false),
    baseModelSlug: text("base_model_slug"),
    /** `{custom_host, custom_headers}`. */
    configurations: jsonColumn("configurations"),
    pricingConfig: jsonColumn<ShownPricing>("pricing_config"),
    /** What the model takes, where it is not as the built-in table says. */
    modelFacts: text("model_facts", { mode: "json" }).$type<ModelFacts>(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [primaryKey({ columns: [table.integrationId, table.slug] })],
);
export type IntegrationModelRow = typeof integrationModels.$inferSelect;

/** Which workspaces may use an integration of the organisation. */
export const integrationWorkspaces = sqliteTable(
  "integration_workspaces",
  {
    organisationId: text("organisation_id").notNull(),
    integrationId: text("integration_id")
      .notNull()
      .references(() => integrations.id, { onDelete: "cascade" }),
    workspaceId: text("workspace_id")
      .notNull()
      .references(() => workspaces.id),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    usageLimits: jsonColumn<StoredBudget[]>("usage_limits"),
    rateLimits: jsonColumn<RateLimit[]>("rate_limits"),
    lastResetAt: integer("last_reset_at"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    primaryKey({ columns: [table.integrationId, table.workspaceId] }),
    index("integration_workspaces_workspace").on(table.organisationId, table.workspaceId),
  ],
);
export type IntegrationWorkspaceRow = typeof integrationWorkspaces.$inferSelect;

/** Integrations in use in a workspace: requests name them as `@slug`, legacy clients as a virtual key. */
export const providers = sqliteTable(
  "providers",
  {
    ...workspaceRecord,
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    integrationId: text("integration_id")
      .notNull()
      .references(() => integrations.id),
    note: text("note"),
    /** `active`, `exhausted` or `expired`. */
    status: text("status").notNull(),
    usageLimits: jsonColumn<StoredBudget>("usage_limits"),
    rateLimits: jsonColumn<RateLimit[]>("rate_limits"),
    lastResetAt: integer("last_reset_at"),
    /** Unix milliseconds. */
    expiresAt: integer("expires_at"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("providers_slug").on(table.workspaceId, table.slug),
    index("providers_tenant").on(table.organisationId, table.workspaceId),
  ],
);
export type ProviderRow = typeof providers.$inferSelect;
