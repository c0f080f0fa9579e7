import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { createdAt, jsonColumn } from "./columns.ts";

/** Batches the gateway runs. Times are Unix milliseconds. */
export const gatewayBatches = sqliteTable(
  "gateway_batches",
  {
    /** `gw_batch_<uuid>`. */
    id: text("id").primaryKey(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    /** The key that made it; its lines are this key's requests. */
    apiKeyId: text("api_key_id").notNull(),
    status: text("status").notNull(),
    endpoint: text("endpoint").notNull(),
    completionWindow: text("completion_window").notNull(),
    /** Model of lines that name none. */
    model: text("model"),
    metadata: jsonColumn("metadata"),
    inputFileId: text("input_file_id").notNull(),
    /** Files that are written while it runs; they are the answer's only when they hold something. */
    outputFileId: text("output_file_id"),
    errorFileId: text("error_file_id"),
    /** Seconds output files live after the batch was made; null: they stay. */
    outputSeconds: integer("output_seconds"),
    /** What is wrong with the input: a list of `{code, message, param, line}`. */
    errors: jsonColumn("errors"),
    /** Lines of the input, those answered, and those that failed. */
    total: integer("total").notNull().default(0),
    completed: integer("completed").notNull().default(0),
    failed: integer("failed").notNull().default(0),
    /** Tokens of all answers by kind. */
    usage: jsonColumn("usage"),
    /** Nano-dollars of all answers; null while none has a cost that is known. */
    cost: integer("cost"),
    /** Bytes of the input that are done with; of a batch at a provider, lines of the output that is read. */
    position: integer("position").notNull().default(0),
    /** The provider whose own batch it is; null: its lines are called one by one. */
    provider: text("provider"),
    /** Options for the provider's job, as they were given. */
    providerOptions: jsonColumn("provider_options"),
    /** The input as the provider calls it. */
    providerFileId: text("provider_file_id"),
    /** When the provider was first asked for its batch: an answer may have been lost. */
    providerAskedAt: integer("provider_asked_at"),
    providerBatchId: text("provider_batch_id"),
    /** State of the provider's batch, in our words, and its last answer. */
    providerStatus: text("provider_status"),
    providerBatch: jsonColumn("provider_batch"),
    /** Files of the provider's answers that are read: output, then errors. */
    collected: integer("collected").notNull().default(0),
    /** Grows with every step: two runners that take the same step clash here. */
    turn: integer("turn").notNull().default(0),
    /** The runner that has it, and until when. */
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
