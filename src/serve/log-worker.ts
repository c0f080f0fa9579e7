import { workerData } from "node:worker_threads";
import { openDatabase } from "../db/client.ts";
import { createLogStore } from "../db/stores/logs.ts";
import { createRedactor } from "../logs/redact.ts";
import { sealBatch } from "../logs/seal.ts";
import type { WorkerRequest, WorkerSettings } from "./log-thread.ts";
import { zstdCodec } from "./text-codec.ts";
import { serveThread } from "./thread.ts";

/** A writer with a separate connection. The schema must be up to date. */
async function openWriter({ location, redaction }: WorkerSettings) {
  const database = await openDatabase(location);
  const { append, purge } = createLogStore(database, zstdCodec);
  // it only masks text: headers that need a digest are already hidden
  return { database, append, purge, redactor: createRedactor({ ...redaction, mac: () => "" }) };
}

const opened = openWriter(workerData);
opened.catch(() => {}); // reported to the first message

serveThread(async (request: WorkerRequest): Promise<number> => {
  const { database, purge, redactor, append } = await opened;
  if (request.kind === "close") await database.close();
  else if (request.kind === "purge") return purge(request.time, request.limit);
  else await append(request.batches.map((batch) => sealBatch(batch, redactor)));
  return 0;
});
