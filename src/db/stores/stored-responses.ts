import { and, eq } from "drizzle-orm";
import { type Database, toStatement } from "../client.ts";
import { type StoredResponseRow, storedResponses } from "../tables/stored-responses.ts";

/** Owner of a response. */
export type ResponseOwner = Pick<StoredResponseRow, "organisationId" | "workspaceId">;

/** One response of a conversation. */
export type ResponseLink = Pick<StoredResponseRow, "id" | "previousId" | "sealed">;

/** Stored responses. Every query names the owner. */
export interface StoredResponseStore {
  /** Writes rows, all or none; existing ones are replaced. */
  write(rows: readonly StoredResponseRow[]): Promise<void>;
  /** A response and its predecessors, newest first, at most `limit`. */
  chain(owner: ResponseOwner, id: string, limit: number): Promise<ResponseLink[]>;
  /** Deletes a response; returns whether it existed. */
  remove(owner: ResponseOwner, id: string): Promise<boolean>;
  /** Removes at most `limit` rows made before `time` (Unix milliseconds); returns how many. */
  purge(time: number, limit: number): Promise<number>;
  /** Removes at most `limit` rows of deleted workspaces; returns how many. */
  purgeArchived(limit: number): Promise<number>;
}

const archivedSql = `DELETE FROM stored_responses WHERE id IN (
  SELECT stored.id FROM workspaces
  CROSS JOIN stored_responses AS stored ON stored.organisation_id = workspaces.organisation_id AND stored.workspace_id = workspaces.id
  WHERE workspaces.status = 'archived' LIMIT ?
)`;

const columns = "id, previous_id, sealed";
const chainSql = `WITH RECURSIVE chain(${columns}, depth) AS (
  SELECT ${columns}, 1 FROM stored_responses WHERE id = ? AND organisation_id = ? AND workspace_id = ?
  UNION ALL
  SELECT link.id, link.previous_id, link.sealed, depth + 1
  FROM stored_responses AS link JOIN chain ON link.id = chain.previous_id
  WHERE link.organisation_id = ? AND link.workspace_id = ? AND depth < ?
) SELECT ${columns} FROM chain ORDER BY depth`;

/** The store over libSQL. */
export function createStoredResponseStore(database: Database): StoredResponseStore {
  const { orm } = database;
  return {
    async write(rows) {
      await database.write(
        rows.map((row) => {
          const statement = toStatement(orm.insert(storedResponses).values(row));
          return { ...statement, sql: statement.sql.replace(/^insert into/, "insert or replace into") };
        }),
      );
    },
    async chain({ organisationId, workspaceId }, id, limit) {
      const owner = [organisationId, workspaceId];
      const { rows } = await database.read({ sql: chainSql, args: [id, ...owner, ...owner, limit] });
      return rows.map((row) => ({
        id: String(row.id),
        previousId: row.previous_id === null ? null : String(row.previous_id),
        sealed: String(row.sealed),
      }));
    },
    async remove({ organisationId, workspaceId }, id) {
      const { id: ids, organisationId: organisations, workspaceId: workspaces } = storedResponses;
      const owned = and(eq(ids, id), eq(organisations, organisationId), eq(workspaces, workspaceId));
      const [removed] = await database.write([toStatement(orm.delete(storedResponses).where(owned))]);
      return (removed?.rowsAffected ?? 0) > 0;
    },
    async purge(time, limit) {
      const old = "SELECT id FROM stored_responses WHERE created_at < ? ORDER BY created_at LIMIT ?";
      const sql = `DELETE FROM stored_responses WHERE id IN (${old})`;
      const [removed] = await database.write([{ sql, args: [time, limit] }]);
      return removed?.rowsAffected ?? 0;
    },
    async purgeArchived(limit) {
      const [removed] = await database.write([{ sql: archivedSql, args: [limit] }]);
      return removed?.rowsAffected ?? 0;
    },
  };
}
