import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { workspaceRoles } from "../../schemas/users.ts";
import { createdAt, lastUpdatedAt, record } from "./columns.ts";
import { users, workspaceRecord } from "./tenants.ts";

/** Credentials of identity providers. The token itself is never stored. */
export const scimTokens = sqliteTable("scim_tokens", {
  id: text("id").primaryKey(),
  organisationId: text("organisation_id").notNull(),
  name: text("name").notNull(),
  /** The public part it is looked up by. */
  lookupId: text("lookup_id").notNull().unique(),
  /** HMAC-SHA-256 of the whole token, keyed with the pepper; base64url. */
  digest: text("digest").notNull(),
  masked: text("masked").notNull(),
  expiresAt: integer("expires_at"),
  createdAt,
});
export type ScimTokenRow = typeof scimTokens.$inferSelect;

/** Groups of an identity provider. */
export const scimGroups = sqliteTable(
  "scim_groups",
  {
    ...record,
    displayName: text("display_name").notNull(),
    externalId: text("external_id"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [uniqueIndex("scim_groups_name").on(table.organisationId, table.displayName)],
);
export type ScimGroupRow = typeof scimGroups.$inferSelect;

/** Users of each group. */
export const scimGroupMembers = sqliteTable(
  "scim_group_members",
  {
    organisationId: text("organisation_id").notNull(),
    groupId: text("group_id")
      .notNull()
      .references(() => scimGroups.id, { onDelete: "cascade" }),
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
  },
  (table) => [
    primaryKey({ columns: [table.groupId, table.userId] }),
    index("scim_group_members_user").on(table.organisationId, table.userId),
  ],
);

/** Groups with a role in a workspace. */
export const scimMappings = sqliteTable(
  "scim_mappings",
  {
    ...workspaceRecord,
    groupId: text("group_id")
      .notNull()
      .references(() => scimGroups.id, { onDelete: "cascade" }),
    /** In the workspace. */
    role: text("role", { enum: workspaceRoles }).notNull(),
    status: text("status", { enum: ["active", "archived"] }).notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    index("scim_mappings_tenant").on(table.organisationId, table.workspaceId),
    index("scim_mappings_group").on(table.groupId),
  ],
);
export type ScimMappingRow = typeof scimMappings.$inferSelect;
