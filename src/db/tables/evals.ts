import { index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { NamedCheck, RunState, StoredVariant, Verdicts, WinnerRule } from "../../schemas/eval-runs.ts";
import { createdAt, jsonColumn, lastUpdatedAt } from "./columns.ts";

/** Sets of examples. Times are Unix milliseconds. */
export const exampleSets = sqliteTable(
  "example_sets",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    slug: text("slug").notNull(),
    name: text("name").notNull(),
    description: text("description"),
    /** Its newest version, and how many examples that has. */
    version: integer("version").notNull(),
    examples: integer("examples").notNull(),
    /** Days for which new versions and the answers of runs are stored; null: until they are deleted. */
    retentionDays: integer("retention_days"),
    /** The user, or else the key. */
    createdBy: text("created_by").notNull(),
    createdAt,
    lastUpdatedAt,
  },
  (table) => [
    uniqueIndex("example_sets_slug").on(table.workspaceId, table.slug),
    index("example_sets_tenant").on(table.organisationId, table.workspaceId, table.createdAt),
  ],
);
export type ExampleSetRow = typeof exampleSets.$inferSelect;

/** Versions of sets, which never change. Their examples are lines of a hidden file. */
export const exampleVersions = sqliteTable(
  "example_set_versions",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    setId: text("set_id").notNull(),
    /** From 1, without gaps. */
    version: integer("version").notNull(),
    examples: integer("examples").notNull(),
    bytes: integer("bytes").notNull(),
    /** Some of its examples are requests of the log. */
    fromLogs: integer("from_logs", { mode: "boolean" }).notNull(),
    fileId: text("file_id").notNull(),
    createdBy: text("created_by").notNull(),
    createdAt,
    expiresAt: integer("expires_at"),
  },
  (table) => [
    uniqueIndex("example_set_versions_number").on(table.setId, table.version),
    index("example_set_versions_tenant").on(table.organisationId, table.workspaceId, table.createdAt),
  ],
);
export type ExampleVersionRow = typeof exampleVersions.$inferSelect;

/** Runs of a version against variants. */
export const evalRuns = sqliteTable(
  "eval_runs",
  {
    id: text("id").primaryKey(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    /** The key that started it; its calls count as requests of this key. */
    apiKeyId: text("api_key_id").notNull(),
    setId: text("set_id").notNull(),
    version: integer("version").notNull(),
    name: text("name"),
    variants: jsonColumn<StoredVariant[]>("variants").notNull(),
    checks: jsonColumn<NamedCheck[]>("checks").notNull(),
    winnerBy: text("winner_by").$type<WinnerRule>().notNull(),
    minPassRate: real("min_pass_rate").notNull(),
    /** Nano-dollars. */
    budget: integer("budget").notNull(),
    concurrency: integer("concurrency").notNull(),
    status: text("status").$type<RunState>().notNull(),
    failure: text("failure"),
    /** Answers that it needs, has, and those that are errors. */
    total: integer("total").notNull(),
    done: integer("done").notNull().default(0),
    failed: integer("failed").notNull().default(0),
    /** Nano-dollars of answers and judges. */
    cost: integer("cost").notNull().default(0),
    promoted: text("promoted"),
    /** Incremented with every answer: an answer that another process has since conflicts here. */
    turn: integer("turn").notNull().default(0),
    /** The process that runs it, and until when. */
    leaseOwner: text("lease_owner"),
    leaseUntil: integer("lease_until").notNull().default(0),
    createdBy: text("created_by").notNull(),
    createdAt,
    endedAt: integer("ended_at"),
    expiresAt: integer("expires_at"),
  },
  (table) => [
    index("eval_runs_tenant").on(table.organisationId, table.workspaceId, table.createdAt),
    index("eval_runs_set").on(table.setId, table.createdAt),
    index("eval_runs_work").on(table.status, table.leaseUntil),
  ],
);
export type EvalRunRow = typeof evalRuns.$inferSelect;

/** What variants answered to examples. Their text is sealed. */
export const evalAnswers = sqliteTable(
  "eval_answers",
  {
    runId: text("run_id").notNull(),
    /** Places in the version and in the variants. */
    example: integer("example").notNull(),
    variant: integer("variant").notNull(),
    organisationId: text("organisation_id").notNull(),
    workspaceId: text("workspace_id").notNull(),
    logId: text("log_id"),
    status: integer("status").notNull(),
    /** Milliseconds. */
    latencyMs: real("latency_ms").notNull(),
    inputTokens: integer("input_tokens").notNull(),
    outputTokens: integer("output_tokens").notNull(),
    /** Nano-dollars; null where it has no price. */
    cost: integer("cost"),
    verdicts: jsonColumn<Verdicts>("verdicts").notNull(),
    /** Text, error and reasons of verdicts. */
    sealed: text("sealed").notNull(),
    rating: integer("rating"),
    ratedBy: text("rated_by"),
    createdAt,
  },
  (table) => [
    primaryKey({ columns: [table.runId, table.example, table.variant] }),
    index("eval_answers_tenant").on(table.organisationId, table.workspaceId, table.createdAt),
  ],
);
export type EvalAnswerRow = typeof evalAnswers.$inferSelect;
