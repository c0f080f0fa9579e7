import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Most collections: what the first one frees may hold something else. */
const most = 3;

/** The collector of V8, which it shows to scripts only on demand. */
function findCollector(): (() => void) | undefined {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  return typeof collect === "function" ? () => void collect() : undefined;
}

/**
 * Frees what is no longer used in this thread. The driver of the database closes a connection once the last of its statements
 * is freed, and SQLite removes the files beside the database with the last connection.
 */
export async function forgetUnused(): Promise<void> {
  try {
    const collect = process.versions.bun === undefined ? findCollector() : () => Bun.gc(true);
    for (let times = 0; times < most; times++) {
      collect?.();
      // what is freed is closed in a later turn
      await new Promise((resolve) => setTimeout(resolve));
    }
  } catch {
    // the files stay; the database is complete without them
  }
}
