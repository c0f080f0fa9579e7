import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { createdAt, jsonColumn, lastUpdatedAt } from "./columns.ts";

/** Gateway installations an organisation runs. */
export const deployments = sqliteTable(
  "deployments",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id").notNull(),
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    /** `production` or `non_production`. */
    type: text("type").notNull(),
    /** `active` or `archived`. */
    status: text("status").notNull(),
    isDefault: integer("is_default", { mode: "boolean" }).notNull().default(false),
    /** `healthy`, `unhealthy` or `unknown`. */
    connectionStatus: text("connection_status").notNull().default("unknown"),
    deploymentConfig: jsonColumn("deployment_config"),
    tags: jsonColumn("tags"),
    authSettings: jsonColumn("auth_settings").notNull().default(sql`'{}'`),
    /** HMAC-SHA-256 of the deployment's credential, keyed with the pepper, and its masked form. */
    clientAuthDigest: text("client_auth_digest").notNull(),
    maskedClientAuth: text("masked_client_auth").notNull(),
    username: text("username").notNull(),
    passwordDigest: text("password_digest").notNull(),
    maskedPassword: text("masked_password").notNull(),
    createdBy: text("created_by").notNull(),
    lastSyncedAt: integer("last_synced_at"),
    lastResyncedAt: integer("last_resynced_at"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("deployments_slug").on(table.organisationId, table.slug),
    index("deployments_tenant").on(table.organisationId, table.status),
  ],
);
export type DeploymentRow = typeof deployments.$inferSelect;
