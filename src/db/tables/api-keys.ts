import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { organisations, workspaces } from "./tenants.ts";

/** Gateway API keys. The key itself is never stored. */
export const apiKeys = sqliteTable(
  "api_keys",
  {
    id: text("id").primaryKey(),
    /** The public part of a key of our form; null for bootstrap keys of any form. */
    lookupId: text("lookup_id").unique(),
    organisationId: text("organisation_id")
      .notNull()
      .references(() => organisations.id),
    /** Null for keys of the organisation. */
    workspaceId: text("workspace_id").references(() => workspaces.id),
    name: text("name").notNull(),
    /** `organisation-service`, `workspace-service` or `workspace-user`. */
    kind: text("kind").notNull(),
    /** HMAC-SHA-256 of the whole key under the pepper, base64url. */
    digest: text("digest").notNull(),
    /** The key as it is shown in lists. */
    masked: text("masked").notNull(),
    /** JSON array of scope names, written with a dot. */
    scopes: text("scopes").notNull(),
    /** `active` or `revoked`. */
    status: text("status").notNull(),
    /** Unix milliseconds; null for keys that do not expire. */
    expiresAt: integer("expires_at"),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [index("api_keys_tenant").on(table.organisationId, table.workspaceId)],
);
export type ApiKeyRow = typeof apiKeys.$inferSelect;
