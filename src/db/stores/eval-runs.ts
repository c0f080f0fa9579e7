import type { InStatement } from "@libsql/client";
import { and, asc, eq, getTableColumns, inArray, lte, type SQL, sql } from "drizzle-orm";
import { type Database, type Statement, toStatement } from "../client.ts";
import { type EvalAnswerRow, type EvalRunRow, evalAnswers, evalRuns } from "../tables/evals.ts";
import { secrets } from "../tables/secrets.ts";
import type { Lease } from "./batches.ts";

/** What of an answer is not sealed. */
export type AnswerFigures = Omit<EvalAnswerRow, "sealed">;

/** How a run ended. */
type RunEnd = Pick<EvalRunRow, "status" | "failure" | "endedAt">;

const ofRow = ({ organisationId, workspaceId, id }: EvalRunRow): SQL | undefined =>
  and(eq(evalRuns.organisationId, organisationId), eq(evalRuns.workspaceId, workspaceId), eq(evalRuns.id, id));

/** Kind of the secrets that seal answers. */
export const evalSecretKind = "eval_runs";

/** Runs as the processes share them: beyond the tenant stores, for what runs in the background. */
export class EvalRunStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Runs that no process holds, oldest first. */
  listFree(now: number, limit: number): Promise<EvalRunRow[]> {
    return this.#database.orm
      .select()
      .from(evalRuns)
      .where(and(eq(evalRuns.status, "running"), lte(evalRuns.leaseUntil, now)))
      .orderBy(asc(evalRuns.createdAt))
      .limit(limit);
  }

  /** Takes a run that no process holds; false if another was faster. */
  claim(row: EvalRunRow, { owner, until }: Lease, now: number): Promise<boolean> {
    const isFree = and(ofRow(row), eq(evalRuns.status, "running"), lte(evalRuns.leaseUntil, now));
    return this.#change({ leaseOwner: owner, leaseUntil: until }, isFree);
  }

  /** Holds a run on; false if it ended, or another process has it. */
  renew(row: EvalRunRow, { owner, until }: Lease): Promise<boolean> {
    const isMine = and(ofRow(row), eq(evalRuns.leaseOwner, owner), eq(evalRuns.status, "running"));
    return this.#change({ leaseUntil: until }, isMine);
  }

  /** Gives a run back: another process may take it. */
  async release(row: EvalRunRow, owner: string): Promise<void> {
    await this.#change({ leaseOwner: null, leaseUntil: 0 }, and(ofRow(row), eq(evalRuns.leaseOwner, owner)));
  }

  /** Figures of the answers of a run. */
  figures({ organisationId, workspaceId, id }: EvalRunRow): Promise<AnswerFigures[]> {
    const { sealed: _, ...columns } = getTableColumns(evalAnswers);
    const isOwn = and(
      eq(evalAnswers.organisationId, organisationId),
      eq(evalAnswers.workspaceId, workspaceId),
      eq(evalAnswers.runId, id),
    );
    return this.#database.orm.select(columns).from(evalAnswers).where(isOwn);
  }

  /** Stores an answer, and what it cost. Fails with a conflict if another process has the run, or it ended. */
  async add(row: EvalRunRow, owner: string, { answer, cost }: { answer: EvalAnswerRow; cost: number }): Promise<void> {
    const failed = answer.status < 300 ? 0 : 1;
    const changes = { done: sql`done + 1`, failed: sql`failed + ${failed}`, cost: sql`cost + ${cost}` };
    const insert = toStatement(this.#database.orm.insert(evalAnswers).values(answer));
    await this.#database.write([this.#step(row, owner, changes), insert]);
  }

  /** Ends a run. Fails with a conflict if another process has it, or it ended. */
  async end(row: EvalRunRow, owner: string, { status, ...end }: RunEnd): Promise<void> {
    await this.#database.write([this.#step(row, owner, { ...end, status, leaseUntil: 0 })]);
  }

  /** Removes runs that expired, with their answers. */
  async purge(now: number): Promise<void> {
    const { orm } = this.#database;
    const isGone = lte(evalRuns.expiresAt, now);
    const gone = orm.select({ id: evalRuns.id }).from(evalRuns).where(isGone);
    const isSeal = and(eq(secrets.kind, evalSecretKind), inArray(secrets.recordId, gone));
    const statements: InStatement[] = [
      toStatement(orm.delete(evalAnswers).where(inArray(evalAnswers.runId, gone))),
      toStatement(orm.delete(secrets).where(isSeal)),
      toStatement(orm.delete(evalRuns).where(isGone)),
    ];
    await this.#database.write(statements);
  }

  #step(row: EvalRunRow, owner: string, changes: object): Statement {
    // the column is not nullable, so a run of another process fails the transaction instead of being skipped
    const turn = sql`CASE WHEN lease_owner = ${owner} AND status = 'running' THEN turn + 1 END`;
    return toStatement(
      this.#database.orm
        .update(evalRuns)
        .set({ ...changes, turn })
        .where(ofRow(row)),
    );
  }

  /** Whether one row was changed. */
  async #change(changes: Partial<EvalRunRow>, where: SQL | undefined): Promise<boolean> {
    const [result] = await this.#database.write([
      toStatement(this.#database.orm.update(evalRuns).set(changes).where(where)),
    ]);
    return result?.rowsAffected === 1;
  }
}
