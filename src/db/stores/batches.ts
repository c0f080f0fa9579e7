import type { InStatement } from "@libsql/client";
import { and, asc, count, eq, inArray, lte, type SQL, sql } from "drizzle-orm";
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
    const update = this.#database.orm.update(gatewayBatches).set({ ...others, ...next, ...free, turn });
    return toStatement(update.where(ofRow(row)));
  }

  cancel(row: GatewayBatchRow, now: number): Promise<boolean> {
    // one that waits for its provider is taken up at once
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
