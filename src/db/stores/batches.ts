import type { InStatement } from "@libsql/client";
import { and, asc, count, eq, inArray, lte, type SQL, sql } from "drizzle-orm";
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

const isOpen = () => inArray(gatewayBatches.status, [...openStates]);

function ofRow({ organisationId, workspaceId, id }: GatewayBatchRow): SQL | undefined {
  return and(
    eq(gatewayBatches.organisationId, organisationId),
    eq(gatewayBatches.workspaceId, workspaceId),
    eq(gatewayBatches.id, id),
  );
}

/** The store of batches over libSQL. */
class SqlBatchStore implements BatchStore {
  readonly #database: Database;
  readonly #readPage: ReturnType<typeof createPageReader<typeof gatewayBatches>>;

  constructor(database: Database) {
    this.#database = database;
    this.#readPage = createPageReader(database, gatewayBatches);
  }

  async write(statements: readonly InStatement[]): Promise<void> {
    await this.#database.write(statements);
  }

  page(tenant: WorkspaceTenant, options: PageOptions): Promise<GatewayBatchRow[]> {
    return this.#readPage(tenant, options);
  }

  async countOpen({ organisationId, workspaceId }: WorkspaceTenant): Promise<number> {
    const ofWorkspace = [
      eq(gatewayBatches.organisationId, organisationId),
      eq(gatewayBatches.workspaceId, workspaceId),
    ];
    const counted = this.#database.orm.select({ total: count() }).from(gatewayBatches);
    const [row] = await counted.where(and(...ofWorkspace, isOpen()));
    return row?.total ?? 0;
  }

  listFree(now: number, limit: number): Promise<GatewayBatchRow[]> {
    return this.#database.orm
      .select()
      .from(gatewayBatches)
      .where(and(isOpen(), lte(gatewayBatches.leaseUntil, now)))
      .orderBy(asc(gatewayBatches.createdAt), asc(gatewayBatches.id))
      .limit(limit);
  }

  claim(row: GatewayBatchRow, { owner, until }: Lease, now: number): Promise<boolean> {
    const isFree = and(ofRow(row), isOpen(), lte(gatewayBatches.leaseUntil, now));
    return this.#changeOne({ leaseOwner: owner, leaseUntil: until }, isFree);
  }

  renew(row: GatewayBatchRow, { owner, until }: Lease): Promise<boolean> {
    return this.#changeOne({ leaseUntil: until }, and(ofRow(row), eq(gatewayBatches.leaseOwner, owner)));
  }

  async release(row: GatewayBatchRow, owner: string): Promise<void> {
    const mine = and(ofRow(row), eq(gatewayBatches.leaseOwner, owner));
    await this.#changeOne({ leaseOwner: null, leaseUntil: 0 }, mine);
  }

  step(row: GatewayBatchRow, owner: string, changes: Partial<NewGatewayBatchRow>): Statement {
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
    const update = this.#database.orm.update(gatewayBatches).set({ ...others, ...next, ...free, turn });
    return toStatement(update.where(ofRow(row)));
  }

  cancel(row: GatewayBatchRow, now: number): Promise<boolean> {
    // a batch that waits for its provider is resumed at once
    const leaseUntil = sql`CASE WHEN lease_owner IS NULL THEN 0 ELSE lease_until END`;
    const isRunning = inArray(gatewayBatches.status, ["validating", "in_progress", "finalizing"]);
    return this.#changeOne({ status: "cancelling", cancellingAt: now, leaseUntil }, and(ofRow(row), isRunning));
  }

  /** Whether one row was changed. */
  async #changeOne(
    changes: Parameters<ReturnType<Database["orm"]["update"]>["set"]>[0],
    where: SQL | undefined,
  ): Promise<boolean> {
    const [result] = await this.#database.write([
      toStatement(this.#database.orm.update(gatewayBatches).set(changes).where(where)),
    ]);
    return result?.rowsAffected === 1;
  }
}

/** Creates the store of batches. */
export function createBatchStore(database: Database): BatchStore {
  return new SqlBatchStore(database);
}
