import { index, integer, real, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { LabelRules } from "../../schemas/labels.ts";
import {
  type PolicyCondition,
  type PolicyGrouping,
  policyStatuses,
  rateTargets,
  rateTypes,
  rateUnits,
  resetPeriods,
  usageTypes,
} from "../../schemas/policies.ts";
import type { Queue } from "../../schemas/queues.ts";
import { createdAt, jsonColumn, lastUpdatedAt } from "./columns.ts";
import { workspaceRecord } from "./tenants.ts";

/** Budgets: what requests that meet the conditions may use in a period. */
export const usageLimitPolicies = sqliteTable(
  "usage_limit_policies",
  {
    ...workspaceRecord,
    name: text("name"),
    description: text("description"),
    /** `[{key, value, excludes?}]`: all of them must hold. Values are a string or a list of strings. */
    conditions: jsonColumn<PolicyCondition[]>("conditions").notNull(),
    /** `[{key}]`: each combination of their values has its own counter. */
    groupBy: jsonColumn<PolicyGrouping[]>("group_by").notNull(),
    /** What is counted. */
    type: text("type", { enum: usageTypes }).notNull(),
    /** US dollars, tokens or requests, by the type. */
    creditLimit: real("credit_limit").notNull(),
    /** In the same unit, below the limit. */
    alertThreshold: real("alert_threshold"),
    /** Without it and without days the budget is cumulative. */
    periodicReset: text("periodic_reset", { enum: resetPeriods }),
    periodicResetDays: integer("periodic_reset_days"),
    /** Unix milliseconds, at midnight UTC; null when the counters are never reset. */
    nextUsageResetAt: integer("next_usage_reset_at"),
    /** Unix milliseconds. */
    lastResetAt: integer("last_reset_at"),
    status: text("status", { enum: policyStatuses }).notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [index("usage_limit_policies_workspace").on(table.organisationId, table.workspaceId, table.status)],
);
export type UsageLimitPolicyRow = typeof usageLimitPolicies.$inferSelect;

/** Rate limits: how many requests or tokens may pass in each minute, hour, day or week. */
export const rateLimitPolicies = sqliteTable(
  "rate_limit_policies",
  {
    ...workspaceRecord,
    name: text("name"),
    description: text("description"),
    /** As those of budgets. */
    conditions: jsonColumn<PolicyCondition[]>("conditions").notNull(),
    groupBy: jsonColumn<PolicyGrouping[]>("group_by").notNull(),
    /** What is counted. */
    type: text("type", { enum: rateTypes }).notNull(),
    /** `rpm`, `rph`, `rpd` or `rpw`: a minute, an hour, a day or a week. */
    unit: text("unit", { enum: rateUnits }).notNull(),
    /** Most in one unit of time; 0 lets nothing pass. */
    value: real("value").notNull(),
    /** What it limits, for good: `llm`, requests to models, or `mcp_tools`. */
    target: text("target", { enum: rateTargets }).notNull(),
    /** How requests wait for room; null: they are refused. */
    queue: jsonColumn<Queue>("queue"),
    status: text("status", { enum: policyStatuses }).notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [index("rate_limit_policies_workspace").on(table.organisationId, table.workspaceId, table.status)],
);
export type RateLimitPolicyRow = typeof rateLimitPolicies.$inferSelect;

/** What labels the targets of requests must have that meet the conditions. */
export const labelPolicies = sqliteTable(
  "label_policies",
  {
    ...workspaceRecord,
    name: text("name"),
    description: text("description"),
    /** As those of budgets. */
    conditions: jsonColumn<PolicyCondition[]>("conditions").notNull(),
    /** `{region: "eu"}`: each label with its value, or a list of values. */
    requireLabels: jsonColumn<LabelRules>("require_labels").notNull(),
    status: text("status", { enum: policyStatuses }).notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [index("label_policies_workspace").on(table.organisationId, table.workspaceId, table.status)],
);
export type LabelPolicyRow = typeof labelPolicies.$inferSelect;
