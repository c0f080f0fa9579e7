import { workerData } from "node:worker_threads";
import { openDatabase } from "../db/client.ts";
import { createLogSealingStore } from "../db/stores/log-sealing.ts";
import { createLogTailStore } from "../db/stores/log-tail.ts";
import { createLogStore } from "../db/stores/logs.ts";
import { createIndexedLog } from "../log-index/indexed-log.ts";
import { readTailPage, type TailPage } from "../log-tail/page.ts";
import { createRedactor } from "../logs/redact.ts";
import { sealBatch } from "../logs/seal.ts";
import type { WorkerRequest, WorkerSettings } from "./log-thread.ts";
import { zstdCodec } from "./text-codec.ts";
import { serveThread } from "./thread.ts";

/** A writer with a separate connection. The schema must be up to date. */
async function openWriter({ location, redaction }: WorkerSettings) {
  const database = await openDatabase(location);
  const log = createIndexedLog(createLogStore(database, zstdCodec), createLogSealingStore(database), Date.now);
  // it only masks text: headers that need a digest are already hidden
  const redactor = createRedactor({ ...redaction, mac: () => "" });
  return { database, log, tail: createLogTailStore(database), redactor };
}

const opened = openWriter(workerData);
opened.catch(() => {}); // reported to the first message

serveThread(async (request: WorkerRequest): Promise<number | TailPage> => {
  const { database, log, tail, redactor } = await opened;
  if (request.kind === "tail") return readTailPage(tail, request.request);
  if (request.kind === "index") return Number(await log.index());
  if (request.kind === "purge") return log.purge(request.time, request.limit);
  if (request.kind === "append") await log.append(request.batches.map((batch) => sealBatch(batch, redactor)));
  else {
    await log.close();
    await database.close();
  }
  return 0;
});
