import type { DatabaseLocation } from "../db/client.ts";
import type { LogContentSettings } from "../gateway/options.ts";
import type { LogReader } from "../logs/read/log-reader.ts";
import type { RedactionSettings } from "../logs/redact.ts";
import { type ReaderReply, type ReaderRequest, readReaderReply } from "./log-reader-messages.ts";
import { type Ask, Thread } from "./thread.ts";

/** Initial data of the thread. */
export interface ReaderSettings {
  readonly location: DatabaseLocation;
  /** Without the key for hiding headers, which are not searched. */
  readonly contents: Omit<LogContentSettings, "redaction"> & { redaction: Omit<RedactionSettings, "key"> };
}

/**
 * A log reader on a separate thread, with a separate connection. The thread starts with the first question. If it ends,
 * the next question starts a new one.
 */
export function createLogReaderThread(location: DatabaseLocation, contents: LogContentSettings): LogReader {
  const { key: _, ...redaction } = contents.redaction;
  const settings: ReaderSettings = { location, contents: { ...contents, redaction } };
  let thread: Thread<ReaderRequest> | undefined;
  const ask = async <Value>(request: Ask<ReaderRequest>): Promise<Value> => {
    if (!thread || thread.ended) thread = new Thread("log-reader-worker", settings);
    // the thread answers each kind of question as its reader does
    return readReaderReply(await thread.ask<ReaderReply>(request)) as Value;
  };
  return {
    find: (question) => ask({ kind: "find", question }),
    list: (question) => ask({ kind: "list", question }),
    search: (question) => ask({ kind: "search", question }),
    count: (question) => ask({ kind: "count", question }),
    graph: (question) => ask({ kind: "graph", question }),
    cacheSummary: (question) => ask({ kind: "cacheSummary", question }),
    periodSummary: (question) => ask({ kind: "periodSummary", question }),
    groups: (question) => ask({ kind: "groups", question }),
    series: (question) => ask({ kind: "series", question }),
    async close() {
      if (thread && !thread.ended) await thread.ask({ kind: "close" });
      await thread?.end();
    },
  };
}
