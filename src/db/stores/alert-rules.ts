import { and, asc, eq, inArray, lt, lte, type SQL, sql } from "drizzle-orm";
import { type Database, toStatement } from "../client.ts";
import { type AlertEventRow, type AlertRuleRow, alertEvents, alertRules } from "../tables/alert-rules.ts";
import { workspaces } from "../tables/tenants.ts";
import type { Lease } from "./batches.ts";

/** What an evaluation found. */
export type Evaluation = Pick<
  AlertRuleRow,
  "state" | "value" | "requests" | "evaluatedAt" | "lastFiredAt" | "isOpen" | "nextEvaluationAt"
>;

/** What became of an attempt to deliver an event. */
type EventOutcome = Pick<AlertEventRow, "sent" | "problem" | "attempts" | "nextAttemptAt">;

type LeasedTable = typeof alertRules | typeof alertEvents;

/** What a lease changes of a row. */
interface LeaseChanges {
  leaseOwner?: string;
  leaseUntil: number;
}

/** Leases of rows of a table, of which those that meet a condition are due. */
class Leases<Table extends LeasedTable> {
  readonly #database: Database;
  readonly #table: Table;
  readonly #isDue: (now: number) => SQL | undefined;

  constructor(database: Database, table: Table, isDue: (now: number) => SQL | undefined) {
    this.#database = database;
    this.#table = table;
    this.#isDue = isDue;
  }

  async listFree(now: number, limit: number): Promise<Table["$inferSelect"][]> {
    const table: LeasedTable = this.#table;
    const isFree = and(this.#isDue(now), lte(table.leaseUntil, now));
    const rows = await this.#database.orm.select().from(table).where(isFree).orderBy(asc(table.createdAt)).limit(limit);
    // drizzle returns rows of the given table; the type parameter loses that
    return rows as Table["$inferSelect"][];
  }

  claim({ id }: { id: string }, { owner, until }: Lease, now: number): Promise<boolean> {
    const isFree = and(this.#isDue(now), lte(this.#table.leaseUntil, now));
    return this.#change(id, { leaseOwner: owner, leaseUntil: until }, isFree);
  }

  renew({ id }: { id: string }, { owner, until }: Lease): Promise<boolean> {
    return this.#change(id, { leaseUntil: until }, eq(this.#table.leaseOwner, owner));
  }

  async #change(id: string, changes: LeaseChanges, condition: SQL | undefined): Promise<boolean> {
    const table: LeasedTable = this.#table;
    const [result] = await this.#database.write([
      toStatement(
        this.#database.orm
          .update(table)
          .set(changes)
          .where(and(eq(table.id, id), condition)),
      ),
    ]);
    return (result?.rowsAffected ?? 0) > 0;
  }
}

/** Rules and events as the processes share them: beyond the tenant stores, for what runs in the background. */
export class AlertRuleStore {
  readonly rules: Leases<typeof alertRules>;
  readonly events: Leases<typeof alertEvents>;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
    const active = database.orm.select({ id: workspaces.id }).from(workspaces).where(eq(workspaces.status, "active"));
    const { enabled, nextEvaluationAt, workspaceId } = alertRules;
    this.rules = new Leases(database, alertRules, (now) =>
      and(eq(enabled, true), lte(nextEvaluationAt, now), inArray(workspaceId, active)),
    );
    this.events = new Leases(database, alertEvents, (now) => lte(alertEvents.nextAttemptAt, now));
  }

  /** Stores what an evaluation found, with its event. Fails with a conflict where another process has the rule since. */
  async evaluated(
    { id }: AlertRuleRow,
    owner: string,
    { found, event }: { found: Evaluation; event: typeof alertEvents.$inferInsert | undefined },
  ): Promise<void> {
    const { orm } = this.#database;
    // the column is not nullable
    const next = sql`CASE WHEN lease_owner = ${owner} THEN ${found.nextEvaluationAt} END`;
    const changes = { ...found, nextEvaluationAt: next, leaseUntil: 0 };
    await this.#database.write([
      toStatement(orm.update(alertRules).set(changes).where(eq(alertRules.id, id))),
      ...(event ? [toStatement(orm.insert(alertEvents).values(event))] : []),
    ]);
  }

  /** Notes what became of an attempt, unless another process has the event since. */
  async delivered({ id }: AlertEventRow, owner: string, outcome: EventOutcome): Promise<void> {
    const isMine = and(eq(alertEvents.id, id), eq(alertEvents.leaseOwner, owner));
    const update = this.#database.orm.update(alertEvents).set({ ...outcome, leaseUntil: 0 });
    await this.#database.write([toStatement(update.where(isMine))]);
  }

  /** Removes events from before `time` (Unix milliseconds). */
  async purge(time: number): Promise<void> {
    await this.#database.write([
      toStatement(this.#database.orm.delete(alertEvents).where(lt(alertEvents.createdAt, time))),
    ]);
  }
}
