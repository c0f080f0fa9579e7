import { type DatabaseLocation, openDatabase } from "./client.ts";
import { createLogStore, type LogBatch } from "./stores/logs.ts";

/** The writing half of the log store. Hosts may run it on another thread, where it does not hold the event loop. */
export interface LogWriter {
  /** Stores batches with their bodies, all or none. */
  append(batches: readonly LogBatch[]): Promise<void>;
  /** Removes at most `limit` batches made before `time` (Unix milliseconds); tells how many went. */
  purge(time: number, limit: number): Promise<number>;
  close(): Promise<void>;
}

/** Opens a writer with a connection of its own. The schema must be up to date. */
export async function openLogWriter(location: DatabaseLocation): Promise<LogWriter> {
  const database = await openDatabase(location);
  const { append, purge } = createLogStore(database);
  return { append, purge, close: () => database.close() };
}
