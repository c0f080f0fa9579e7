import { type Database, isConflict, type Statement } from "../db/client.ts";
import { type AuditStore, anyResource, type Change, isAuditRace } from "../db/stores/audit.ts";
import { ConflictError } from "../errors.ts";
import type { Mac } from "../lib/hash.ts";
import { type AuditDraft, chain } from "./audit-chain.ts";

/** What a piece of work writes. */
interface Effect {
  statements: readonly Statement[];
  /** Audit row of the work. */
  audit: AuditDraft;
  /** Takes back what the work changed besides the database. Called if its result is not written. */
  undo?: Undo | undefined;
}

/** Takes back what work changed besides the database. */
export type Undo = () => void | Promise<void>;

/** Writes to the control plane: an organisation's work runs serially, each piece with its audit row, all or nothing. */
export interface Committer {
  /**
   * Runs `work`, which reads and decides, and writes its result. The number of the audit row serves as the lock: if another
   * node wrote in between, nothing is written and `work` runs again on the new state.
   *
   * @throws {ConflictError} If a record exists already.
   */
  run<Result extends Effect>(organisationId: string, work: () => Promise<Result>): Promise<Result>;
}

/** Attempts when other nodes keep winning the race. */
const maxTries = 20;

/** Options of the committer. */
interface CommitterOptions {
  database: Database;
  audit: AuditStore;
  /** Digest of audit rows. */
  mac: Mac;
  now(): number;
  /** Called with what changed, at once and on this node, and the numbers under which other nodes find the changes. */
  applied(changes: readonly Change[], numbers: readonly number[]): void;
  /** Resolves once the other processes of this gateway have applied what is written. Absent: no others run. */
  announced?: (() => Promise<void>) | undefined;
}

/** What statements change, each thing once. One that does not say what it writes may have changed anything. */
export function listChanges(organisationId: string, statements: readonly Statement[]): Change[] {
  const changes = statements.flatMap(({ written }): Change[] => {
    const { resource, workspaceId, recordIds = [""] } = written ?? { resource: anyResource, workspaceId: undefined };
    return recordIds.map((recordId) => ({ organisationId, workspaceId, resource, recordId }));
  });
  const keyOf = ({ resource, workspaceId, recordId }: Change) =>
    JSON.stringify([resource, workspaceId === undefined ? 0 : workspaceId, recordId]);
  return [...new Map(changes.map((change) => [keyOf(change), change])).values()];
}

/** Creates the committer of a gateway. */
export function createCommitter(options: CommitterOptions): Committer {
  const { database, audit, mac } = options;
  /** The last piece of work of each busy organisation. */
  const last = new Map<string, Promise<unknown>>();

  const write = async ({ statements, audit: draft }: Effect, organisationId: string, head: Head) => {
    const changes = listChanges(organisationId, statements);
    const row = await chain(draft, { organisationId, previous: head }, mac);
    const time = options.now();
    // the audit row first: the statement that fails distinguishes a race from a conflict
    const announced = changes.map((change) => audit.announce(change, time));
    const results = await database.write([audit.append(row), ...statements, ...announced]);
    const numbers = results.slice(1 + statements.length).map(({ lastInsertRowid }) => Number(lastInsertRowid));
    return { changes, numbers };
  };
  const runOnce = async <Result extends Effect>(organisationId: string, work: () => Promise<Result>) => {
    for (let tries = 1; ; tries++) {
      const head = await audit.head(organisationId);
      const result = await work();
      let written: Awaited<ReturnType<typeof write>>;
      try {
        written = await write(result, organisationId, head);
      } catch (error) {
        await result.undo?.();
        if (isAuditRace(error) && tries < maxTries) continue;
        if (!isConflict(error)) throw error;
        throw new ConflictError("Cannot save this: a record with the same name or slug exists", {
          cause: error,
          code: "AB07",
        });
      }
      options.applied(written.changes, written.numbers);
      await options.announced?.();
      return result;
    }
  };
  return {
    run(organisationId, work) {
      const before = last.get(organisationId) ?? Promise.resolve();
      const result = before.then(() => runOnce(organisationId, work));
      const settled = result.then(
        () => {},
        () => {},
      );
      last.set(organisationId, settled);
      settled.then(() => {
        if (last.get(organisationId) === settled) last.delete(organisationId);
      });
      return result;
    },
  };
}

type Head = Awaited<ReturnType<AuditStore["head"]>>;
