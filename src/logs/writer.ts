import { giveWay, runPaced } from "../lib/pace.ts";
import type { RetentionTimes } from "../schemas/log-segments.ts";
import type { LateHooks, LogBatch } from "../schemas/logs.ts";
import { type PackedBatch, packRecords } from "./pack.ts";
import type { LogRecord } from "./record.ts";
import type { Redactor } from "./redact.ts";
import { sealInSteps } from "./seal.ts";
import type { SpillState } from "./spill.ts";

/** Which of those who follow the log may want some rows, which are not written yet. */
export interface Foreseen {
  /** Highest number of a filter that was compared with the rows. Whoever follows with a later one reads them. */
  readonly upTo: number;
  /** Numbers of those of them that may want a row, unless something in it is masked when it is written. */
  readonly filters: readonly number[];
}

/** Writes the log. Hosts may run it on another thread, where it does not block the event loop. */
export interface LogWriter {
  /**
   * Redacts records and stores them, all or none.
   *
   * @param foreseen What followers want of them. Absent: nobody follows.
   * @returns Whether that is true of the rows as they are stored; false if it is not known.
   */
  append(records: readonly LogRecord[], foreseen?: Foreseen): Promise<boolean>;
  /** Stores batches of other processes, all or none. Absent where there can be none. */
  appendPacked?(batches: readonly PackedBatch[]): Promise<void>;
  /** Takes one short step of removing old rows, and of giving back their space; returns whether there may be more. */
  purge(times: RetentionTimes): Promise<boolean>;
  /** Adds rows to the index if enough have come since the last time; returns whether there may be more. */
  index(): Promise<boolean>;
  /** Takes one step of moving contents to the object store; returns whether there may be more. Absent without a store. */
  offload?: (() => Promise<boolean>) | undefined;
  /** Makes spans of hooks that ran after responses, once their results are stored. Absent without traces. */
  traceHooks?: ((hooks: readonly LateHooks[]) => Promise<void>) | undefined;
  /** Metrics of the rows that were written, in the text format; empty without metrics. */
  metrics(): Promise<string>;
  /** Stores what an earlier process left in the file for outages. Absent without such a file. */
  recover?(): Promise<void>;
  /** What waits in the file for outages. Absent without such a file. */
  waiting?(): Promise<SpillState>;
  /** Ends what runs; rows that `append` was given are stored. */
  close(): Promise<void>;
  /** Preferred bytes and rows per write, where they differ from the queue's defaults. */
  readonly batchBytes?: number;
  readonly batchRows?: number;
  /** Most calls of `append` at a time; default 1. */
  readonly writesAtOnce?: number;
}

/** A writer that runs on the calling thread. */
export function createLogWriter(
  store: Pick<LogWriter, "purge" | "index" | "offload" | "traceHooks" | "metrics" | "close"> & {
    append(batches: readonly LogBatch[]): Promise<void>;
  },
  redactor: Redactor,
): LogWriter {
  return {
    async append(records) {
      const packed = await packRecords(records, redactor);
      const sealed: LogBatch[] = [];
      for (const batch of packed) {
        // each may take long, and this thread serves requests
        if (sealed.length > 0) await giveWay();
        sealed.push(await runPaced(sealInSteps(batch, redactor)));
      }
      await store.append(sealed);
      return false;
    },
    purge: store.purge,
    index: store.index,
    offload: store.offload,
    traceHooks: store.traceHooks,
    metrics: store.metrics,
    close: store.close,
  };
}
