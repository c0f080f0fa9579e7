import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { SecretMappings } from "../../schemas/control.ts";
import {
  capabilityTypes,
  mcpAuthTypes,
  mcpStatuses,
  mcpTransports,
  syncStatuses,
  userAccesses,
} from "../../schemas/mcp.ts";
import { createdAt, jsonColumn, lastUpdatedAt, record } from "./columns.ts";
import { guardrails } from "./guardrails.ts";
import { tenantRecord, workspaceRecord, workspaces } from "./tenants.ts";

/** Upstream MCP servers with their credentials: of one workspace, or of the organisation and shared with workspaces. */
export const mcpIntegrations = sqliteTable(
  "mcp_integrations",
  {
    /** Null for integrations of the organisation. */
    ...tenantRecord,
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    description: text("description"),
    /** User or key that created it. */
    ownerId: text("owner_id").notNull(),
    status: text("status", { enum: mcpStatuses }).notNull(),
    /** Address of the upstream server. */
    url: text("url").notNull(),
    /** `http`, `sse`, or `openapi` for a server made from an OpenAPI document. */
    transport: text("transport", { enum: mcpTransports }).notNull(),
    authType: text("auth_type", { enum: mcpAuthTypes }).notNull(),
    /** Settings that are not secret; secrets are sealed in `secrets`. */
    configurations: jsonColumn("configurations").notNull().default(sql`'{}'`),
    /** Masked forms of the sealed secrets by field name. */
    masked: jsonColumn("masked").notNull().default(sql`'{}'`),
    secretMappings: jsonColumn<SecretMappings>("secret_mappings"),
    /** Access of workspaces created later: `{enabled}`. */
    globalWorkspaceAccess: jsonColumn("global_workspace_access"),
    /** The OpenAPI document of a server made from one, as JSON text. */
    openapi: text("openapi"),
    /** What the server said of itself when it was last synced. */
    metadata: jsonColumn("metadata"),
    syncStatus: text("sync_status", { enum: syncStatuses }).notNull().default("pending"),
    syncError: text("sync_error"),
    /** Unix milliseconds of the last successful sync. */
    lastSyncedAt: integer("last_synced_at"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("mcp_integrations_slug").on(table.organisationId, table.slug),
    index("mcp_integrations_workspace").on(table.organisationId, table.workspaceId),
  ],
);
export type McpIntegrationRow = typeof mcpIntegrations.$inferSelect;

/** Which workspaces may use an MCP integration of the organisation. */
export const mcpIntegrationWorkspaces = sqliteTable(
  "mcp_integration_workspaces",
  {
    organisationId: text("organisation_id").notNull(),
    integrationId: text("integration_id")
      .notNull()
      .references(() => mcpIntegrations.id, { onDelete: "cascade" }),
    workspaceId: text("workspace_id")
      .notNull()
      .references(() => workspaces.id),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    primaryKey({ columns: [table.integrationId, table.workspaceId] }),
    index("mcp_integration_workspaces_workspace").on(table.organisationId, table.workspaceId),
  ],
);

/** Tools, prompts, resources and resource templates of an MCP integration, as its server describes them. */
export const mcpCapabilities = sqliteTable(
  "mcp_capabilities",
  {
    ...record,
    integrationId: text("integration_id")
      .notNull()
      .references(() => mcpIntegrations.id, { onDelete: "cascade" }),
    type: text("type", { enum: capabilityTypes }).notNull(),
    /** The name of a tool or prompt, the URI of a resource, or the template of URIs. */
    name: text("name").notNull(),
    enabled: integer("enabled", { mode: "boolean" }).notNull().default(true),
    /** False if the last sync did not find it any more: its switch is preserved. */
    isListed: integer("is_listed", { mode: "boolean" }).notNull().default(true),
    /** The definition as last seen; null for one that was only switched. */
    definition: jsonColumn("definition"),
    /** Digest of what is pinned of the definition: SHA-256 of canonical JSON, hexadecimal. */
    definitionHash: text("definition_hash"),
    /** The approved definition, where it differs from the one last seen. */
    approvedDefinition: jsonColumn("approved_definition"),
    /** Digest of the approved definition; null for one that nobody approved. */
    approvedHash: text("approved_hash"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("mcp_capabilities_name").on(table.integrationId, table.type, table.name),
    index("mcp_capabilities_tenant").on(table.organisationId),
  ],
);
export type McpCapabilityRow = typeof mcpCapabilities.$inferSelect;

/** MCP servers of workspaces: instances of an MCP integration, or several servers joined under one address. */
export const mcpServers = sqliteTable(
  "mcp_servers",
  {
    ...workspaceRecord,
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    description: text("description"),
    /** User or key that created it. */
    ownerId: text("owner_id").notNull(),
    status: text("status", { enum: mcpStatuses }).notNull(),
    /** Null for a server that joins others. */
    integrationId: text("integration_id").references(() => mcpIntegrations.id),
    /** What a server that joins others is made of; null for those of an integration. */
    aggregate: jsonColumn("aggregate"),
    /** Settings that differ from the defaults. */
    settings: jsonColumn("settings").notNull().default(sql`'{}'`),
    /** Whether users without a separate entry may use it. */
    defaultUserAccess: text("default_user_access", { enum: userAccesses }).notNull().default("allow"),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("mcp_servers_slug").on(table.organisationId, table.slug),
    index("mcp_servers_workspace").on(table.organisationId, table.workspaceId),
  ],
);
export type McpServerRow = typeof mcpServers.$inferSelect;

/** What a workspace switched on or off of one of its MCP servers. */
export const mcpServerCapabilities = sqliteTable(
  "mcp_server_capabilities",
  {
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    serverId: text("server_id")
      .notNull()
      .references(() => mcpServers.id, { onDelete: "cascade" }),
    /** As those of `mcp_capabilities`. */
    type: text("type", { enum: capabilityTypes }).notNull(),
    name: text("name").notNull(),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    primaryKey({ columns: [table.serverId, table.type, table.name] }),
    index("mcp_server_capabilities_tenant").on(table.organisationId, table.workspaceId),
  ],
);
export type McpServerCapabilityRow = typeof mcpServerCapabilities.$inferSelect;

/** Users who may or may not use an MCP server, whatever its default is. */
export const mcpServerUsers = sqliteTable(
  "mcp_server_users",
  {
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    serverId: text("server_id")
      .notNull()
      .references(() => mcpServers.id, { onDelete: "cascade" }),
    userId: text("user_id").notNull(),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    primaryKey({ columns: [table.serverId, table.userId] }),
    index("mcp_server_users_tenant").on(table.organisationId, table.workspaceId),
  ],
);

/** Guardrails that run on the calls of an MCP server. */
export const mcpServerGuardrails = sqliteTable(
  "mcp_server_guardrails",
  {
    ...record,
    workspaceId: text("workspace_id").notNull(),
    guardrailId: text("guardrail_id")
      .notNull()
      .references(() => guardrails.id, { onDelete: "cascade" }),
    serverId: text("server_id")
      .notNull()
      .references(() => mcpServers.id, { onDelete: "cascade" }),
    /** JSON array with `input`, `output` or both. */
    runOn: jsonColumn<("input" | "output")[]>("run_on").notNull(),
    /** JSON array of ids of `mcp_capabilities`; empty for all. */
    capabilityIds: jsonColumn<string[]>("capability_ids").notNull().default(sql`'[]'`),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("mcp_server_guardrails_pair").on(table.guardrailId, table.serverId),
    index("mcp_server_guardrails_tenant").on(table.organisationId, table.workspaceId),
  ],
);
export type McpServerGuardrailRow = typeof mcpServerGuardrails.$inferSelect;
