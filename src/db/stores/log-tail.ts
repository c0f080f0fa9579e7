import type { Row } from "@libsql/client";
import type { BatchRange, BatchSize } from "../../schemas/log-segments.ts";
import type { Database } from "../client.ts";
import { readSizes, selectBatches } from "./log-batches.ts";
import { type LogScope, scopeCondition } from "./log-scope.ts";

/** A batch of the log with its rows as they are stored: `readDetails` parses them. */
export interface BatchText extends LogScope {
  /** Its number, in the order of writing. */
  readonly seq: number;
  readonly text: string;
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
  readSizes(scopes: readonly LogScope[], afterSeq: number, limit: number): Promise<BatchSize[]>;
  /** The same batches with their rows. */
  readTexts(scopes: readonly LogScope[], range: BatchRange): Promise<BatchText[]>;
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

function toText({ seq, organisation_id, workspace_id, details }: Row): BatchText {
  return {
    seq: Number(seq),
    organisationId: String(organisation_id),
    workspaceId: workspace_id === null ? null : String(workspace_id),
    text: String(details),
  };
}

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
    readSizes: (scopes, afterSeq, limit) => readSizes(database, conditionOf(scopes), { afterSeq, limit }),
    async readRatings({ organisationId }, traces) {
      const pairs = traces.map(({ workspaceId, traceId }) => [workspaceId, traceId]);
      const { rows } = await database.read({ sql: ratingsSql, args: [organisationId, JSON.stringify(pairs)] });
      return rows.map(({ workspace_id, trace_id, mean }) => ({
        workspaceId: String(workspace_id),
        traceId: String(trace_id),
        mean: Number(mean),
      }));
    },
    readTexts: async (scopes, range) => (await selectBatches(database, conditionOf(scopes), range)).map(toText),
  };
}
