import { isBusy } from "../../db/writes.ts";

/** How often it is tried, in milliseconds. */
const tryEveryMs = 100;

const wait = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));

/**
 * Waits until no other process owns a database file, and owns it until this process ends. The lock is one of the operating
 * system on an empty file: no killed process leaves one behind.
 *
 * @param path File beside the database.
 * @param busy Called once if another process owns it.
 */
export async function becomeOwner(path: string, busy: () => void): Promise<void> {
  const { createClient } = await import("@libsql/client/sqlite3");
  const url = `file:${path.split("/").map(encodeURIComponent).join("/")}`;
  for (let times = 0; ; times++) {
    const client = createClient({ url, concurrency: 1, timeout: 0 });
    try {
      const lock = await client.transaction("deferred");
      // nothing is written, so the file stays empty and has no journal beside it
      await lock.executeMultiple("END; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      held.add(lock);
      return;
    } catch (error) {
      client.close();
      if (!isBusy(error)) throw error;
      if (times === 0) busy();
      await wait(tryEveryMs);
    }
  }
}

/** Locks of this process: one that is no longer used would be given back. */
const held = new Set<unknown>();
