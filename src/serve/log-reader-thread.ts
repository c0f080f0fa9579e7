import type { DatabaseLocation } from "../db/client.ts";
import type { LogReader } from "../logs/read/log-reader.ts";
import { type ReaderReply, type ReaderRequest, readReaderReply } from "./log-reader-messages.ts";
import { type Ask, Thread } from "./thread.ts";

/**
 * A log reader on a separate thread, with a separate connection. The thread starts with the first question. If it ends,
 * the next question starts a new one.
 */
export function createLogReaderThread(location: DatabaseLocation): LogReader {
  let thread: Thread<ReaderRequest> | undefined;
  const ask = async <Value>(request: Ask<ReaderRequest>): Promise<Value> => {
    if (!thread || thread.ended) thread = new Thread("log-reader-worker", location);
    // the thread answers each kind of question as its reader does
    return readReaderReply(await thread.ask<ReaderReply>(request)) as Value;
  };
  return {
    find: (question) => ask({ kind: "find", question }),
    list: (question) => ask({ kind: "list", question }),
    count: (question) => ask({ kind: "count", question }),
    graph: (question) => ask({ kind: "graph", question }),
    cacheSummary: (question) => ask({ kind: "cacheSummary", question }),
    periodSummary: (question) => ask({ kind: "periodSummary", question }),
    groups: (question) => ask({ kind: "groups", question }),
    async close() {
      if (thread && !thread.ended) await thread.ask({ kind: "close" });
      await thread?.end();
    },
  };
}
