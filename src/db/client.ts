import type { Client, InStatement, ResultSet } from "@libsql/client";
import type { LibSQLDatabase } from "drizzle-orm/libsql";
import { drizzle } from "drizzle-orm/libsql/sqlite3";
import { DatabaseAwayError, isDatabaseAway } from "../lib/database-away.ts";
import { DatabaseOpenError, describeDatabase } from "./open-failure.ts";
import { connectRemote, type RemoteWrites } from "./remote-client.ts";
import { LocalWrites, untilUnlocked } from "./writes.ts";

/** Longest time a statement may block the event loop waiting for another process's lock. */
const busyTimeoutMs = 10;

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
  /** Longest time of a write on a server, with its wait for those before it, in milliseconds; default 30,000. */
  writeWithinMs?: number;
  /** Most bytes of a local file, without its write-ahead log. Writes that need more fail. Default: no bound. */
  maxBytes?: number;
  /** Answers `lastKnown` while a server is away. Default: nothing does. */
  standIn?: StandIn;
}

/** What a process knows of a database on another machine while that is away. */
export interface StandIn {
  /** Whether calls go to the database. False: it is not known to be the one that was there before. */
  readonly isConnected: boolean;
  /** Answers reading statements in one transaction; rejects with `error`, that of the database, if it cannot. */
  answer(statements: readonly InStatement[], error: Error): Promise<ResultSet[]>;
}

/** The open database: reads use `orm`, all writes go through the queue behind `write`. */
export interface Database {
  /** Builds and runs queries; `toStatement` turns a built query into a statement for `write`. */
  readonly orm: LibSQLDatabase;
  /** Runs one reading statement. */
  read(statement: InStatement): Promise<ResultSet>;
  /** Runs reading statements in one transaction. */
  readAsOne(statements: readonly InStatement[]): Promise<ResultSet[]>;
  /** The same database, whose reads are answered with what was last known while it is away. For the path of requests alone. */
  readonly lastKnown: Database;
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

/**
 * Whether the database rejected the statement for good, so that a retry is useless. A libSQL server takes no value above
 * 5 MB, and says so before it runs the statement or while it does.
 */
export function isRefusedStatement(error: unknown): boolean {
  return /SQLITE_(?:ERROR|CONSTRAINT|MISMATCH|TOOBIG|RANGE)|ARGS_INVALID|malformed JSON/.test(String(error));
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

/** The work of a database, whose errors show when it does not respond. */
async function namingOutages<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof Error && isUnreachable(error) ? new DatabaseAwayError(error) : error;
  }
}

/** How reads of a client run. */
type Reads = Pick<Client, "execute" | "batch">;

/** Reads that show when the database does not respond. */
function createReads(client: Client, standIn: StandIn | undefined): Reads {
  const run = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    if (standIn && !standIn.isConnected) throw new DatabaseAwayError(new Error("The database is not back yet"));
    return namingOutages(work());
  };
  return {
    // the first form of two that the driver declares
    execute: ((statement: InStatement) => run(() => client.execute(statement))) as Reads["execute"],
    batch: (...parts) => run(() => client.batch(...parts)),
  };
}

/** Reads that are answered with what was last known while the database is away. */
function createLastReads(reads: Reads, standIn: StandIn): Reads {
  const instead = async (statements: readonly InStatement[], error: unknown) => {
    if (error instanceof Error && isDatabaseAway(error)) return standIn.answer(statements, error);
    throw error;
  };
  const execute = async (statement: InStatement): Promise<ResultSet> => {
    try {
      return await reads.execute(statement);
    } catch (error) {
      const [result] = await instead([statement], error);
      if (result) return result;
      throw error;
    }
  };
  return {
    // the first form of two that the driver declares
    execute: execute as Reads["execute"],
    batch: (statements, mode) =>
      reads.batch(statements, mode).catch((error) => instead(statements.map(toInStatement), error)),
  };
}

/** A statement of a batch, which may be a pair. */
function toInStatement(statement: Parameters<Client["batch"]>[0][number]): InStatement {
  if (typeof statement === "string" || "sql" in statement) return statement;
  const [sql, args] = statement;
  return args === undefined ? sql : { sql, args };
}

/** A client for the query builder that reads in a given way. */
function withReads(client: Client, reads: Reads): Client {
  return new Proxy(client, {
    get(target, name) {
      if (name === "execute" || name === "batch") return reads[name];
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/**
 * Opens the database.
 *
 * @throws If it cannot be opened or ignores the settings of `prepareConnection`.
 */
export async function openDatabase(location: DatabaseLocation): Promise<Database> {
  const remote = isLocalDatabase(location.url) ? undefined : await connectRemote(location);
  const writer = remote?.writer ?? (await createLocalClient(location.url));
  if (location.refusesWithoutTables && location.url.startsWith("file:")) await requireTables(writer, location);
  await prepareConnection(writer, location);
  // an in-memory database belongs to one connection
  const reader = remote?.reader ?? (location.url.startsWith("file:") ? await createLocalClient(location.url) : writer);
  if (reader !== writer) await prepareConnection(reader, location);

  /** A connection that met a lock may reject all later transactions, so it is replaced. */
  const reopen = async () => {
    if (location.url === ":memory:") return;
    await writer.reconnect();
    await prepareConnection(writer, location);
  };
  const queue: Pick<RemoteWrites, "add" | "idle"> = remote?.writes ?? new LocalWrites(reopen);
  const standIn = remote && location.standIn;
  const reads = createReads(reader, standIn);
  const database: Omit<Database, "lastKnown"> = {
    ...readsOf(reader, reads),
    remote: !isLocalDatabase(location.url),
    write: async (statements) => {
      if (standIn && !standIn.isConnected) throw new DatabaseAwayError(new Error("The database is not back yet"));
      return namingOutages(queue.add(() => runWrite(writer, statements), statements));
    },
    // of other calls the driver takes one step, which is one page, and leaves the statement open
    shrink: (pages) => queue.add(() => writer.executeMultiple(`PRAGMA incremental_vacuum(${pages})`), []),
    async close() {
      await queue.idle();
      // first: its statements may still read
      if (reader !== writer) reader.close();
      if (location.url.startsWith("file:")) await foldIn(writer);
      writer.close();
      remote?.close();
    },
  };
  return withLastKnown(database, standIn && { ...database, ...readsOf(reader, createLastReads(reads, standIn)) });
}

/** The reading functions of a database. */
function readsOf(client: Client, reads: Reads): Pick<Database, "orm" | "read" | "readAsOne"> {
  return {
    orm: drizzle({ client: withReads(client, reads) }),
    read: (statement) => untilUnlocked(() => reads.execute(statement)),
    readAsOne: (statements) => untilUnlocked(() => reads.batch([...statements], "read")),
  };
}

/** A database whose last known state is that of another, or its own. */
function withLastKnown(database: Omit<Database, "lastKnown">, other?: Omit<Database, "lastKnown">): Database {
  const whole: Database = {
    ...database,
    get lastKnown() {
      return known;
    },
  };
  const known: Database = other ? withLastKnown(other) : whole;
  return whole;
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
