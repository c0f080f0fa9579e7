import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * What was done to an organisation, numbered without gaps. Triggers refuse changes; each row's `mac` covers the row before
 * it, so that a row cannot be changed, removed or put in between unnoticed.
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
    /** JSON texts, redacted. */
    queryParams: text("query_params").notNull(),
    requestBody: text("request_body").notNull(),
    requestHeaders: text("request_headers").notNull(),
    /** The acting person, or the key when nobody stands behind it. */
    userId: text("user_id").notNull(),
    /** `user` or `api_key`. */
    userType: text("user_type").notNull(),
    workspaceId: text("workspace_id"),
    resourceType: text("resource_type").notNull(),
    resourceId: text("resource_id"),
    action: text("action").notNull(),
    responseStatusCode: integer("response_status_code").notNull(),
    clientIp: text("client_ip").notNull(),
    country: text("country"),
    /** HMAC-SHA-256 over the former row's `mac` and this row, base64url. */
    mac: text("mac").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organisationId, table.seq] }),
    index("audit_logs_time").on(table.organisationId, table.time),
  ],
);
export type AuditLogRow = typeof auditLogs.$inferSelect;

/** What changed, in order: nodes drop what they hold of it. Old rows go; who was away longer drops everything. */
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
