import type { InStatement, Row } from "@libsql/client";
import { firstIdOf, isId } from "../../lib/ids.ts";
import type { LogEntry } from "../../schemas/logs.ts";
import type { Database } from "../client.ts";

/** Whose rows are read: one workspace of one organisation, or all of an organisation. */
export interface LogScope {
  organisationId: string;
  /** Null: rows of every workspace, and those of none. */
  workspaceId: string | null;
}

/** Which rows are listed, newest first. */
export interface LogFilter {
  /** Rows older than this id. */
  before?: string;
  /** Unix milliseconds, inclusive. */
  from?: number;
  /** Unix milliseconds, exclusive. */
  to?: number;
  status?: number;
  model?: string;
  provider?: string;
  traceId?: string;
  apiKeyId?: string;
  limit: number;
}

/** Log rows at rest. */
export interface LogStore {
  /** Stores rows with their bodies, all or none. */
  append(entries: readonly LogEntry[]): Promise<void>;
  /** Rows without bodies, newest first. */
  list(scope: LogScope, filter: LogFilter): Promise<StoredLog[]>;
  /** One row with its bodies. */
  find(scope: LogScope, id: string): Promise<StoredLog | undefined>;
  /** Removes at most `limit` rows made before `time` (Unix milliseconds), bodies first; tells how many went. */
  purge(time: number, limit: number): Promise<number>;
}

/** A row as it was stored; the content is null in lists. */
export interface StoredLog {
  id: string;
  /** JSON of `LogDetails`. */
  details: string;
  content: string | null;
}

/** The two inserts of a batch. Written out by hand: building them anew costs more than running them. */
interface InsertTexts {
  rows: string;
  /** Contents get the numbers the rows just got: one insert numbers its rows without gaps, and no other writer comes between. */
  contents: string;
}

const insertTexts = new Map<number, InsertTexts>();

function textsFor(count: number): InsertTexts {
  let texts = insertTexts.get(count);
  if (texts === undefined) {
    const places = Array.from({ length: count }, (_, index) => count - 1 - index);
    texts = {
      rows: `INSERT INTO logs (id, workspace_id, details) VALUES ${places.map(() => "(?,?,?)").join(",")}`,
      contents:
        "INSERT INTO log_bodies (seq, content) SELECT last - column1, column2 FROM (SELECT max(seq) AS last FROM logs), " +
        `(VALUES ${places.map((place) => `(${place},?)`).join(",")})`,
    };
    insertTexts.set(count, texts);
  }
  return texts;
}

function toInserts(entries: readonly LogEntry[]): InStatement[] {
  const rows: (string | null)[] = [];
  const contents: (string | null)[] = [];
  for (const entry of entries) {
    rows.push(entry.id, entry.workspaceId, entry.details);
    contents.push(entry.content);
  }
  const texts = textsFor(entries.length);
  return [
    { sql: texts.rows, args: rows },
    { sql: texts.contents, args: contents },
  ];
}

function toStoredLog(row: Row): StoredLog {
  const content = row.content;
  return { id: String(row.id), details: String(row.details), content: typeof content === "string" ? content : null };
}

/** The condition every statement carries, so that no row of another tenant can be read. */
function scopeCondition(scope: LogScope): { sql: string; args: string[] } {
  return scope.workspaceId === null
    ? { sql: "organisation_id = ?", args: [scope.organisationId] }
    : { sql: "organisation_id = ? AND workspace_id = ?", args: [scope.organisationId, scope.workspaceId] };
}

function listStatement(scope: LogScope, filter: LogFilter): InStatement {
  const condition = scopeCondition(scope);
  const clauses = [condition.sql];
  const args: (string | number)[] = [...condition.args];
  const add = (clause: string, value: string | number | undefined) => {
    if (value === undefined) return;
    clauses.push(clause);
    args.push(value);
  };
  add("id < ?", filter.before);
  add("id >= ?", filter.from === undefined ? undefined : firstIdOf(filter.from));
  add("id < ?", filter.to === undefined ? undefined : firstIdOf(filter.to));
  add("status = ?", filter.status);
  add("model = ?", filter.model);
  add("provider = ?", filter.provider);
  add("trace_id = ?", filter.traceId);
  add("api_key_id = ?", filter.apiKeyId);
  args.push(filter.limit);
  return { sql: `SELECT id, details FROM logs WHERE ${clauses.join(" AND ")} ORDER BY id DESC LIMIT ?`, args };
}

/** The log store over libSQL. */
export function createLogStore(database: Database): LogStore {
  return {
    async append(entries) {
      await database.write(toInserts(entries));
    },
    async list(scope, filter) {
      return (await database.read(listStatement(scope, filter))).rows.map(toStoredLog);
    },
    async find(scope, id) {
      if (!isId(id)) return undefined;
      const condition = scopeCondition(scope);
      const sql = `SELECT id, details, content FROM logs LEFT JOIN log_bodies USING (seq) WHERE ${condition.sql} AND id = ?`;
      const { rows } = await database.read({ sql, args: [...condition.args, id] });
      return rows[0] && toStoredLog(rows[0]);
    },
    async purge(time, limit) {
      // the numbers follow the time closely, so the oldest are found without an index on time
      const old = "SELECT seq FROM logs WHERE seq IN (SELECT seq FROM logs ORDER BY seq LIMIT ?) AND id < ?";
      const args = [limit, firstIdOf(time)];
      const [, removed] = await database.write([
        { sql: `DELETE FROM log_bodies WHERE seq IN (${old})`, args },
        { sql: `DELETE FROM logs WHERE seq IN (${old})`, args },
      ]);
      return removed?.rowsAffected ?? 0;
    },
  };
}
