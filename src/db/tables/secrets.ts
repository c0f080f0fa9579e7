import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { managerTypes } from "../../schemas/secret-references.ts";
import { createdAt, jsonColumn, lastUpdatedAt, record } from "./columns.ts";

/** Every sealed secret, in one table for the rotation of master keys. */
export const secrets = sqliteTable(
  "secrets",
  {
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id"),
    /** What kind of record it belongs to. */
    kind: text("kind").notNull(),
    recordId: text("record_id").notNull(),
    field: text("field").notNull(),
    /** Version of the master key its data key is wrapped with. */
    kekVersion: text("kek_version").notNull(),
    /** `<nonce>.<wrapped data key>`, base64url. */
    wrappedKey: text("wrapped_key").notNull(),
    /** `<nonce>.<ciphertext>`, base64url. */
    sealed: text("sealed").notNull(),
    createdAt,
  },
  (table) => [
    primaryKey({ columns: [table.kind, table.recordId, table.field] }),
    index("secrets_tenant").on(table.organisationId),
    index("secrets_kek").on(table.kekVersion),
  ],
);
export type SecretRow = typeof secrets.$inferSelect;

/** References to secrets in external stores. */
export const secretReferences = sqliteTable(
  "secret_references",
  {
    ...record,
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    description: text("description"),
    managerType: text("manager_type", { enum: managerTypes }).notNull(),
    /** Credentials of the store that are not secret; the secrets are sealed in `secrets`. */
    authConfig: jsonColumn<Record<string, string>>("auth_config").notNull(),
    /** Masked forms of the sealed secrets by field name. */
    masked: jsonColumn<Record<string, string>>("masked").notNull().default(sql`'{}'`),
    secretPath: text("secret_path").notNull(),
    secretKey: text("secret_key"),
    allowAllWorkspaces: integer("allow_all_workspaces", { mode: "boolean" }).notNull().default(true),
    /** JSON array of workspace ids; used when not all are allowed. */
    allowedWorkspaces: jsonColumn<string[]>("allowed_workspaces"),
    tags: jsonColumn<Record<string, string>>("tags"),
    status: text("status", { enum: ["active"] }).notNull(),
    createdBy: text("created_by").notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [uniqueIndex("secret_references_slug").on(table.organisationId, table.slug)],
);
export type SecretReferenceRow = typeof secretReferences.$inferSelect;
