import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import {
  applicationTypes,
  clientAuthMethods,
  connectionStatuses,
  type KeySet,
  oauthClientKinds,
} from "../../schemas/oauth.ts";
import { createdAt, jsonColumn, lastUpdatedAt, record } from "./columns.ts";

/** Clients of the gateway's authorization server. */
export const oauthClients = sqliteTable(
  "oauth_clients",
  {
    /** `client_id`: random, or the address of a client metadata document. */
    id: text("id").primaryKey(),
    /** Null for clients that registered themselves: they belong to no tenant. */
    organisationId: text("organisation_id"),
    /** Workspace of a client that acts for itself; null for others. */
    workspaceId: text("workspace_id"),
    kind: text("kind", { enum: oauthClientKinds }).notNull(),
    name: text("name").notNull(),
    redirectUris: jsonColumn<string[]>("redirect_uris").notNull(),
    grantTypes: jsonColumn<string[]>("grant_types").notNull(),
    authMethod: text("auth_method", { enum: clientAuthMethods }).notNull(),
    /** HMAC-SHA-256 of the secret under the pepper; null without one. */
    secretDigest: text("secret_digest"),
    /** Masked form of the secret. */
    masked: text("masked"),
    /** Public keys of the client, and the address of its key set. */
    jwks: jsonColumn<KeySet>("jwks"),
    jwksUri: text("jwks_uri"),
    /** Scopes it may ask for, separated by spaces. */
    scope: text("scope").notNull(),
    applicationType: text("application_type", { enum: applicationTypes }).notNull(),
    /** Digest of what users consent to: they are asked again when it changes. */
    digest: text("digest").notNull(),
    /** Unix milliseconds after which a document is fetched again; null for others. */
    freshUntil: integer("fresh_until"),
    /** Unix milliseconds of the last code or token. */
    lastUsedAt: integer("last_used_at").notNull(),
    createdBy: text("created_by"),
    createdAt,
  },
  (table) => [
    index("oauth_clients_tenant").on(table.organisationId),
    index("oauth_clients_used").on(table.kind, table.lastUsedAt),
  ],
);
export type OauthClientRow = typeof oauthClients.$inferSelect;

/** What a user granted to a client: an access to one MCP server. */
const granted = {
  organisationId: text("organisation_id").notNull(),
  workspaceId: text("workspace_id").notNull(),
  userId: text("user_id").notNull(),
  clientId: text("client_id").notNull(),
  serverId: text("server_id").notNull(),
  /** Address of the server, the audience of its tokens. */
  resource: text("resource").notNull(),
  scope: text("scope").notNull(),
  /** The API key by which the user signed in; null for single sign-on. */
  keyId: text("key_id"),
  /** Which secret of the key it was, as a digest; null for single sign-on. */
  keyVersion: text("key_version"),
};

/** Authorization codes. The code itself is never stored. */
export const oauthCodes = sqliteTable(
  "oauth_codes",
  {
    /** SHA-256 of the code, hexadecimal. */
    digest: text("digest").primaryKey(),
    ...granted,
    redirectUri: text("redirect_uri").notNull(),
    codeChallenge: text("code_challenge").notNull(),
    /** The family of tokens it was exchanged for; null until then. */
    familyId: text("family_id"),
    expiresAt: integer("expires_at").notNull(),
    createdAt,
  },
  (table) => [index("oauth_codes_expiry").on(table.expiresAt)],
);
export type OauthCodeRow = typeof oauthCodes.$inferSelect;

/** Families of refresh tokens: each token replaces the one before. Tokens are MACs of family and number, and not stored. */
export const oauthFamilies = sqliteTable(
  "oauth_families",
  {
    id: text("id").primaryKey(),
    ...granted,
    /** Number of the refresh token that is valid; -1 for a family without any. */
    sequence: integer("sequence").notNull(),
    /** Unix milliseconds of the last rotation. */
    rotatedAt: integer("rotated_at").notNull(),
    revokedAt: integer("revoked_at"),
    expiresAt: integer("expires_at").notNull(),
    createdAt,
  },
  (table) => [
    index("oauth_families_user").on(table.organisationId, table.userId),
    index("oauth_families_client").on(table.clientId),
    index("oauth_families_key").on(table.keyId),
    index("oauth_families_expiry").on(table.expiresAt),
  ],
);
export type OauthFamilyRow = typeof oauthFamilies.$inferSelect;

/** What users consented to. */
export const oauthConsents = sqliteTable(
  "oauth_consents",
  {
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    userId: text("user_id").notNull(),
    clientId: text("client_id").notNull(),
    serverId: text("server_id").notNull(),
    scope: text("scope").notNull(),
    /** `digest` of the client at that time. */
    clientDigest: text("client_digest").notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    primaryKey({ columns: [table.organisationId, table.userId, table.clientId, table.serverId] }),
    index("oauth_consents_client").on(table.clientId),
  ],
);

/** Revoked tokens, until they expire anyway: ids of tokens, of families, of clients, and of sessions of the console. */
export const oauthRevocations = sqliteTable(
  "oauth_revocations",
  {
    ...record,
    expiresAt: integer("expires_at").notNull(),
  },
  (table) => [index("oauth_revocations_expiry").on(table.expiresAt)],
);

/** Digests of values that work once, such as tokens of forms, until they expire anyway. */
export const oauthNonces = sqliteTable(
  "oauth_nonces",
  { digest: text("digest").primaryKey(), expiresAt: integer("expires_at").notNull() },
  (table) => [index("oauth_nonces_expiry").on(table.expiresAt)],
);

/** Keys that sign tokens of the installation. */
export const signingKeys = sqliteTable("signing_keys", {
  /** Key id: the thumbprint of the public key (RFC 7638). */
  id: text("id").primaryKey(),
  /** `access` or `identity`; each has one key. */
  purpose: text("purpose").notNull().unique(),
  algorithm: text("algorithm").notNull(),
  publicJwk: jsonColumn("public_jwk").notNull(),
  /** The private key, sealed under a key derived from the root secret. */
  sealed: text("sealed").notNull(),
  createdAt,
});
export type SigningKeyRow = typeof signingKeys.$inferSelect;

/** Accounts of users at upstream MCP servers. Tokens are sealed in `secrets`. */
export const mcpConnections = sqliteTable(
  "mcp_connections",
  {
    /** Digest of organisation, workspace, user, server and issuer: a row moved to another place does not open. */
    ...record,
    workspaceId: text("workspace_id").notNull(),
    /** Empty for the account of the integration itself. */
    userId: text("user_id").notNull(),
    serverId: text("server_id").notNull(),
    /** Issuer of the authorization server. */
    issuer: text("issuer").notNull(),
    status: text("status", { enum: connectionStatuses }).notNull(),
    /** Scopes that the upstream asked for. */
    wantedScope: text("wanted_scope"),
    scope: text("scope"),
    /** Incremented when the tokens change. */
    version: integer("version").notNull(),
    /** Unix milliseconds; null if unknown. */
    expiresAt: integer("expires_at"),
    /** Until when a process may refresh alone; 0 for none. */
    lockedUntil: integer("locked_until").notNull().default(0),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    index("mcp_connections_server").on(table.organisationId, table.workspaceId, table.serverId),
    index("mcp_connections_user").on(table.organisationId, table.userId),
  ],
);
export type McpConnectionRow = typeof mcpConnections.$inferSelect;

/** The gateway's registrations at authorization servers of upstream MCP servers. Secrets are sealed in `secrets`. */
export const mcpRegistrations = sqliteTable("mcp_registrations", {
  /** Digest of organisation, integration, issuer and redirect address. */
  id: text("id").primaryKey(),
  organisationId: text("organisation_id").notNull(),
  integrationId: text("integration_id").notNull(),
  issuer: text("issuer").notNull(),
  clientId: text("client_id").notNull(),
  authMethod: text("auth_method").notNull(),
  /** Unix milliseconds at which the secret expires; null if it does not. */
  expiresAt: integer("expires_at"),
  createdAt,
});
export type McpRegistrationRow = typeof mcpRegistrations.$inferSelect;
