import type { LogEntry } from "../schemas/logs.ts";
import { type DraftRecord, type LogRecord, toDraft, toLogEntry } from "./record.ts";
import type { Redactor } from "./redact.ts";

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

/** Stores rows, all or none. */
export type AppendEntries = (entries: readonly LogEntry[]) => Promise<void>;

/** Stores drafts without their secrets: the one way from a record to the database, on whichever thread. */
export async function writeDrafts(
  drafts: readonly DraftRecord[],
  redactor: Redactor,
  append: AppendEntries,
): Promise<void> {
  const entries: LogEntry[] = [];
  for (const draft of drafts) {
    const entry = toLogEntry(draft, redactor);
    entries.push(entry instanceof Promise ? await entry : entry);
  }
  await append(entries);
}

/** A writer that runs where it is called. */
export function createLogWriter(
  store: { append: AppendEntries; purge: LogWriter["purge"] },
  redactor: Redactor,
): LogWriter {
  return {
    append: (records) => writeDrafts(records.map(toDraft), redactor, store.append),
    purge: store.purge,
    close: async () => {},
  };
}
