import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { RateLimit, StoredBudget } from "../../schemas/control.ts";
import { type InvitedPlace, inviteStatuses } from "../../schemas/invites.ts";
import type { StoredAuthSettings, StoredOrganisationSettings } from "../../schemas/organisations.ts";
import { assignedRoles, organisationRoles, userStatuses, workspaceRoles } from "../../schemas/users.ts";
import { type StoredDefaults, workspaceStatuses } from "../../schemas/workspaces.ts";
import { createdAt, jsonColumn, lastUpdatedAt, record } from "./columns.ts";

/** Organisations: the tenants. */
export const organisations = sqliteTable("organisations", {
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  slug: text("slug").notNull().unique(),
  /** Settings of the organisation; absent ones have their default. */
  settings: jsonColumn<StoredOrganisationSettings>("settings").notNull().default(sql`'{}'`),
  /** How tokens of its identity provider are verified. */
  authSettings: jsonColumn<StoredAuthSettings>("auth_settings").notNull().default(sql`'{}'`),
  /** Guardrails for every request. */
  defaults: jsonColumn("defaults").notNull().default(sql`'{}'`),
  createdAt,
  lastUpdatedAt,
});
export type OrganisationRow = typeof organisations.$inferSelect;

/** Workspaces of an organisation. Deleted ones stay as `archived`, because analytics refer to them. */
export const workspaces = sqliteTable(
  "workspaces",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id")
      .notNull()
      .references(() => organisations.id),
    name: text("name").notNull(),
    slug: text("slug").notNull(),
    icon: text("icon"),
    description: text("description"),
    isDefault: integer("is_default", { mode: "boolean" }).notNull().default(false),
    status: text("status", { enum: workspaceStatuses }).notNull().default("active"),
    defaults: jsonColumn<StoredDefaults>("defaults"),
    usageLimits: jsonColumn<StoredBudget[]>("usage_limits"),
    rateLimits: jsonColumn<RateLimit[]>("rate_limits"),
    settings: jsonColumn("settings").notNull().default(sql`'{}'`),
    securitySettings: jsonColumn("security_settings").notNull().default(sql`'{}'`),
    dataPlaneSecuritySettings: jsonColumn("data_plane_security_settings").notNull().default(sql`'{}'`),
    /** User or key that created it; null for the first one. */
    createdBy: text("created_by"),
    lastResetAt: integer("last_reset_at"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [uniqueIndex("workspaces_slug").on(table.organisationId, table.slug)],
);
export type WorkspaceRow = typeof workspaces.$inferSelect;

/** The first columns of a record of a workspace. */
export const workspaceRecord = {
  ...record,
  workspaceId: text("workspace_id")
    .notNull()
    .references(() => workspaces.id),
};
/** The first columns of a record of a workspace, or of the organisation, whose records have no workspace. */
export const tenantRecord = { ...record, workspaceId: text("workspace_id").references(() => workspaces.id) };

/** Users of an organisation. */
export const users = sqliteTable(
  "users",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id")
      .notNull()
      .references(() => organisations.id),
    email: text("email").notNull(),
    /** In the organisation. */
    role: text("role", { enum: organisationRoles }).notNull(),
    firstName: text("first_name"),
    lastName: text("last_name"),
    /** `inactive` for removed users. */
    status: text("status", { enum: userStatuses }).notNull().default("active"),
    /** The identity provider's id of the user. */
    externalId: text("external_id"),
    userName: text("user_name"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [uniqueIndex("users_email").on(table.organisationId, table.email)],
);
export type UserRow = typeof users.$inferSelect;

/** Users of each workspace. */
export const workspaceMembers = sqliteTable(
  "workspace_members",
  {
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id")
      .notNull()
      .references(() => workspaces.id),
    userId: text("user_id")
      .notNull()
      .references(() => users.id),
    role: text("role", { enum: workspaceRoles }).notNull(),
    /** `scim` for memberships that follow a group. */
    source: text("source", { enum: ["manual", "scim"] })
      .notNull()
      .default("manual"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.userId] }),
    index("workspace_members_user").on(table.organisationId, table.userId),
  ],
);
export type WorkspaceMemberRow = typeof workspaceMembers.$inferSelect;

/** Invitations. The token in the link is never stored. */
export const invites = sqliteTable(
  "invites",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id")
      .notNull()
      .references(() => organisations.id),
    email: text("email").notNull(),
    /** In the organisation. */
    role: text("role", { enum: assignedRoles }).notNull(),
    firstName: text("first_name"),
    lastName: text("last_name"),
    /** Workspaces by record id. */
    workspaces: jsonColumn<InvitedPlace[]>("workspaces").notNull(),
    /** Settings of the user's first key; null for no key. */
    keyDetails: jsonColumn("key_details"),
    /** A pending one past `expiresAt` is expired. */
    status: text("status", { enum: inviteStatuses }).notNull(),
    /** HMAC-SHA-256 of the link's token under the state key. */
    tokenDigest: text("token_digest").notNull(),
    invitedBy: text("invited_by").notNull(),
    expiresAt: integer("expires_at").notNull(),
    acceptedAt: integer("accepted_at"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [index("invites_tenant").on(table.organisationId, table.email)],
);
export type InviteRow = typeof invites.$inferSelect;

/** Workspaces that are excluded from the organisation's guardrails. */
export const workspaceExclusions = sqliteTable(
  "workspace_exclusions",
  {
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id")
      .notNull()
      .references(() => workspaces.id),
    /** `input` or `output`. */
    direction: text("direction").notNull(),
    createdAt,
  },
  (table) => [primaryKey({ columns: [table.organisationId, table.workspaceId, table.direction] })],
);
export type ExclusionRow = typeof workspaceExclusions.$inferSelect;
