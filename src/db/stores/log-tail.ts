import type { Row } from "@libsql/client";
import type { Database } from "../client.ts";
import { type LogScope, scopeCondition } from "./log-scope.ts";

/** A batch of the log with its rows as they are stored: `readDetails` parses them. */
export interface BatchText extends LogScope {
  /** Its number, in the order of writing. */
  readonly seq: number;
  readonly text: string;
}

/** A batch without its rows. */
export interface BatchHead extends LogScope {
  readonly seq: number;
  /** Ids of its rows lie between these, both inclusive. */
  readonly firstId: string;
  readonly lastId: string;
  /** Of its rows. */
  readonly bytes: number;
}

/** A trace of a workspace. */
interface TraceOf {
  readonly workspaceId: string;
  readonly traceId: string;
}

interface TraceMean extends TraceOf {
  readonly mean: number;
}

/** What those who follow the log read. */
export interface LogTailStore {
  /** Number of the newest batch of all tenants; 0 without any. */
  newest(): Promise<number>;
  /** Batches of some scopes with a larger number, in order, at most `limit`. Batches of other scopes may be among them. */
  readHeads(scopes: readonly LogScope[], afterSeq: number, limit: number): Promise<BatchHead[]>;
  /** Some of these batches with their rows, by their numbers, in order. */
  readBatches(scopes: readonly LogScope[], seqs: readonly number[]): Promise<BatchText[]>;
  /** Means of value times weight of the feedback of some traces; those without feedback are left out. */
  readRatings(scope: LogScope, traces: readonly TraceOf[]): Promise<TraceMean[]>;
}

/** The condition on the tenants: their organisations, unless there is one scope. */
function conditionOf(scopes: readonly LogScope[]): { sql: string; args: string[] } {
  const [only] = scopes;
  if (only && scopes.length === 1) return scopeCondition(only);
  const organisations = [...new Set(scopes.map(({ organisationId }) => organisationId))];
  return { sql: "organisation_id IN (SELECT value FROM json_each(?))", args: [JSON.stringify(organisations)] };
}

function scopeOf({ organisation_id, workspace_id }: Row): LogScope {
  return {
    organisationId: String(organisation_id),
    workspaceId: workspace_id === null ? null : String(workspace_id),
  };
}

/** Batches are found by their numbers: an index over tenants would only lead to more of them. */
const headsSql = (condition: string) => `SELECT seq, organisation_id, workspace_id, first_id, last_id,
    octet_length(details) AS bytes
  FROM log_batches NOT INDEXED WHERE ${condition} AND seq > ? ORDER BY seq LIMIT ?`;

const batchesSql = (condition: string) => `SELECT seq, organisation_id, workspace_id, details
  FROM log_batches NOT INDEXED WHERE ${condition} AND seq IN (SELECT value FROM json_each(?)) ORDER BY seq`;

const ratingsSql = `SELECT workspace_id, trace_id, avg(value * weight) AS mean FROM feedback
  WHERE organisation_id = ? AND (workspace_id, trace_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))
  GROUP BY workspace_id, trace_id`;

/** The store over libSQL. */
export function createLogTailStore(database: Database): LogTailStore {
  return {
    async newest() {
      const { rows } = await database.read("SELECT max(seq) AS newest FROM log_batches");
      return Number(rows[0]?.newest ?? 0);
    },
    async readHeads(scopes, afterSeq, limit) {
      const { sql, args } = conditionOf(scopes);
      const { rows } = await database.read({ sql: headsSql(sql), args: [...args, afterSeq, limit] });
      return rows.map((row) => ({
        ...scopeOf(row),
        seq: Number(row.seq),
        firstId: String(row.first_id),
        lastId: String(row.last_id),
        bytes: Number(row.bytes),
      }));
    },
    async readRatings({ organisationId }, traces) {
      const pairs = traces.map(({ workspaceId, traceId }) => [workspaceId, traceId]);
      const { rows } = await database.read({ sql: ratingsSql, args: [organisationId, JSON.stringify(pairs)] });
      return rows.map(({ workspace_id, trace_id, mean }) => ({
        workspaceId: String(workspace_id),
        traceId: String(trace_id),
        mean: Number(mean),
      }));
    },
    async readBatches(scopes, seqs) {
      const { sql, args } = conditionOf(scopes);
      const { rows } = await database.read({ sql: batchesSql(sql), args: [...args, JSON.stringify(seqs)] });
      return rows.map((row) => ({ ...scopeOf(row), seq: Number(row.seq), text: String(row.details) }));
    },
  };
}
