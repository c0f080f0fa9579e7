import { isLocalDatabase } from "./client.ts";
import { DatabaseOpenError, describeDatabase } from "./open-failure.ts";
import { isBusy } from "./writes.ts";

/** Time for a process that ends to give its lock back, in milliseconds. */
const patienceMs = 1_000;

/** Who serves a database. */
interface Serving {
  url: string;
  /** Whether the process shares limits with others on the same file. */
  isShared: boolean;
}

/**
 * Marks a local file as served by this process until the process ends or the result is called. Several processes may serve
 * it together if all of them share their limits: else each would admit the whole of each limit. The mark is a lock of the
 * operating system on an empty file beside the database, so that no killed process leaves one behind.
 *
 * @param warn Receives why no lock can be had, for example from a network file system.
 * @throws {DatabaseOpenError} If another process serves the file and does not share it, or this one does not.
 */
export async function markServed({ url, isShared }: Serving, warn: (message: string) => void): Promise<() => void> {
  if (url === ":memory:" || !isLocalDatabase(url)) return () => {};
  const { createClient } = await import("@libsql/client/sqlite3");
  const path = describeDatabase(url);
  const client = createClient({ url: `${url.replace(/[?#].*$/, "")}-lock`, concurrency: 1, timeout: patienceMs });
  try {
    const lock = await client.transaction("deferred");
    // nothing is written, so the file stays empty
    await lock.executeMultiple(
      isShared ? "SELECT count(*) FROM sqlite_schema" : "END; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE",
    );
    return () => {
      lock.close();
      client.close();
    };
  } catch (error) {
    client.close();
    if (isBusy(error)) {
      const remedy = "Stop that one, or set WORKERS of each to the number of processes that share the file";
      throw new DatabaseOpenError(`Cannot serve ${path} (DATABASE_URL): another process serves it. ${remedy}`, {
        cause: error,
      });
    }
    warn(`Cannot lock ${path}-lock, so a second process on this database would not be noticed: ${error}`);
    return () => {};
  }
}
