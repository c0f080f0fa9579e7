import { type Database, isConflict, type Statement } from "../db/client.ts";
import { type AuditStore, type Change, isAuditRace } from "../db/stores/audit.ts";
import { ConflictError } from "../errors.ts";
import type { Mac } from "../lib/hash.ts";
import { type AuditDraft, chain } from "./audit-chain.ts";

/** What a piece of work writes. */
interface Effect {
  statements: readonly Statement[];
  /** Records that other nodes must reload. */
  changes: readonly Change[];
  /** Audit row of the work. */
  audit: AuditDraft;
}

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
  /** Called at once for changes on this node. */
  applied(changes: readonly Change[]): void;
}

/** Creates the committer of a gateway. */
export function createCommitter(options: CommitterOptions): Committer {
  const { database, audit, mac } = options;
  /** The last piece of work of each busy organisation. */
  const last = new Map<string, Promise<unknown>>();

  const write = async ({ statements, changes, audit: draft }: Effect, organisationId: string, head: Head) => {
    const row = await chain(draft, { organisationId, previous: head }, mac);
    const time = options.now();
    // the audit row comes first, so that the failing statement distinguishes a race from a conflict
    const announced = changes.map((change) => audit.announce(change, time));
    await database.write([audit.append(row), ...statements, ...announced]);
  };
  const runOnce = async <Result extends Effect>(organisationId: string, work: () => Promise<Result>) => {
    for (let tries = 1; ; tries++) {
      const head = await audit.head(organisationId);
      const result = await work();
      try {
        await write(result, organisationId, head);
      } catch (error) {
        if (isAuditRace(error) && tries < maxTries) continue;
        if (!isConflict(error)) throw error;
        throw new ConflictError("Cannot save this: a record with the same name or slug exists", {
          cause: error,
          code: "AB07",
        });
      }
      options.applied(result.changes);
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
