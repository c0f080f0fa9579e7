import type { InStatement } from "@libsql/client";
import { and, asc, count, eq, inArray, lte, or, sql } from "drizzle-orm";
import { type Database, type Statement, toStatement } from "../client.ts";
import { type GatewayBatchRow, gatewayBatches, type NewGatewayBatchRow } from "../tables/batches.ts";
import { createPageReader, type PageOptions, type WorkspaceTenant } from "./record-pages.ts";

/** States in which a batch still has something to do. */
export const openStates = ["validating", "in_progress", "finalizing", "cancelling"] as const;

/** A runner's hold on a batch. */
export interface Lease {
  owner: string;
  /** Unix milliseconds. */
  until: number;
}

/** Batches, besides what the store of tenants does with their rows. */
export interface BatchStore {
  /** Writes statements in one transaction. */
  write(statements: readonly InStatement[]): Promise<void>;
  page(tenant: WorkspaceTenant, options: PageOptions): Promise<GatewayBatchRow[]>;
  /** How many batches of a workspace are not over. */
  countOpen(tenant: WorkspaceTenant): Promise<number>;
  /** For the runner, which belongs to no tenant: batches that are not over and that nobody has, oldest first. */
  listFree(now: number, limit: number): Promise<GatewayBatchRow[]>;
  /** Takes a batch that nobody has; tells whether it did. */
  claim(row: GatewayBatchRow, lease: Lease, now: number): Promise<boolean>;
  /** Holds a batch longer; false when somebody else has it. */
  renew(row: GatewayBatchRow, lease: Lease): Promise<boolean>;
  /** Lets a batch go, so that others need not wait for the end of the lease. */
  release(row: GatewayBatchRow, owner: string): Promise<void>;
  /**
   * Takes one step. In a transaction it fails as a conflict, with all that stands beside it, when somebody else took the
   * step or has the batch. A batch that is to end meanwhile stays so, whatever state the changes name.
   */
  step(row: GatewayBatchRow, owner: string, changes: Partial<NewGatewayBatchRow>): Statement;
  /** Asks for the end of a batch that still runs; false when it is over. */
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
      // the column takes no null: what is not ours fails instead of being left out
      const turn = sql`CASE WHEN turn = ${row.turn} AND lease_owner = ${owner} THEN turn + 1 END`;
      const { status, leaseUntil, ...others } = changes;
      const isWished = sql`status = 'cancelling' AND ${row.status} <> 'cancelling'`;
      // a wish to end it that came meanwhile stays
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
            // one that waits for its provider is taken up at once
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
