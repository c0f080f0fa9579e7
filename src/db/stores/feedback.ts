import type { Database, Statement } from "../client.ts";
import { type FeedbackRow, feedback } from "../tables/feedback.ts";
import { createTenantStore, type Tenant } from "../tenant-store.ts";

/** Where a rating stands in the order of changes. */
export interface RatingPlace {
  readonly change: number;
  readonly rowId: number;
}

/** What analytics read of a feedback. */
export interface TraceRating
  extends RatingPlace,
    Pick<FeedbackRow, "workspaceId" | "traceId" | "value" | "weight" | "createdAt"> {}

/** Ratings of traces. */
export interface FeedbackStore {
  /** @throws {TypeError} If a row belongs to another tenant. */
  add(tenant: Tenant, rows: readonly FeedbackRow[]): Promise<void>;
  find(tenant: Tenant, id: string): Promise<FeedbackRow | undefined>;
  /** The statement that changes a feedback. */
  updating(tenant: Tenant, id: string, changes: Partial<FeedbackRow>): Statement;
  /** Feedback of an organisation that was added or changed after a place, in the order of changes, at most `limit`. */
  readAfter(organisationId: string, after: RatingPlace | undefined, limit: number): Promise<TraceRating[]>;
  /** When the oldest feedback of all was created, in Unix milliseconds; infinite without any. */
  readOldest(): Promise<number>;
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
    find: (tenant, id) => rows.find(tenant, { id }),
    updating: (tenant, id, changes) => rows.update(tenant, { id }, changes),
    async readAfter(organisationId, after, limit) {
      const sql = `SELECT rowid AS row_id, change, workspace_id, trace_id, value, weight, created_at FROM feedback
        WHERE organisation_id = ? AND (change, rowid) > (?, ?) ORDER BY change, rowid LIMIT ?`;
      const args = [organisationId, after?.change ?? -1, after?.rowId ?? 0, limit];
      const { rows: found } = await database.read({ sql, args });
      return found.map((row) => ({
        rowId: Number(row.row_id),
        change: Number(row.change),
        workspaceId: String(row.workspace_id),
        traceId: String(row.trace_id),
        value: Number(row.value),
        weight: Number(row.weight),
        createdAt: Number(row.created_at),
      }));
    },
    async readOldest() {
      const { rows: found } = await database.read("SELECT min(created_at) AS oldest FROM feedback");
      const oldest = found[0]?.oldest;
      return oldest === null || oldest === undefined ? Number.POSITIVE_INFINITY : Number(oldest);
    },
    async purge(time, limit) {
      const sql = "DELETE FROM feedback WHERE rowid IN (SELECT rowid FROM feedback WHERE created_at < ? LIMIT ?)";
      const [result] = await database.write([{ sql, args: [time, limit] }]);
      return result?.rowsAffected ?? 0;
    },
  };
}
