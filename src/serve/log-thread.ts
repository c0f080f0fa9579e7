import type { DatabaseLocation } from "../db/client.ts";
import type { TailPage, TailReader, TailRequest } from "../log-tail/page.ts";
import { type PackedBatch, packRecords } from "../logs/pack.ts";
import { createRedactor, type RedactionSettings } from "../logs/redact.ts";
import type { LogWriter } from "../logs/writer.ts";
import type { TelemetrySettings } from "../observability/telemetry.ts";
import type { RetentionTimes } from "../schemas/log-segments.ts";
import { nodeMac } from "./environment.ts";
import { Thread } from "./thread.ts";

/** Initial data of the thread. */
export interface WorkerSettings {
  location: DatabaseLocation;
  /** Without the key for hiding headers: that is done before. */
  redaction: Omit<RedactionSettings, "key">;
  telemetry: TelemetrySettings;
}

/** A message to the thread. */
export type WorkerRequest =
  | { id: number; kind: "append"; batches: readonly PackedBatch[] }
  | { id: number; kind: "purge"; times: RetentionTimes }
  | { id: number; kind: "index" }
  | { id: number; kind: "tail"; request: TailRequest }
  | { id: number; kind: "metrics" }
  | { id: number; kind: "close" };

/**
 * A reply is only processed when the busy request loop gets to it: with small batches, large bodies would arrive faster
 * than they are written, and be dropped.
 */
const threadBatchBytes = 4 * 1024 * 1024;

/**
 * A log writer on a separate thread: the request loop hides headers and transfers the records; the thread masks other
 * secrets, and makes metrics of what it has stored. If the thread ends, the next write starts a new one.
 */
export function createLogThread(
  location: DatabaseLocation,
  redaction: RedactionSettings,
  telemetry: TelemetrySettings,
): LogWriter & TailReader {
  const { key, ...names } = redaction;
  const redactor = createRedactor({ ...names, mac: nodeMac(key) });
  const settings: WorkerSettings = { location, redaction: names, telemetry };
  const start = () => new Thread<WorkerRequest>("log-worker", settings);
  // started early: until it runs, a killed process loses the waiting rows
  let thread = start();
  const running = () => {
    if (thread.ended) thread = start();
    return thread;
  };
  return {
    batchBytes: threadBatchBytes,
    async append(records) {
      const packed = packRecords(records, redactor);
      const batches = packed instanceof Promise ? await packed : packed;
      const memory = batches.map(({ bodies }) => bodies.buffer);
      await running().ask({ kind: "append", batches }, memory);
    },
    index: async () => (await running().ask({ kind: "index" })) > 0,
    readTail: (request) => running().ask<TailPage>({ kind: "tail", request }),
    metrics: () => running().ask<string>({ kind: "metrics" }),
    purge: async (times) => (await running().ask({ kind: "purge", times })) > 0,
    async close() {
      if (!thread.ended) await thread.ask({ kind: "close" });
      await thread.end();
    },
  };
}
