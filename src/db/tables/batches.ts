import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { createdAt, jsonColumn, record } from "./columns.ts";

/** Batches the gateway runs. Times are Unix milliseconds. */
export const gatewayBatches = sqliteTable(
  "gateway_batches",
  {
    /** `gw_batch_<uuid>`. */
    ...record,
    workspaceId: text("workspace_id").notNull(),
    /** The key that created it; its lines count as requests of this key. */
    apiKeyId: text("api_key_id").notNull(),
    status: text("status").notNull(),
    endpoint: text("endpoint").notNull(),
    completionWindow: text("completion_window").notNull(),
    /** Model of lines without one. */
    model: text("model"),
    metadata: jsonColumn("metadata"),
    inputFileId: text("input_file_id").notNull(),
    /** Files written while it runs; the batch shows them only if they are not empty. */
    outputFileId: text("output_file_id"),
    errorFileId: text("error_file_id"),
    /** Lifetime of output files in seconds since the batch was created; null: unlimited. */
    outputSeconds: integer("output_seconds"),
    /** Problems of the input: a list of `{code, message, param, line}`. */
    errors: jsonColumn("errors"),
    /** Lines of the input, completed ones, and failed ones. */
    total: integer("total").notNull().default(0),
    completed: integer("completed").notNull().default(0),
    failed: integer("failed").notNull().default(0),
    /** Tokens of all responses by kind. */
    usage: jsonColumn("usage"),
    /** Nano-dollars of all responses; null as long as no cost is known. */
    cost: integer("cost"),
    /** Bytes of the input that are processed; for a provider's batch, lines of the output that were read. */
    position: integer("position").notNull().default(0),
    /** The provider that runs the batch; null: the gateway calls its lines one by one. */
    provider: text("provider"),
    /** Options for the provider's job, as given. */
    providerOptions: jsonColumn("provider_options"),
    /** The provider's id of the input. */
    providerFileId: text("provider_file_id"),
    /** When the provider was first asked to create its batch: the response may have been lost. */
    providerAskedAt: integer("provider_asked_at"),
    providerBatchId: text("provider_batch_id"),
    /** State of the provider's batch, in the gateway's terms, and its last response. */
    providerStatus: text("provider_status"),
    providerBatch: jsonColumn("provider_batch"),
    /** Number of result files read so far: output, then errors. */
    collected: integer("collected").notNull().default(0),
    /** Incremented with every step: two runners that take the same step conflict here. */
    turn: integer("turn").notNull().default(0),
    /** The runner that holds the lease, and its expiry. */
    leaseOwner: text("lease_owner"),
    leaseUntil: integer("lease_until").notNull().default(0),
    createdAt,
    inProgressAt: integer("in_progress_at"),
    expiresAt: integer("expires_at").notNull(),
    finalizingAt: integer("finalizing_at"),
    completedAt: integer("completed_at"),
    failedAt: integer("failed_at"),
    expiredAt: integer("expired_at"),
    cancellingAt: integer("cancelling_at"),
    cancelledAt: integer("cancelled_at"),
  },
  (table) => [
    index("gateway_batches_tenant").on(table.organisationId, table.workspaceId, table.createdAt),
    index("gateway_batches_work").on(table.status, table.leaseUntil),
  ],
);
export type GatewayBatchRow = typeof gatewayBatches.$inferSelect;
export type NewGatewayBatchRow = typeof gatewayBatches.$inferInsert;
