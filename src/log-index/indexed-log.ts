import type { IndexStores } from "../db/stores/log-index.ts";
import type { LogStore } from "../db/stores/logs.ts";
import type { RetentionTimes } from "../schemas/log-segments.ts";
import { LogRetention } from "./retention.ts";
import { LogSealer } from "./sealer.ts";

/** What writes the log and its index. */
interface IndexedLog extends Pick<LogStore, "append"> {
  /** Takes one step of removing old rows; returns whether there may be more. */
  purge(times: RetentionTimes): Promise<boolean>;
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
  { append }: Pick<LogStore, "append">,
  stores: IndexStores,
  now: () => number,
): IndexedLog {
  const sealer = new LogSealer(stores.sealing, now);
  const retention = new LogRetention(stores.retention, sealer, now);
  return {
    append,
    purge: (times) => retention.step(times),
    index: () => sealer.run(),
    close: () => sealer.close(),
  };
}
