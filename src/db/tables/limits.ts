import { sql } from "drizzle-orm";
import { index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/**
 * What was used of limits, written in the transaction of the log rows that used it: the counters always equal the sum
 * over the stored rows.
 */
export const limitCounters = sqliteTable(
  "limit_counters",
  {
    organisationId: text("organisation_id").notNull(),
    /** Id of the limit: of a policy, or of the record that has the limit. */
    limitId: text("limit_id").notNull(),
    /** What shares the limit, such as `api_key:<id>`. */
    bucket: text("bucket").notNull(),
    /** Unix milliseconds; 0 for limits that never reset. */
    windowStart: integer("window_start").notNull(),
    /** Unix milliseconds; null for limits that never reset. */
    windowEnd: integer("window_end"),
    /** Requests, tokens or nano-dollars. */
    used: real("used").notNull(),
    /** What re-priced rows have added to `used` so far: processes that run add what they have not seen yet. */
    corrected: real("corrected").notNull().default(0),
    /** Unix milliseconds of the last reset by hand: rows of requests that ended before it change the counter no more. */
    resetAt: integer("reset_at"),
  },
  (table) => [
    primaryKey({ columns: [table.organisationId, table.limitId, table.bucket, table.windowStart] }),
    index("limit_counters_by_end").on(table.windowEnd),
    index("limit_counters_corrected").on(table.windowEnd).where(sql`corrected <> 0`),
  ],
);

/**
 * Alerts of budgets: one row for each bound that the use of a bucket reached in a window. The row is written together with
 * its audit row, and then says what is left to deliver. If a counter goes down below the bound, a trigger removes the row
 * in the same transaction, so that reaching the bound again alerts again.
 */
export const limitAlerts = sqliteTable(
  "limit_alerts",
  {
    organisationId: text("organisation_id").notNull(),
    /** As in `limit_counters`, like the next two. */
    limitId: text("limit_id").notNull(),
    bucket: text("bucket").notNull(),
    windowStart: integer("window_start").notNull(),
    /** `threshold` or `exhausted`. */
    kind: text("kind").notNull(),
    /** The use that was reached: a changed threshold or limit is another bound, and alerts on its own. */
    bound: real("bound").notNull(),
    /** The same in every delivery of the alert. */
    id: text("id").notNull(),
    /** Id of the budget as the API shows it. */
    budgetId: text("budget_id").notNull(),
    /** Kind and id of the record that has the budget. */
    holderKind: text("holder_kind").notNull(),
    holderId: text("holder_id").notNull(),
    /** Null for records of the organisation. */
    workspaceId: text("workspace_id"),
    /** What the budget counts: `cost`, `tokens` or `requests`. */
    counts: text("counts").notNull(),
    /** Use when the alert was noticed, the limit, and the threshold, in the unit of the counter. */
    used: real("used").notNull(),
    most: real("most").notNull(),
    alertAt: real("alert_at"),
    /** Unix milliseconds; null for budgets that never reset. */
    windowEnd: integer("window_end"),
    /** Unix milliseconds at which the bound was reached. */
    at: integer("at").notNull(),
    /** Unix milliseconds; null until it is delivered there. */
    webhookSentAt: integer("webhook_sent_at"),
    mailSentAt: integer("mail_sent_at"),
    /** Attempts to deliver it. */
    attempts: integer("attempts").notNull(),
    /** Unix milliseconds from which a process may try to deliver it. Null: nothing is left to do, or it was given up. */
    nextAttemptAt: integer("next_attempt_at"),
  },
  (table) => [
    primaryKey({
      columns: [table.organisationId, table.limitId, table.bucket, table.windowStart, table.kind, table.bound],
    }),
    uniqueIndex("limit_alerts_id").on(table.id),
    index("limit_alerts_due").on(table.nextAttemptAt),
    index("limit_alerts_by_end").on(table.windowEnd),
  ],
);
export type LimitAlertRow = typeof limitAlerts.$inferSelect;

/** Gateway processes that share this database and lease limits from it. */
export const gatewayNodes = sqliteTable("gateway_nodes", {
  /** New with each start of a process, and after others took it for dead. */
  id: text("id").primaryKey(),
  /** Unix milliseconds of the last heartbeat, by the clock of the database. */
  seenAt: integer("seen_at").notNull(),
});

/** What processes may use of limits in their current windows. Whoever removes a process removes its leases. */
export const limitLeases = sqliteTable(
  "limit_leases",
  {
    organisationId: text("organisation_id").notNull(),
    limitId: text("limit_id").notNull(),
    bucket: text("bucket").notNull(),
    /** As in `limit_counters`. */
    windowStart: integer("window_start").notNull(),
    /** As in `limit_counters`. */
    windowEnd: integer("window_end"),
    nodeId: text("node_id").notNull(),
    /** Distinguishes the leases that a process has had, one after the other, in one window. */
    number: integer("number").notNull(),
    /** What the process may use in the window, including what it has used. */
    granted: real("granted").notNull(),
    /** What its log rows used, also counted in `limit_counters`. */
    used: real("used").notNull(),
    /** Nothing more is used of it: it is removed once log rows have used all that is granted. */
    isClosed: integer("is_closed", { mode: "boolean" }).notNull(),
  },
  (table) => [
    primaryKey({
      columns: [table.organisationId, table.limitId, table.bucket, table.windowStart, table.nodeId, table.number],
    }),
    index("limit_leases_by_node").on(table.nodeId),
    index("limit_leases_by_end").on(table.windowEnd),
  ],
);
