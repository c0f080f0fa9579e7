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

/** A row as it was stored; bodies are absent in lists. */
export type StoredLog = Omit<LogEntry, "headers"> & { headers: string | null };

const columns = [
  ...["id", "organisation_id", "workspace_id", "api_key_id", "status", "provider", "model", "trace_id", "details"],
  ...["headers", "request", "response"],
];

/** Multi-row inserts are written out by hand: building them anew costs more than running them. */
const insertTexts = new Map<number, string>();

function insertText(rows: number): string {
  let text = insertTexts.get(rows);
  if (text === undefined) {
    const row = `(${columns.map(() => "?").join(",")})`;
    text = `INSERT INTO log_intake (${columns.join(",")}) VALUES ${Array.from({ length: rows }, () => row).join(",")}`;
    insertTexts.set(rows, text);
  }
  return text;
}

function toInsert(entries: readonly LogEntry[]): InStatement {
  const args: (string | number | null)[] = [];
  for (const entry of entries) {
    args.push(entry.id, entry.organisationId, entry.workspaceId, entry.apiKeyId, entry.status, entry.provider);
    args.push(entry.model, entry.traceId, entry.details, entry.headers, entry.request, entry.response);
  }
  return { sql: insertText(entries.length), args };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function toStoredLog(row: Row): StoredLog {
  return {
    id: String(row.id),
    organisationId: String(row.organisation_id),
    workspaceId: textOrNull(row.workspace_id),
    apiKeyId: String(row.api_key_id),
    status: Number(row.status),
    provider: textOrNull(row.provider),
    model: textOrNull(row.model),
    traceId: String(row.trace_id),
    details: String(row.details),
    headers: textOrNull(row.headers),
    request: textOrNull(row.request),
    response: textOrNull(row.response),
  };
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
  const names = columns.slice(0, 9).join(", ");
  return { sql: `SELECT ${names} FROM logs WHERE ${clauses.join(" AND ")} ORDER BY id DESC LIMIT ?`, args };
}

/** The log store over libSQL. */
export function createLogStore(database: Database): LogStore {
  return {
    async append(entries) {
      await database.write([toInsert(entries)]);
    },
    async list(scope, filter) {
      return (await database.read(listStatement(scope, filter))).rows.map(toStoredLog);
    },
    async find(scope, id) {
      if (!isId(id)) return undefined;
      const condition = scopeCondition(scope);
      const sql = `SELECT ${columns.join(", ")} FROM log_intake WHERE ${condition.sql} AND id = ?`;
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
