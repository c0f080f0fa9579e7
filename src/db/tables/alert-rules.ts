import { index, integer, real, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { AlertMetric, AlertState, ShownDestination } from "../../schemas/alert-rules.ts";
import { createdAt, jsonColumn, lastUpdatedAt, record } from "./columns.ts";

/** Lease of a row on which one process works. */
const lease = {
  leaseOwner: text("lease_owner"),
  leaseUntil: integer("lease_until").notNull().default(0),
};

/** Rules that look at the requests of a workspace. Times are Unix milliseconds. */
export const alertRules = sqliteTable(
  "alert_rules",
  {
    ...record,
    workspaceId: text("workspace_id").notNull(),
    name: text("name").notNull(),
    metric: text("metric").$type<AlertMetric>().notNull(),
    /** Filters of analytics by their names. */
    filter: jsonColumn<Record<string, string>>("filter").notNull(),
    threshold: real("threshold").notNull(),
    windowSeconds: integer("window_seconds").notNull(),
    minRequests: integer("min_requests").notNull(),
    cooldownSeconds: integer("cooldown_seconds").notNull(),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    /** Secrets are masked. They are sealed in `secrets`. */
    destinations: jsonColumn<ShownDestination[]>("destinations").notNull(),
    state: text("state").$type<AlertState>().notNull(),
    /** Of the last evaluation. */
    value: real("value"),
    requests: integer("requests"),
    evaluatedAt: integer("evaluated_at"),
    /** When an event was sent last that it fires. */
    lastFiredAt: integer("last_fired_at"),
    /** An event said that it fires, and none that it is over. */
    isOpen: integer("is_open", { mode: "boolean" }).notNull(),
    nextEvaluationAt: integer("next_evaluation_at").notNull(),
    ...lease,
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    index("alert_rules_tenant").on(table.organisationId, table.workspaceId, table.createdAt),
    index("alert_rules_due").on(table.nextEvaluationAt),
  ],
);
export type AlertRuleRow = typeof alertRules.$inferSelect;

/** What rules found, and what is left to deliver of it. */
export const alertEvents = sqliteTable(
  "alert_events",
  {
    ...record,
    workspaceId: text("workspace_id").notNull(),
    ruleId: text("rule_id").notNull(),
    /** `firing`, `resolved` or `test`. */
    type: text("type").$type<"firing" | "resolved" | "test">().notNull(),
    /** The rule when it happened, as the next four. */
    name: text("name").notNull(),
    metric: text("metric").$type<AlertMetric>().notNull(),
    threshold: real("threshold").notNull(),
    windowSeconds: integer("window_seconds").notNull(),
    value: real("value"),
    requests: integer("requests"),
    /** Destinations that have it, by their place and address. */
    sent: jsonColumn<string[]>("sent").notNull(),
    /** Why the last attempt failed somewhere. */
    problem: text("problem"),
    attempts: integer("attempts").notNull().default(0),
    /** Null: nothing is left to do, or it was given up. */
    nextAttemptAt: integer("next_attempt_at"),
    ...lease,
    createdAt,
  },
  (table) => [
    index("alert_events_rule").on(table.organisationId, table.workspaceId, table.ruleId, table.createdAt),
    index("alert_events_due").on(table.nextAttemptAt),
  ],
);
export type AlertEventRow = typeof alertEvents.$inferSelect;
