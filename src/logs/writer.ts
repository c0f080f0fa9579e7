import { giveWay, runPaced } from "../lib/pace.ts";
import type { LogBatch } from "../schemas/logs.ts";
import { packRecords } from "./pack.ts";
import type { LogRecord } from "./record.ts";
import type { Redactor } from "./redact.ts";
import { sealInSteps } from "./seal.ts";

/** The writing half of the log. Hosts may run it on another thread, where it does not hold the event loop. */
export interface LogWriter {
  /** Takes secrets out of records and stores them, all or none. */
  append(records: readonly LogRecord[]): Promise<void>;
  /** Removes at most `limit` batches made before `time` (Unix milliseconds); tells how many went. */
  purge(time: number, limit: number): Promise<number>;
  close(): Promise<void>;
  /** Most bytes it wants at once, where that is not the default of the queue. */
  readonly batchBytes?: number;
}

/** A writer that runs where it is called. */
export function createLogWriter(
  store: { append(batches: readonly LogBatch[]): Promise<void>; purge: LogWriter["purge"] },
  redactor: Redactor,
): LogWriter {
  return {
    async append(records) {
      const packed = await packRecords(records, redactor);
      const sealed: LogBatch[] = [];
      for (const batch of packed) {
        // each may be long, and this is where requests are answered
        if (sealed.length > 0) await giveWay();
        sealed.push(await runPaced(sealInSteps(batch, redactor)));
      }
      await store.append(sealed);
    },
    purge: store.purge,
    close: async () => {},
  };
}
