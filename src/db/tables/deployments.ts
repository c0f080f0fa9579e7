import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import {
  connectionStatuses,
  deploymentStatuses,
  deploymentTypes,
  type ShownTags,
  type StoredAuth,
} from "../../schemas/deployments.ts";
import { createdAt, jsonColumn, lastUpdatedAt, record } from "./columns.ts";

/** Gateway installations an organisation runs. */
export const deployments = sqliteTable(
  "deployments",
  {
    ...record,
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    type: text("type", { enum: deploymentTypes }).notNull(),
    status: text("status", { enum: deploymentStatuses }).notNull(),
    isDefault: integer("is_default", { mode: "boolean" }).notNull().default(false),
    connectionStatus: text("connection_status", { enum: connectionStatuses }).notNull().default("unknown"),
    deploymentConfig: jsonColumn<Record<string, unknown>>("deployment_config"),
    tags: jsonColumn<ShownTags>("tags"),
    authSettings: jsonColumn<StoredAuth>("auth_settings").notNull().default(sql`'{}'`),
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
