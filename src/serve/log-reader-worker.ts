import { setPriority } from "node:os";
import { workerData } from "node:worker_threads";
import { type DatabaseLocation, openDatabase } from "../db/client.ts";
import { createFeedbackStore } from "../db/stores/feedback.ts";
import { createLogSegmentStore } from "../db/stores/log-segments.ts";
import { LogIndex } from "../logs/index/log-index.ts";
import { createIndexReader } from "../logs/read/index-reader.ts";
import { forgetUnused } from "./forget.ts";
import { type ReaderRequest, toReaderReply } from "./log-reader-messages.ts";
import { serveThread } from "./thread.ts";

/** Most bytes of the log's index that stay in memory. */
const indexCacheBytes = 128 * 2 ** 20;
/** Time of a question before another has a turn: a turn takes a millisecond. */
const sliceMs = 8;
/** Requests come first where processors are busy: this thread then gets a tenth of their time. */
const priority = 10;

/** Linux has a priority for each thread; elsewhere this would be that of the whole process. */
function yieldToRequests(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, priority);
  } catch {
    // a sandbox may forbid it
  }
}

/** A reader with a separate connection. The schema must be up to date. */
async function openReader(location: DatabaseLocation) {
  const database = await openDatabase(location);
  const segments = createLogSegmentStore(database);
  const index = new LogIndex(segments, indexCacheBytes, sliceMs);
  return { database, reader: createIndexReader({ index, segments, feedback: createFeedbackStore(database) }) };
}

yieldToRequests();
const opened = openReader(workerData);
opened.catch(() => {}); // reported to the first message

async function answer(request: ReaderRequest): Promise<unknown> {
  const { database, reader } = await opened;
  switch (request.kind) {
    case "find":
      return reader.find(request.question);
    case "list":
      return reader.list(request.question);
    case "count":
      return reader.count(request.question);
    case "graph":
      return reader.graph(request.question);
    case "cacheSummary":
      return reader.cacheSummary(request.question);
    case "periodSummary":
      return reader.periodSummary(request.question);
    case "groups":
      return reader.groups(request.question);
    default:
      await database.close();
      return forgetUnused();
  }
}

serveThread((request: ReaderRequest) => toReaderReply(answer(request)));
