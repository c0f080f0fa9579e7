import type { Row } from "@libsql/client";
import type { BatchRange, BatchSize, IndexState, LoggedBatch, Slice } from "../../schemas/log-segments.ts";
import type { LogDetails } from "../../schemas/logs.ts";
import type { Database } from "../client.ts";

// How batches of the log are read: of one tenant for lists by `log-segments.ts`, and of all for the index by
// `log-sealing.ts`. Those who follow the log read them by `log-tail.ts`.

/** Rows of a stored batch; none if it does not parse, as this program did not write it. */
export function readDetails(text: string): LogDetails[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as LogDetails[]) : []; // only `toBatch` of the log writes this column
  } catch {
    return [];
  }
}

/** A slice of a segment from its row. */
export function toSlice({ first_row, end_row, organisation_id, workspace_id, first_id, last_id }: Row): Slice {
  return {
    organisationId: String(organisation_id),
    workspaceId: workspace_id === null ? null : String(workspace_id),
    start: Number(first_row),
    end: Number(end_row),
    firstId: String(first_id),
    lastId: String(last_id),
  };
}

/** A condition on the tenant; true for all tenants. */
interface TenantCondition {
  readonly sql: string;
  readonly args: readonly string[];
}

/** Batches of all tenants: for the index alone. */
export const ofAllTenants: TenantCondition = { sql: "true", args: [] };

/** Batches are found by their numbers: an index over tenants would only lead to more of them. */
const source = "FROM log_batches NOT INDEXED WHERE";

/** Batches with a larger number, in order, at most `limit`. */
export async function readSizes(
  database: Database,
  condition: TenantCondition,
  { afterSeq, limit }: { afterSeq: number; limit: number },
): Promise<BatchSize[]> {
  const sql = `SELECT seq, first_id, last_id, octet_length(details) AS bytes ${source} ${condition.sql} AND seq > ?
    ORDER BY seq LIMIT ?`;
  const { rows } = await database.read({ sql, args: [...condition.args, afterSeq, limit] });
  return rows.map(({ seq, first_id, last_id, bytes }) => ({
    seq: Number(seq),
    firstId: String(first_id),
    lastId: String(last_id),
    bytes: Number(bytes),
  }));
}

function toBatch({ seq, organisation_id, workspace_id, details }: Row): LoggedBatch {
  return {
    seq: Number(seq),
    organisationId: String(organisation_id),
    workspaceId: workspace_id === null ? null : String(workspace_id),
    details: readDetails(String(details)),
  };
}

/** Batches with their rows, in order. */
export async function readBatches(
  database: Database,
  condition: TenantCondition,
  { firstSeq, lastSeq }: BatchRange,
): Promise<LoggedBatch[]> {
  const sql = `SELECT seq, organisation_id, workspace_id, details ${source} ${condition.sql}
    AND seq BETWEEN ? AND ? ORDER BY seq`;
  const { rows } = await database.read({ sql, args: [...condition.args, firstSeq, lastSeq] });
  return rows.map(toBatch);
}

const stateSql = `SELECT count(*) AS segments, sum(id) AS id_sum, max(last_seq) AS sealed,
  (SELECT max(id) FROM log_changes) AS change
  FROM log_segments WHERE state = 'live'`;

/** Differs once the index or the log has changed. */
export async function readIndexState(database: Database): Promise<IndexState> {
  const { rows } = await database.read(stateSql);
  const [row] = rows;
  return {
    segments: Number(row?.segments ?? 0),
    idSum: Number(row?.id_sum ?? 0),
    sealed: Number(row?.sealed ?? 0),
    change: Number(row?.change ?? 0),
  };
}
