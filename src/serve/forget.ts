import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collections that are always made: what the first one frees may hold something else. */
const least = 3;
/** Most collections: what the stack still seems to hold is freed by a later one. */
const most = 20;
/** Pause after each collection: what is freed is closed in a later turn. */
const pauseMs = 10;

/** The collector of V8, which it shows to scripts only on demand. */
function findCollector(): (() => void) | undefined {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  return typeof collect === "function" ? () => void collect() : undefined;
}

/**
 * Frees what is no longer used in this thread. The driver of the database closes a connection once the last of its statements
 * is freed, and SQLite removes the files beside the database with the last connection.
 *
 * @param isDone Whether no further collection is needed. Default: after the first three.
 */
export async function forgetUnused(isDone: () => boolean = () => true): Promise<void> {
  try {
    const collect = process.versions.bun === undefined ? findCollector() : () => Bun.gc(true);
    for (let times = 0; times < most && (times < least || !isDone()); times++) {
      collect?.();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  } catch {
    // the files stay; the database is complete without them
  }
}
