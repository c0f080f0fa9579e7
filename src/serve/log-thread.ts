import type { S3Settings } from "../control/object-store.ts";
import { type DatabaseLocation, isLocalDatabase } from "../db/client.ts";
import type { LogSpillSettings } from "../db/stores/log-spill.ts";
import type { LogPlaces, LogSpillOptions } from "../gateway/options.ts";
import type { TailPage, TailReader, TailRequest } from "../logs/follow/page.ts";
import { type PackedBatch, packRecords } from "../logs/pack.ts";
import { createRedactor, type RedactionSettings } from "../logs/redact.ts";
import type { SpillState } from "../logs/spill.ts";
import type { Foreseen, LogWriter } from "../logs/writer.ts";
import type { TelemetrySettings } from "../observability/telemetry.ts";
import type { RetentionTimes } from "../schemas/log-segments.ts";
import type { LateHooks } from "../schemas/logs.ts";
import { nodeMac } from "./environment.ts";
import { keepToOwner } from "./keys-file.ts";
import { processLogOfThread } from "./process-log.ts";
import { Thread } from "./thread.ts";

/** Initial data of the thread. */
export interface WorkerSettings {
  location: DatabaseLocation;
  /** Without the key for hiding headers: that is done before. */
  redaction: Omit<RedactionSettings, "key">;
  telemetry: TelemetrySettings;
  /** Absent: rows wait in memory alone. */
  spill?: LogSpillSettings & Pick<LogSpillOptions, "patienceMs">;
  /** Absent: contents stay in the database. */
  objects?: S3Settings;
  /** The database is not asked before the message `recover`. */
  waitsForRecover?: boolean;
}

/** A message to the thread. */
export type WorkerRequest =
  | { id: number; kind: "append"; batches: readonly PackedBatch[]; foreseen: Foreseen | undefined }
  | { id: number; kind: "purge"; times: RetentionTimes }
  | { id: number; kind: "index" }
  | { id: number; kind: "offload" }
  | { id: number; kind: "tail"; request: TailRequest }
  | { id: number; kind: "hooks"; hooks: readonly LateHooks[] }
  | { id: number; kind: "metrics" }
  | { id: number; kind: "recover" }
  | { id: number; kind: "waiting" }
  | { id: number; kind: "close" };

/**
 * A reply is only processed when the busy request loop gets to it: with small batches, one at a time, rows would arrive
 * faster than they are written, and be dropped.
 */
const fileWrites = { batchBytes: 4 * 1024 * 1024, writesAtOnce: 16 };
/** A server gets one write at a time and may be far away: a write takes as many rows as arrive within its round trips. */
const serverWrites = { batchBytes: 4 * 1024 * 1024, batchRows: 4_096 };

/** The file for outages, which its owner alone can read. Undefined if it cannot be made: then rows wait in memory. */
function prepareSpill(
  { path, bytes, patienceMs }: LogSpillOptions,
  mac: ReturnType<typeof nodeMac>,
): WorkerSettings["spill"] {
  try {
    keepToOwner(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    processLogOfThread().warn(
      `Cannot write ${path} (LOG_SPILL_FILE): log rows wait in memory while the database is away, because: ${reason}`,
    );
    return undefined;
  }
  const url = `file:${path.split("/").map(encodeURIComponent).join("/")}`;
  const settings = { location: { url, maxBytes: bytes }, installation: String(mac("log-spill")).slice(0, 22) };
  return patienceMs === undefined ? settings : { ...settings, patienceMs };
}

/**
 * A log writer on a separate thread: the request loop hides headers and transfers the records; the thread masks other
 * secrets, and makes metrics of what it has stored. If the thread ends, the next write starts a new one.
 */
export function createLogThread(
  location: DatabaseLocation,
  redaction: RedactionSettings,
  telemetry: TelemetrySettings,
  places: LogPlaces = {},
): LogWriter & TailReader {
  const { key, ...names } = redaction;
  const mac = nodeMac(key);
  const redactor = createRedactor({ ...names, mac });
  const { objects } = places;
  const spill = places.spill && prepareSpill(places.spill, mac);
  const settings: WorkerSettings = {
    location,
    redaction: names,
    telemetry,
    ...(spill && { spill }),
    ...(objects && { objects }),
  };
  let waitsForRecover = places.waitsForRecover === true;
  const start = () => new Thread<WorkerRequest>("log-worker", { ...settings, waitsForRecover });
  // started early: until it runs, a killed process loses the waiting rows
  let thread = start();
  const running = () => {
    if (thread.ended) thread = start();
    return thread;
  };
  return {
    ...(isLocalDatabase(location.url) ? fileWrites : serverWrites),
    async append(records, foreseen) {
      const packed = packRecords(records, redactor);
      const batches = packed instanceof Promise ? await packed : packed;
      const memory = batches.map(({ bodies }) => bodies.buffer);
      return (await running().ask({ kind: "append", batches, foreseen }, memory)) > 0;
    },
    async appendPacked(batches) {
      const memory = batches.map(({ bodies }) => bodies.buffer);
      await running().ask({ kind: "append", batches, foreseen: undefined }, memory);
    },
    index: async () => (await running().ask({ kind: "index" })) > 0,
    offload: objects && (async () => (await running().ask({ kind: "offload" })) > 0),
    readTail: (request) => running().ask<TailPage>({ kind: "tail", request }),
    ...(telemetry.otlp && { traceHooks: async (hooks) => void (await running().ask({ kind: "hooks", hooks })) }),
    metrics: () => running().ask<string>({ kind: "metrics" }),
    async recover() {
      waitsForRecover = false;
      await running().ask({ kind: "recover" });
    },
    waiting: () => running().ask<SpillState>({ kind: "waiting" }),
    purge: async (times) => (await running().ask({ kind: "purge", times })) > 0,
    async close() {
      if (!thread.ended) await thread.ask({ kind: "close" });
      await thread.end();
    },
  };
}
