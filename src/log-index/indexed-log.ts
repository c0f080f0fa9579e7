import type { LogSealingStore } from "../db/stores/log-sealing.ts";
import type { LogStore } from "../db/stores/logs.ts";
import { LogSealer } from "./sealer.ts";

/** What writes the log and its index. */
interface IndexedLog extends Pick<LogStore, "append" | "purge"> {
  /** Adds rows to the index if they are enough for a segment; returns whether there may be more to do. */
  index(): Promise<boolean>;
  /** Gives up a segment that is being made. */
  close(): Promise<void>;
}

/**
 * The log and its index, for what writes them.
 *
 * @param now Unix milliseconds.
 */
export function createIndexedLog(
  { append, purge }: Pick<LogStore, "append" | "purge">,
  sealing: LogSealingStore,
  now: () => number,
): IndexedLog {
  const sealer = new LogSealer(sealing, now);
  return {
    append,
    async purge(time, limit) {
      const removed = await purge(time, limit);
      // the last of several calls
      if (removed < limit) await sealer.cleanUp();
      return removed;
    },
    index: () => sealer.run(),
    close: () => sealer.close(),
  };
}
