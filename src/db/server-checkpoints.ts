import type { Database } from "./client.ts";

/**
 * What an operator should change about the server of a database on another machine; undefined if nothing is known.
 *
 * A libSQL server (sqld 0.24.32, `connection_manager.rs`) that copies its write-ahead log to the database after a commit
 * turns away writes that wait for their turn meanwhile, but leaves them in its queue. It may then give the turn to one that
 * has ended long ago, and writes nothing until it is restarted. Four writes at the same time are enough for that.
 */
export async function adviseServer(database: Database): Promise<string | undefined> {
  if (!database.remote) return undefined;
  try {
    const { rows } = await database.read("PRAGMA wal_autocheckpoint");
    if (!(Number(rows[0]?.wal_autocheckpoint) > 0)) return undefined;
    return "may stop writing while several nodes write: start it with SQLD_CHECKPOINT_INTERVAL_S=10 (docs/scaling.md)";
  } catch {
    return undefined; // another server may refuse the question
  }
}
