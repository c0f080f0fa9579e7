import type { InStatement } from "@libsql/client";
import { and, asc, eq, inArray, lt, lte, ne, type SQL, sql } from "drizzle-orm";
import { type Database, type Statement, toStatement } from "../client.ts";
import { type LogExportRow, logExports } from "../tables/log-exports.ts";
import { workspaces } from "../tables/tenants.ts";
import type { Lease } from "./batches.ts";

/** Queries on exports beyond those of the tenant store: for what writes their files, and has no tenant. */
export interface LogExportStore {
  /** Writes statements in one transaction. */
  write(statements: readonly InStatement[]): Promise<void>;
  /** Running exports that no process holds, those that waited longest first. */
  listFree(now: number, limit: number): Promise<LogExportRow[]>;
  /** Takes an export that no process holds; false if another was faster. */
  claim(row: LogExportRow, lease: Lease, now: number): Promise<boolean>;
  /** The export, while it runs and this process holds it. */
  reload(row: LogExportRow, owner: string): Promise<LogExportRow | undefined>;
  /** Holds an export on; false if it ended, or another process has it. */
  renew(row: LogExportRow, lease: Lease): Promise<boolean>;
  /** Gives an export back. It is taken again after this time. */
  release(row: LogExportRow, owner: string, leaseUntil: number): Promise<void>;
  /** One step. Its transaction fails with a conflict if the export no longer runs, or another process took the step. */
  step(row: LogExportRow, owner: string, changes: Partial<LogExportRow>): Statement;
  /** Removes exports that ended before `time`, and those of deleted workspaces. */
  purge(time: number): Promise<void>;
}

const running = "in_progress";

function ofRow({ organisationId, workspaceId, id }: LogExportRow): SQL | undefined {
  return and(
    eq(logExports.organisationId, organisationId),
    eq(logExports.workspaceId, workspaceId),
    eq(logExports.id, id),
  );
}

/** Creates the store. */
export function createLogExportStore(database: Database): LogExportStore {
  const { orm } = database;
  const reload = async (row: LogExportRow, owner: string): Promise<LogExportRow | undefined> => {
    const held = and(ofRow(row), eq(logExports.status, running), eq(logExports.leaseOwner, owner));
    const [found] = await orm.select().from(logExports).where(held);
    return found;
  };
  return {
    reload,
    async write(statements) {
      await database.write(statements);
    },
    listFree: (now, limit) =>
      orm
        .select()
        .from(logExports)
        .where(and(eq(logExports.status, running), lte(logExports.leaseUntil, now)))
        .orderBy(asc(logExports.leaseUntil), asc(logExports.createdAt), asc(logExports.id))
        .limit(limit),
    async claim(row, { owner, until }, now) {
      const isFree = and(ofRow(row), eq(logExports.status, running), lte(logExports.leaseUntil, now));
      const changes = { leaseOwner: owner, leaseUntil: until };
      await database.write([toStatement(orm.update(logExports).set(changes).where(isFree))]);
      return (await reload(row, owner)) !== undefined;
    },
    async renew(row, { owner, until: leaseUntil }) {
      const mine = and(ofRow(row), eq(logExports.status, running), eq(logExports.leaseOwner, owner));
      await database.write([toStatement(orm.update(logExports).set({ leaseUntil }).where(mine))]);
      return (await reload(row, owner)) !== undefined;
    },
    async release(row, owner, leaseUntil) {
      const mine = and(ofRow(row), eq(logExports.leaseOwner, owner));
      await database.write([toStatement(orm.update(logExports).set({ leaseOwner: null, leaseUntil }).where(mine))]);
    },
    step(row, owner, changes) {
      // the column is not nullable, so a foreign export fails the transaction instead of being skipped
      const turn = sql`CASE WHEN turn = ${row.turn} AND lease_owner = ${owner} AND status = ${running} THEN turn + 1 END`;
      return toStatement(
        orm
          .update(logExports)
          .set({ ...changes, turn })
          .where(ofRow(row)),
      );
    },
    async purge(time) {
      const archived = orm.select({ id: workspaces.id }).from(workspaces).where(eq(workspaces.status, "archived"));
      const ended = and(
        ne(logExports.status, running),
        lt(logExports.createdAt, time),
        lt(logExports.lastUpdatedAt, time),
      );
      await database.write([
        toStatement(orm.delete(logExports).where(ended)),
        toStatement(orm.delete(logExports).where(inArray(logExports.workspaceId, archived))),
      ]);
    },
  };
}
