import { setPriority } from "node:os";
import { workerData } from "node:worker_threads";
import { createObjectStore } from "../control/object-store.ts";
import { type Database, openDatabase } from "../db/client.ts";
import { createFeedbackStore } from "../db/stores/feedback.ts";
import { createLogSegmentStore } from "../db/stores/log-segments.ts";
import { createLogStore } from "../db/stores/logs.ts";
import { createAddressGuard } from "../lib/address.ts";
import { createOutbound } from "../lib/outbound.ts";
import { LogIndex } from "../logs/index/log-index.ts";
import { createIndexReader } from "../logs/read/index-reader.ts";
import { createRedactor } from "../logs/redact.ts";
import { forgetUnused } from "./forget.ts";
import { type ReaderRequest, toReaderReply } from "./log-reader-messages.ts";
import type { ReaderSettings } from "./log-reader-thread.ts";
import { createLateTransport } from "./runtime-transport.ts";
import { zstdCodec } from "./text-codec.ts";
import { serveThread } from "./thread.ts";

/** Most bytes of the log's index that stay in memory. */
const indexCacheBytes = 128 * 2 ** 20;
/** Time of a question before another has a turn: a turn takes a millisecond. */
const sliceMs = 8;
/** Requests come first where processors are busy: this thread then gets a tenth of their time. */
const priority = 10;

const dayMs = 86_400_000;

/** Linux has a priority for each thread; elsewhere this would be that of the whole process. */
function yieldToRequests(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, priority);
  } catch {
    // a sandbox may forbid it
  }
}

/** What searches read. It only masks what streams add up to. */
function openContents(database: Database, { redaction, days, objects: settings }: ReaderSettings["contents"]) {
  // no caller or tenant names an address here
  const outbound = createOutbound({
    transport: createLateTransport(),
    guard: createAddressGuard({ trustedHosts: [] }),
  });
  const objects = settings && createObjectStore(settings, { outbound, clock: Date });
  const shownSince = () => Date.now() - days * dayMs;
  const store = createLogStore(database, zstdCodec, objects, shownSince);
  return { store, redactor: createRedactor({ ...redaction, mac: () => "" }) };
}

/** A reader with a separate connection. The schema must be up to date. */
async function openReader({ location, contents }: ReaderSettings) {
  const database = await openDatabase(location);
  const segments = createLogSegmentStore(database);
  const index = new LogIndex(segments, indexCacheBytes, sliceMs);
  const feedback = createFeedbackStore(database);
  return {
    database,
    reader: createIndexReader({ index, segments, feedback, contents: openContents(database, contents) }),
  };
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
    case "search":
      return reader.search(request.question);
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
    case "series":
      return reader.series(request.question);
    default:
      await database.close();
      return forgetUnused();
  }
}

serveThread((request: ReaderRequest) => toReaderReply(answer(request)));
