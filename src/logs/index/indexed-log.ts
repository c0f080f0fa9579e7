import type { IndexStores } from "../../db/stores/log-index.ts";
import type { LogStore } from "../../db/stores/logs.ts";
import { createIdFactory } from "../../lib/ids.ts";
import type { RetentionTimes } from "../../schemas/log-segments.ts";
import { LogOffload, type Objects } from "./offload.ts";
import { LogRetention } from "./retention.ts";
import { LogSealer } from "./sealer.ts";

/** What writes the log and its index. */
interface IndexedLog extends Pick<LogStore, "append"> {
  /** Takes one step of removing old rows; returns whether there may be more. */
  purge(times: RetentionTimes): Promise<boolean>;
  /** Adds rows to the index if they are enough for a segment; returns whether there may be more to do. */
  index(): Promise<boolean>;
  /** Takes one step of moving contents to the object store; returns whether there may be more. Absent without a store. */
  offload?: (() => Promise<boolean>) | undefined;
  /** Gives up a segment that is being made, and waits for an object that is being stored. */
  close(): Promise<void>;
}

/**
 * The log and its index, for what writes them.
 *
 * @param now Unix milliseconds.
 * @param objects The object store for contents, if there is one.
 */
export function createIndexedLog(
  { append }: Pick<LogStore, "append">,
  stores: IndexStores,
  now: () => number,
  objects?: Objects,
): IndexedLog {
  const sealer = new LogSealer(stores.sealing, now);
  const retention = new LogRetention(stores.retention, sealer, now);
  const offload = objects && new LogOffload(stores.objects, objects, { now, createId: createIdFactory(now) });
  return {
    append,
    purge: (times) => retention.step(times),
    index: () => sealer.run(),
    offload: offload && (() => offload.step()),
    async close() {
      await sealer.close();
      await offload?.close();
    },
  };
}
