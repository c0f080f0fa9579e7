import type { Client, InStatement, ResultSet } from "@libsql/client";
import type { LibSQLDatabase } from "drizzle-orm/libsql";
import { drizzle } from "drizzle-orm/libsql/sqlite3";
import { DatabaseAwayError, isDatabaseAway } from "../lib/database-away.ts";
import { DatabaseOpenError, describeDatabase } from "./open-failure.ts";
import { connectRemote } from "./remote-client.ts";

/** Longest time a statement may block the event loop waiting for another process's lock. */
const busyTimeoutMs = 10;
/** Longest time a write waits for another process's lock. */
const busyDeadlineMs = 5_000;

/** Location of the database. */
export interface DatabaseLocation {
  /** `file:`, `:memory:`, `libsql://`, `http(s)://` or `ws(s)://`. */
  url: string;
  authToken?: string;
  /**
   * Pages of the write-ahead log from which a commit copies them into a local file, which blocks the event loop for as long
   * as the disk takes. Default 1,000; more where another thread writes as well and does it earlier.
   */
  checkpointPages?: number;
  /** A local file with a size but no tables is refused. Default: false. */
  refusesWithoutTables?: boolean;
  /** Most writes that run at the same time on a server, in any order; default 1. A local file takes one after the other. */
  writesAtOnce?: number;
  /** Most bytes of a local file, without its write-ahead log. Writes that need more fail. Default: no bound. */
  maxBytes?: number;
}

/** The open database: reads use `orm`, all writes go through the queue behind `write`. */
export interface Database {
  /** Builds and runs queries; `toStatement` turns a built query into a statement for `write`. */
  readonly orm: LibSQLDatabase;
  /** Runs one reading statement. */
  read(statement: InStatement): Promise<ResultSet>;
  /** Runs the statements in one transaction, after all earlier writes; waits while another process holds the lock. */
  write(statements: readonly InStatement[]): Promise<ResultSet[]>;
  /** Gives unused pages of a local file back, at most so many, in one transaction after all earlier writes. */
  shrink(pages: number): Promise<void>;
  /** Whether the database is on another machine. */
  readonly remote: boolean;
  /** Waits for queued writes, then closes. */
  close(): Promise<void>;
}

/** A drizzle query that can be printed as SQL. */
interface PrintableQuery {
  toSQL(): { sql: string; params: unknown[] };
}

/** What a statement writes, for those who hold rows in memory. */
export interface Written {
  /** Kind of record: the name of its table, or what the row says that it is a part of. */
  resource: string;
  /** Whose rows. Null: the organisation's own. Undefined: any workspace's, or the organisation's. */
  workspaceId: string | null | undefined;
  /** Ids of the records, where the statement names them. */
  recordIds?: readonly string[] | undefined;
}

/** A statement with its bound values. */
export interface Statement {
  sql: string;
  args: (string | number | bigint | null)[];
  /** Absent: the statement does not say. */
  written?: Written;
}

/** Converts a drizzle query to a statement for `Database.write`. */
export function toStatement(query: PrintableQuery): Statement {
  const { sql, params } = query.toSQL();
  return { sql, args: params.map(toArgument) };
}

function toArgument(value: unknown): string | number | bigint | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") return value;
  throw new TypeError(`Cannot bind a value of type ${typeof value}`);
}

/** Whether the data stays in this process or on this machine. */
export function isLocalDatabase(url: string): boolean {
  return url === ":memory:" || url.startsWith("file:");
}

/** Whether another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return (
    error instanceof Error && /SQLITE_BUSY|database is locked/i.test(`${Reflect.get(error, "code")} ${error.message}`)
  );
}

/** Whether the database rejected the statement for good, so that a retry is useless. */
export function isRefusedStatement(error: unknown): boolean {
  return /SQLITE_(?:ERROR|CONSTRAINT|MISMATCH|TOOBIG|RANGE)|malformed JSON/.test(String(error));
}

/** Whether a row exists already. */
export function isConflict(error: unknown): boolean {
  return (
    error instanceof Error &&
    /SQLITE_CONSTRAINT|UNIQUE constraint/i.test(`${Reflect.get(error, "code")} ${error.message}`)
  );
}

/** Whether the database cannot be reached. */
export function isUnreachable(error: unknown): boolean {
  if (isDatabaseAway(error)) return true;
  if (!(error instanceof Error)) return false;
  const text = `${Reflect.get(error, "code")} ${error.message} ${error.cause instanceof Error ? error.cause.message : ""}`;
  return /SERVER_ERROR|HRANA_(?:WEBSOCKET|CLOSED)|ECONNREFUSED|ECONNRESET|fetch failed|Unable to connect|SQLITE_(?:IOERR|CANTOPEN|BUSY)/.test(
    text,
  );
}

async function createLocalClient(url: string): Promise<Client> {
  const { createClient } = await import("@libsql/client/sqlite3");
  return createClient({ url, concurrency: 1, timeout: busyTimeoutMs });
}

/** Size of the pages of new files. */
const pageBytes = 4_096;

/** Time for another process that has just created the file to write its tables. */
const tablesWithinMs = 5_000;

/**
 * A file of a write-ahead log that was copied without the log has a size, but no tables.
 *
 * @throws {DatabaseOpenError} If the database is such a file.
 */
async function requireTables(client: Client, { url }: DatabaseLocation): Promise<void> {
  const sql = "SELECT (SELECT count(*) FROM sqlite_schema) AS tables, page_count AS pages FROM pragma_page_count";
  const deadline = performance.now() + tablesWithinMs;
  for (;;) {
    const { rows } = await untilUnlocked(() => client.execute(sql));
    if (Number(rows[0]?.tables) > 0 || Number(rows[0]?.pages) === 0) return;
    if (performance.now() > deadline) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const path = describeDatabase(url);
  throw new DatabaseOpenError(
    `Cannot use the database ${path} (DATABASE_URL): it has no tables; if it is a copy, its data is in ${path}-wal beside the original; to begin anew, remove ${path}`,
  );
}

/** Configures a local connection and checks the result. */
async function prepareConnection(client: Client, location: DatabaseLocation): Promise<void> {
  const { url, checkpointPages = 1_000, maxBytes } = location;
  if (!isLocalDatabase(url)) return;
  await untilUnlocked(async () => {
    // holds for a file without tables only: removed rows give back their space
    await client.execute("PRAGMA auto_vacuum = INCREMENTAL");
    await client.execute("PRAGMA journal_mode = WAL");
    await client.execute(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    await client.execute("PRAGMA synchronous = NORMAL");
    await client.execute("PRAGMA foreign_keys = ON");
    await client.execute("PRAGMA trusted_schema = OFF");
    if (maxBytes !== undefined) await client.execute(`PRAGMA max_page_count = ${Math.ceil(maxBytes / pageBytes)}`);
  });
  const { rows } = await client.execute("PRAGMA foreign_keys");
  if (Number(rows[0]?.foreign_keys) !== 1)
    throw new Error("Cannot use this database: it does not enforce foreign keys");
}

/** Retries `action` with exponential backoff and jitter while another process holds the lock. */
async function untilUnlocked<Value>(action: () => Promise<Value>, recover?: () => Promise<void>): Promise<Value> {
  const deadline = performance.now() + busyDeadlineMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 2, 200)) {
    try {
      return await action();
    } catch (error) {
      if (!isBusy(error) || performance.now() + pauseMs > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())));
      await recover?.();
    }
  }
}

/** The work of a database, whose errors show when it does not respond. */
async function namingOutages<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof Error && isUnreachable(error) ? new DatabaseAwayError(error) : error;
  }
}

/** A client for the query builder, whose reads show when the database does not respond. */
function withNamedOutages(client: Client): Client {
  const reads = {
    execute: (statement: InStatement) => namingOutages(client.execute(statement)),
    batch: (...parts: Parameters<Client["batch"]>) => namingOutages(client.batch(...parts)),
  };
  return new Proxy(client, {
    get(target, name) {
      if (name === "execute" || name === "batch") return reads[name];
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/** Writes in the order in which they come. */
interface WriteQueue {
  /** Runs a write after those before it: all of them, or all but the few that may run at the same time. */
  add<Value>(write: () => Promise<Value>): Promise<Value>;
  /** Resolves when all writes have ended. */
  idle(): Promise<void>;
}

/** @param reopen Replaces the connection after a lock was met, where no other write uses it. */
function createWriteQueue({ url, writesAtOnce = 1 }: DatabaseLocation, reopen: () => Promise<void>): WriteQueue {
  const lanes = isLocalDatabase(url) ? 1 : writesAtOnce;
  /** The end of the last write of each lane. */
  const ends: Promise<unknown>[] = Array.from({ length: lanes }, () => Promise.resolve());
  let next = 0;
  return {
    add(write) {
      const run = () => untilUnlocked(write, lanes === 1 ? reopen : undefined);
      const lane = next++ % lanes;
      const result = (ends[lane] ?? Promise.resolve()).then(run, run);
      const end = result.then(
        () => undefined,
        () => undefined,
      );
      ends[lane] = end;
      return result;
    },
    async idle() {
      await Promise.all(ends);
    },
  };
}

/**
 * Opens the database.
 *
 * @throws If it cannot be opened or ignores the settings of `prepareConnection`.
 */
export async function openDatabase(location: DatabaseLocation): Promise<Database> {
  const remote = isLocalDatabase(location.url) ? undefined : await connectRemote(location);
  const writer = remote?.client ?? (await createLocalClient(location.url));
  if (location.refusesWithoutTables && location.url.startsWith("file:")) await requireTables(writer, location);
  await prepareConnection(writer, location);
  // an in-memory database belongs to one connection
  const reader = location.url.startsWith("file:") ? await createLocalClient(location.url) : writer;
  if (reader !== writer) await prepareConnection(reader, location);

  /** A connection that met a lock may reject all later transactions, so it is replaced. */
  const reopen = async () => {
    if (location.url === ":memory:") return;
    await writer.reconnect();
    await prepareConnection(writer, location);
  };
  const queue = createWriteQueue(location, reopen);
  return {
    orm: drizzle({ client: withNamedOutages(reader) }),
    read: (statement) => namingOutages(untilUnlocked(() => reader.execute(statement))),
    remote: !isLocalDatabase(location.url),
    write: (statements) => namingOutages(queue.add(() => runWrite(writer, statements))),
    // of other calls the driver takes one step, which is one page, and leaves the statement open
    shrink: (pages) => queue.add(() => writer.executeMultiple(`PRAGMA incremental_vacuum(${pages})`)),
    async close() {
      await queue.idle();
      // first: its statements may still read
      if (reader !== writer) reader.close();
      if (location.url.startsWith("file:")) await foldIn(writer);
      writer.close();
      remote?.close();
    },
  };
}

/**
 * Copies the write-ahead log into the database file, so that the file alone is the database. As much as can be: another
 * process may read the log.
 */
async function foldIn(writer: Client): Promise<void> {
  try {
    // of this call the driver leaves no statement open
    await writer.executeMultiple("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // the next start finds the log and continues
  }
}

async function runWrite(client: Client, statements: readonly InStatement[]): Promise<ResultSet[]> {
  const [only, ...others] = statements;
  if (only !== undefined && others.length === 0) return [await client.execute(only)];
  return client.batch([...statements], "write");
}
