import type { InStatement, ResultSet } from "@libsql/client";
import { getTableName } from "drizzle-orm";
import { anyResource, type Change } from "../stores/audit.ts";
import { secrets } from "../tables/secrets.ts";

/** Changes that were heard of together. */
interface Heard {
  readonly changes: readonly Change[];
  /** Number of the newest of them; undefined where it is not known. */
  readonly newest: number | undefined;
}

/** Most that is remembered: of more, anything may have changed. */
const maxHeard = 1_000;

const anything: Change = { organisationId: "", workspaceId: undefined, resource: anyResource, recordId: "" };

/** Tables in which a look-up that finds nothing proves nothing: the record may be newer than the snapshot. */
const lookedUp = /\bfrom "(?:api_keys|prompt_versions|prompt_partial_versions)" .* limit \?$/s;

/** Whether a statement looks up one record by what a request names. */
export function isLookUp(statement: InStatement): boolean {
  if (typeof statement === "string" || !Array.isArray(statement.args)) return false;
  return lookedUp.test(statement.sql) && statement.args.at(-1) === 1;
}

/** Whether what a statement found may be otherwise since a change. */
function concerns({ resource, recordId }: Change, statement: InStatement, { rows }: ResultSet): boolean {
  const query = typeof statement === "string" ? statement : statement.sql;
  // a sealed secret is a part of its record
  const isRead = [resource, getTableName(secrets)].some((table) => query.includes(table));
  if (resource !== anyResource && !isRead) return false;
  if (recordId === "" || !isLookUp(statement)) return true;
  return rows.some(({ id }) => id === undefined || id === recordId);
}

/** Changes that a process heard of and that are not in its snapshot. */
export class StaleRecords {
  #heard: Heard[] = [];
  /** Number of the newest change in the snapshot. */
  #covered = Number.NEGATIVE_INFINITY;

  /**
   * Notes changes.
   *
   * @param changes Undefined: anything may have changed, and the database may be an older one.
   * @returns Whether the snapshot lacks them.
   */
  note(changes: readonly Change[] | undefined, newest: number | undefined): boolean {
    if (!changes) this.#covered = Number.NEGATIVE_INFINITY;
    if (newest !== undefined && newest <= this.#covered) return false;
    const isTooMuch = this.#heard.length >= maxHeard;
    const heard: Heard = { changes: changes && !isTooMuch ? changes : [anything], newest };
    this.#heard = isTooMuch ? [heard] : [...this.#heard, heard];
    return true;
  }

  /** Takes what was noted so far, for a snapshot that begins now. The result notes that the snapshot has it. */
  take(): (newest: number) => void {
    const before = new Set(this.#heard);
    return (newest) => {
      this.#covered = newest;
      this.#heard = this.#heard.filter(
        (heard) => !before.has(heard) && !(heard.newest !== undefined && heard.newest <= newest),
      );
    };
  }

  /** Whether results of the snapshot may be otherwise by now. */
  concern(statements: readonly InStatement[], results: readonly ResultSet[]): boolean {
    const changes = this.#heard.flatMap((heard) => heard.changes);
    return statements.some((statement, index) => {
      const result = results[index];
      return !result || changes.some((change) => concerns(change, statement, result));
    });
  }
}
