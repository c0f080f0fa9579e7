import type { Database } from "../client.ts";
import { type FeedbackRow, feedback } from "../tables/feedback.ts";
import { createTenantStore, type Tenant } from "../tenant-store.ts";

/** What analytics read of a feedback. */
export interface TraceRating extends Pick<FeedbackRow, "workspaceId" | "traceId" | "value" | "weight"> {
  /** Place in the order of reading, with `workspaceId`. */
  readonly rowId: number;
}

/** Ratings of traces. */
export interface FeedbackStore {
  /** @throws {TypeError} If a row belongs to another tenant. */
  add(tenant: Tenant, rows: readonly FeedbackRow[]): Promise<void>;
  /** Changes a feedback; false if the tenant has none with this id. */
  update(tenant: Tenant, id: string, changes: Partial<FeedbackRow>): Promise<boolean>;
  /** Feedback of a tenant behind another, at most `limit`. */
  readAfter(tenant: Tenant, after: TraceRating | undefined, limit: number): Promise<TraceRating[]>;
  /** Removes feedback that was created before `time` (Unix milliseconds), at most `limit`. Returns how much. */
  purge(time: number, limit: number): Promise<number>;
}

/** Creates the store of feedback. */
export function createFeedbackStore(database: Database): FeedbackStore {
  const rows = createTenantStore(database, feedback);
  return {
    async add(tenant, added) {
      await database.write(added.map((row) => rows.insert(tenant, row)));
    },
    async update(tenant, id, changes) {
      const [result] = await database.write([rows.update(tenant, { id }, changes)]);
      return (result?.rowsAffected ?? 0) > 0;
    },
    async readAfter({ organisationId, workspaceId }, after, limit) {
      const ofWorkspace = workspaceId === null ? "" : "AND workspace_id = ?";
      const sql = `SELECT rowid AS row_id, workspace_id, trace_id, value, weight FROM feedback
        WHERE organisation_id = ? ${ofWorkspace} AND (workspace_id, rowid) > (?, ?)
        ORDER BY workspace_id, rowid LIMIT ?`;
      const place = [after?.workspaceId ?? "", after?.rowId ?? 0];
      const args = [organisationId, ...(workspaceId === null ? [] : [workspaceId]), ...place, limit];
      const { rows: found } = await database.read({ sql, args });
      return found.map((row) => ({
        rowId: Number(row.row_id),
        workspaceId: String(row.workspace_id),
        traceId: String(row.trace_id),
        value: Number(row.value),
        weight: Number(row.weight),
      }));
    },
    async purge(time, limit) {
      const sql = "DELETE FROM feedback WHERE rowid IN (SELECT rowid FROM feedback WHERE created_at < ? LIMIT ?)";
      const [result] = await database.write([{ sql, args: [time, limit] }]);
      return result?.rowsAffected ?? 0;
    },
  };
}
