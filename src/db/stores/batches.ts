import type { InStatement } from "@libsql/client";
import { and, asc, count, eq, inArray, lte, or, sql } from "drizzle-orm";
import { type Database, type Statement, toStatement } from "../client.ts";
import { type GatewayBatchRow, gatewayBatches, type NewGatewayBatchRow } from "../tables/batches.ts";
import { createPageReader, type PageOptions, type WorkspaceTenant } from "./record-pages.ts";

/** States of unfinished batches. */
export const openStates = ["validating", "in_progress", "finalizing", "cancelling"] as const;

/** A runner's lease on a batch. */
export interface Lease {
  owner: string;
  /** Unix milliseconds. */
  until: number;
}

/** Queries on batches beyond those of the tenant store. */
export interface BatchStore {
  /** Writes statements in one transaction. */
  write(statements: readonly InStatement[]): Promise<void>;
  page(tenant: WorkspaceTenant, options: PageOptions): Promise<GatewayBatchRow[]>;
  /** Number of unfinished batches of a workspace. */
  countOpen(tenant: WorkspaceTenant): Promise<number>;
  /** For the runner, which has no tenant: unfinished batches without a lease, oldest first. */
  listFree(now: number, limit: number): Promise<GatewayBatchRow[]>;
  /** Leases a free batch; returns whether it succeeded. */
  claim(row: GatewayBatchRow, lease: Lease, now: number): Promise<boolean>;
  /** Extends a lease; false when another runner holds the batch. */
  renew(row: GatewayBatchRow, lease: Lease): Promise<boolean>;
  /** Releases a batch, so that others need not wait for the lease to expire. */
  release(row: GatewayBatchRow, owner: string): Promise<void>;
  /**
   * Records one step. The transaction fails with a conflict if another runner took the step or holds the batch. A batch
   * that is being cancelled stays so, whatever state the changes contain.
   */
  step(row: GatewayBatchRow, owner: string, changes: Partial<NewGatewayBatchRow>): Statement;
  /** Cancels a running batch; false if it has finished. */
  cancel(row: GatewayBatchRow, now: number): Promise<boolean>;
}

/** The store of batches over libSQL. */
export function createBatchStore(database: Database): BatchStore {
  const { orm } = database;
  const readPage = createPageReader(database, gatewayBatches);
  const ofRow = ({ organisationId, workspaceId, id }: GatewayBatchRow) =>
    and(
      eq(gatewayBatches.organisationId, organisationId),
      eq(gatewayBatches.workspaceId, workspaceId),
      eq(gatewayBatches.id, id),
    );
  const writeOne = async (statement: Statement): Promise<boolean> => {
    const [result] = await database.write([statement]);
    return result?.rowsAffected === 1;
  };
  const update = (changes: Partial<NewGatewayBatchRow>) => orm.update(gatewayBatches).set(changes);
  return {
    async write(statements) {
      await database.write(statements);
    },
    page: (tenant, options) => readPage(tenant, options),
    async countOpen({ organisationId, workspaceId }) {
      const [row] = await orm
        .select({ total: count() })
        .from(gatewayBatches)
        .where(
          and(
            eq(gatewayBatches.organisationId, organisationId),
            eq(gatewayBatches.workspaceId, workspaceId),
            inArray(gatewayBatches.status, [...openStates]),
          ),
        );
      return row?.total ?? 0;
    },
    listFree: (now, limit) =>
      orm
        .select()
        .from(gatewayBatches)
        .where(and(inArray(gatewayBatches.status, [...openStates]), lte(gatewayBatches.leaseUntil, now)))
        .orderBy(asc(gatewayBatches.createdAt), asc(gatewayBatches.id))
        .limit(limit),
    claim: (row, { owner, until }, now) =>
      writeOne(
        toStatement(
          update({ leaseOwner: owner, leaseUntil: until }).where(
            and(ofRow(row), inArray(gatewayBatches.status, [...openStates]), lte(gatewayBatches.leaseUntil, now)),
          ),
        ),
      ),
    renew: (row, { owner, until }) =>
      writeOne(toStatement(update({ leaseUntil: until }).where(and(ofRow(row), eq(gatewayBatches.leaseOwner, owner))))),
    async release(row, owner) {
      const mine = and(ofRow(row), eq(gatewayBatches.leaseOwner, owner));
      await database.write([toStatement(update({ leaseOwner: null, leaseUntil: 0 }).where(mine))]);
    },
    step(row, owner, changes) {
      // the column is not nullable, so a foreign batch fails the transaction instead of being skipped
      const turn = sql`CASE WHEN turn = ${row.turn} AND lease_owner = ${owner} THEN turn + 1 END`;
      const { status, leaseUntil, ...others } = changes;
      const isWished = sql`status = 'cancelling' AND ${row.status} <> 'cancelling'`;
      // a concurrent cancellation stays in effect
      const next = status && {
        status: sql`CASE WHEN ${isWished} THEN status ELSE ${status} END`,
      };
      const free = leaseUntil !== undefined && {
        leaseUntil: sql`CASE WHEN ${isWished} THEN 0 ELSE ${leaseUntil} END`,
      };
      return toStatement(
        orm
          .update(gatewayBatches)
          .set({ ...others, ...next, ...free, turn })
          .where(ofRow(row)),
      );
    },
    cancel: (row, now) =>
      writeOne(
        toStatement(
          orm
            .update(gatewayBatches)
            // a batch that waits for its provider is resumed at once
            .set({
              status: "cancelling",
              cancellingAt: now,
              leaseUntil: sql`CASE WHEN lease_owner IS NULL THEN 0 ELSE lease_until END`,
            })
            .where(
              and(
                ofRow(row),
                or(
                  eq(gatewayBatches.status, "validating"),
                  eq(gatewayBatches.status, "in_progress"),
                  eq(gatewayBatches.status, "finalizing"),
                ),
              ),
            ),
        ),
      ),
  };
}
