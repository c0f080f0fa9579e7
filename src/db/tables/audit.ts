import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { actorTypes } from "../../schemas/audit-logs.ts";

/**
 * Audit log of an organisation, numbered without gaps. Triggers reject changes; each row's `mac` covers the previous
 * row, so that changed, removed or inserted rows are detected.
 */
export const auditLogs = sqliteTable(
  "audit_logs",
  {
    organisationId: text("organisation_id").notNull(),
    /** 1 for the first row of an organisation. */
    seq: integer("seq").notNull(),
    /** Unix milliseconds. */
    time: integer("time").notNull(),
    requestId: text("request_id").notNull(),
    method: text("method").notNull(),
    uri: text("uri").notNull(),
    /** Redacted JSON. */
    queryParams: text("query_params").notNull(),
    requestBody: text("request_body").notNull(),
    requestHeaders: text("request_headers").notNull(),
    /** The acting user, or the key when there is no user. */
    userId: text("user_id").notNull(),
    userType: text("user_type", { enum: actorTypes }).notNull(),
    workspaceId: text("workspace_id"),
    resourceType: text("resource_type").notNull(),
    resourceId: text("resource_id"),
    action: text("action").notNull(),
    responseStatusCode: integer("response_status_code").notNull(),
    clientIp: text("client_ip").notNull(),
    country: text("country"),
    /** HMAC-SHA-256 over the previous row's `mac` and this row, base64url. */
    mac: text("mac").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organisationId, table.seq] }),
    index("audit_logs_time").on(table.organisationId, table.time),
  ],
);
export type AuditLogRow = typeof auditLogs.$inferSelect;

/** Changes in order: nodes drop cached records that changed. Old rows are deleted; a node that missed some drops all. */
export const changes = sqliteTable("changes", {
  seq: integer("seq").primaryKey({ autoIncrement: true }),
  organisationId: text("organisation_id").notNull(),
  /** The workspace whose record it is; empty: the organisation's own; `*`: any of them. Null: an older version wrote the row. */
  workspaceId: text("workspace_id"),
  /** Kind of record, such as `api_keys`. */
  resource: text("resource").notNull(),
  /** Empty where the change concerns several records. */
  recordId: text("record_id").notNull(),
  /** Unix milliseconds. */
  time: integer("time").notNull(),
});
