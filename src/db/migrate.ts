import type { Database } from "./client.ts";
import { isConflict } from "./client.ts";
import { migrations } from "./migrations/migrations.ts";

/**
 * Brings the schema up to date. Each migration is one transaction that begins by writing its own name, so that of several
 * processes that start together one applies it and the others pass on.
 */
export async function migrate(database: Database): Promise<void> {
  await database.write([
    "CREATE TABLE IF NOT EXISTS migrations (id TEXT PRIMARY KEY NOT NULL, applied_at INTEGER NOT NULL)",
  ]);
  const { rows } = await database.read("SELECT id FROM migrations");
  const applied = new Set(rows.map(({ id }) => id));
  for (const { id, statements } of migrations) {
    if (applied.has(id)) continue;
    const mark = { sql: "INSERT INTO migrations (id, applied_at) VALUES (?, ?)", args: [id, Date.now()] };
    try {
      await database.write([mark, ...statements]);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}
