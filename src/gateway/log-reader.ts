import type { Database } from "../db/client.ts";
import { createFeedbackStore } from "../db/stores/feedback.ts";
import { LogIndex } from "../logs/index/log-index.ts";
import { createIndexReader } from "../logs/read/index-reader.ts";
import type { LogReader } from "../logs/read/log-reader.ts";
import type { RedactionSettings } from "../logs/redact.ts";
import { locationOf } from "./data.ts";
import { type GatewayOptions, retentionDaysOf } from "./options.ts";

/** Most bytes of the log's index that stay in memory. */
const indexCacheBytes = 64 * 2 ** 20;

/** The reader the host offers for files and servers, else one that shares the gateway's connection. */
export function createReader(
  options: GatewayOptions,
  database: Database,
  {
    redaction,
    segments,
    contents,
  }: { redaction: RedactionSettings } & Pick<Parameters<typeof createIndexReader>[0], "segments" | "contents">,
): LogReader {
  const url = options.database ?? ":memory:";
  if (options.createLogReader && url !== ":memory:") {
    const { logObjects: objects } = options;
    const days = retentionDaysOf(options).contents;
    return options.createLogReader(locationOf(options), { redaction, days, ...(objects && { objects }) });
  }
  const index = new LogIndex(segments, indexCacheBytes);
  return createIndexReader({ index, segments, feedback: createFeedbackStore(database), contents });
}
