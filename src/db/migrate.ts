import type { Database, Statement } from "./client.ts";
import { isConflict } from "./client.ts";
import { type Migration, migrations } from "./migrations/migrations.ts";
import { schema } from "./migrations/schema.ts";

/** A row of `migrations`: the second insert fails the transaction of a concurrent process. */
function mark({ id }: Migration): Statement {
  return { sql: "INSERT INTO migrations (id, applied_at) VALUES (?, ?)", args: [id, Date.now()] };
}

/**
 * Brings the schema up to date. Each migration is one transaction that first records its id, so that of several processes
 * that start together only one applies it. An empty database gets the complete schema in one transaction.
 */
export async function migrate(database: Database): Promise<void> {
  await database.write([
    "CREATE TABLE IF NOT EXISTS migrations (id TEXT PRIMARY KEY NOT NULL, applied_at INTEGER NOT NULL)",
  ]);
  const { rows } = await database.read("SELECT id FROM migrations");
  const applied = new Set(rows.map(({ id }) => id));
  if (applied.size === 0) return await writeOnce(database, [...migrations.map(mark), ...schema]);
  for (const migration of migrations) {
    if (!applied.has(migration.id)) await writeOnce(database, [mark(migration), ...migration.statements]);
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
