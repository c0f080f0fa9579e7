import type { Database, Statement } from "./client.ts";
import { isConflict } from "./client.ts";
import { type Migration, migrations } from "./migrations/migrations.ts";
import { schema } from "./migrations/schema.ts";
import { DatabaseOpenError } from "./open-failure.ts";

/** A row of `migrations`: the second insert fails the transaction of a concurrent process. */
function mark({ id, readableSince }: Migration): Statement {
  const sql = "INSERT INTO migrations (id, applied_at, readable_since) VALUES (?, ?, ?)";
  return { sql, args: [id, Date.now(), readableSince ?? null] };
}

/** Adds the column to the table that earlier versions made. Another process may do the same. */
async function addReadableSince(database: Database): Promise<void> {
  const { rows } = await database.read("SELECT 1 FROM pragma_table_info('migrations') WHERE name = 'readable_since'");
  if (rows.length > 0) return;
  try {
    await database.write(["ALTER TABLE migrations ADD COLUMN readable_since TEXT"]);
  } catch (error) {
    if (!/duplicate column name/i.test(String(error))) throw error;
  }
}

/** A migration that was applied, as its row says. */
interface Applied {
  id: string;
  /** The migration that a program must know to work with this one. Null: this one. */
  readableSince: string | null;
}

/**
 * The first migration that this program neither knows nor may ignore: a newer version applied it.
 *
 * @param known Ids of the migrations of this program, oldest first.
 */
function findTooNew(applied: readonly Applied[], known: readonly string[]): string | undefined {
  const ids = new Set(known);
  const tooNew = applied.filter(({ id, readableSince }) => !ids.has(id) && !ids.has(readableSince ?? ""));
  return tooNew.map(({ id }) => id).sort()[0];
}

/** What was applied to the database, without changing it. Empty for an empty database. */
async function readApplied(database: Database): Promise<Applied[]> {
  const columns = await database.read("SELECT name FROM pragma_table_info('migrations')");
  const names = new Set(columns.rows.map(({ name }) => name));
  if (!names.has("id")) return [];
  const since = names.has("readable_since") ? "readable_since" : "NULL";
  const { rows } = await database.read(`SELECT id, ${since} AS since FROM migrations ORDER BY id`);
  return rows.map(({ id, since }) => ({ id: String(id), readableSince: since === null ? null : String(since) }));
}

/**
 * @throws {DatabaseOpenError} If a newer version changed the schema so that this program would misread or damage it.
 */
function requireReadable(applied: readonly Applied[]): void {
  const known = migrations.map(({ id }) => id);
  const tooNew = findTooNew(applied, known);
  if (tooNew === undefined) return;
  throw new DatabaseOpenError(
    `Cannot use this database with this version of the gateway: a newer version applied the migration ${tooNew}, and this one ends with ${known.at(-1)}; start the newer version, or restore a backup from before it (docs/operations.md)`,
  );
}

/**
 * How many migrations the next start applies. Changes nothing.
 *
 * @throws {DatabaseOpenError} If the schema is of a newer version that this program cannot work with.
 */
export async function countPending(database: Database): Promise<number> {
  const applied = await readApplied(database);
  requireReadable(applied);
  const ids = new Set(applied.map(({ id }) => id));
  return migrations.filter(({ id }) => !ids.has(id)).length;
}

/**
 * Brings the schema up to date. Each migration is one transaction that first records its id, so that of several processes
 * that start together only one applies it. An empty database gets the complete schema in one transaction.
 *
 * @throws {DatabaseOpenError} If the schema is of a newer version that this program cannot work with.
 */
export async function migrate(database: Database): Promise<void> {
  // what is written to a server is slow, and to a file it shows that it can be written
  if (database.remote && (await countPending(database)) === 0) return;
  await database.write([
    "CREATE TABLE IF NOT EXISTS migrations (id TEXT PRIMARY KEY NOT NULL, applied_at INTEGER NOT NULL, readable_since TEXT)",
  ]);
  const applied = await readApplied(database);
  requireReadable(applied);
  await addReadableSince(database);
  if (applied.length === 0) return await writeOnce(database, [...migrations.map(mark), ...schema]);
  const ids = new Set(applied.map(({ id }) => id));
  for (const migration of migrations) {
    if (!ids.has(migration.id)) await writeOnce(database, [mark(migration), ...migration.statements]);
  }
}

/** Runs a transaction that begins with a mark; does nothing if another process has written the mark. */
async function writeOnce(database: Database, statements: readonly (string | Statement)[]): Promise<void> {
  try {
    await database.write(statements);
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
}

/**
 * Gives an empty database the schema of a version that had applied some migrations.
 *
 * @throws {DatabaseOpenError} If a newer version had applied one that this program does not know.
 */
export async function createSchemaOf(database: Database, applied: readonly string[]): Promise<void> {
  requireReadable(applied.map((id) => ({ id, readableSince: null })));
  if (applied.length === migrations.length) return migrate(database);
  await database.write([
    "CREATE TABLE migrations (id TEXT PRIMARY KEY NOT NULL, applied_at INTEGER NOT NULL, readable_since TEXT)",
  ]);
  const ids = new Set(applied);
  for (const migration of migrations) {
    if (ids.has(migration.id)) await writeOnce(database, [mark(migration), ...migration.statements]);
  }
}
