import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { creationModes, keyKinds, keyStatuses, type StoredKeyDefaults } from "../../schemas/api-keys.ts";
import type { RateLimit, StoredBudget } from "../../schemas/control.ts";
import { priorities } from "../../schemas/queues.ts";
import { createdAt, jsonColumn, lastUpdatedAt } from "./columns.ts";
import { organisations, users, workspaces } from "./tenants.ts";

/** Gateway API keys. The key itself is never stored. */
export const apiKeys = sqliteTable(
  "api_keys",
  {
    id: text("id").primaryKey(),
    /** The public part of a key; null for bootstrap keys in another format. */
    lookupId: text("lookup_id").unique(),
    organisationId: text("organisation_id")
      .notNull()
      .references(() => organisations.id),
    /** Null for keys of the organisation. */
    workspaceId: text("workspace_id").references(() => workspaces.id),
    /** The user a user key belongs to. */
    userId: text("user_id").references(() => users.id),
    name: text("name").notNull(),
    description: text("description"),
    kind: text("kind", { enum: keyKinds }).notNull(),
    /** HMAC-SHA-256 of the whole key, keyed with the pepper; base64url. */
    digest: text("digest").notNull(),
    /** The masked key that lists show. */
    masked: text("masked").notNull(),
    /** Digest of the previous secret, which works until `transitionEndsAt`. */
    formerDigest: text("former_digest"),
    /** True when the former secret is not in the gateway's format: it is compared, not looked up. */
    formerOfAnyForm: integer("former_of_any_form", { mode: "boolean" }).notNull().default(false),
    /** Unix milliseconds. */
    transitionEndsAt: integer("transition_ends_at"),
    /** JSON array of scope names in dot notation. */
    scopes: text("scopes").notNull(),
    status: text("status", { enum: keyStatuses }).notNull(),
    creationMode: text("creation_mode", { enum: creationModes }).notNull().default("api"),
    rateLimits: jsonColumn<RateLimit[]>("rate_limits"),
    usageLimits: jsonColumn<StoredBudget>("usage_limits"),
    defaults: jsonColumn<StoredKeyDefaults>("defaults"),
    /** Highest class of its requests in queues; null is `normal`. */
    priority: text("priority", { enum: priorities }),
    /** Names of models that its requests may use; null for all. */
    allowedModels: jsonColumn<string[]>("allowed_models"),
    alertEmails: jsonColumn<string[]>("alert_emails"),
    lastRotatedAt: integer("last_rotated_at"),
    lastResetAt: integer("last_reset_at"),
    /** Unix milliseconds; null for keys that do not expire. */
    expiresAt: integer("expires_at"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [index("api_keys_tenant").on(table.organisationId, table.workspaceId)],
);
export type ApiKeyRow = typeof apiKeys.$inferSelect;
export type NewApiKeyRow = typeof apiKeys.$inferInsert;
