import { parentPort, workerData } from "node:worker_threads";
import { openDatabase } from "../db/client.ts";
import { createLogStore } from "../db/stores/logs.ts";
import { createRedactor } from "../logs/redact.ts";
import { sealBatch } from "../logs/seal.ts";
import type { WorkerReply, WorkerRequest, WorkerSettings } from "./log-thread.ts";
import { zstdCodec } from "./text-codec.ts";

/** A writer with a separate connection. The schema must be up to date. */
async function openWriter({ location, redaction }: WorkerSettings) {
  const database = await openDatabase(location);
  const { append, purge } = createLogStore(database, zstdCodec);
  // it only masks text: headers that need a digest are already hidden
  return { database, append, purge, redactor: createRedactor({ ...redaction, mac: () => "" }) };
}

/** Runs the thread that writes log rows: each message gets one reply, in order. */
function serve(settings: WorkerSettings): void {
  const opened = openWriter(settings);
  const run = async (request: WorkerRequest): Promise<number> => {
    const { database, purge, redactor, append } = await opened;
    if (request.kind === "close") await database.close();
    else if (request.kind === "purge") return purge(request.time, request.limit);
    else await append(request.batches.map((batch) => sealBatch(batch, redactor)));
    return 0;
  };
  opened.catch(() => {}); // reported to the first message
  parentPort?.on("message", (request: WorkerRequest) => {
    const reply = (message: WorkerReply) => parentPort?.postMessage(message);
    run(request).then(
      (count) => reply({ id: request.id, count }),
      (error: unknown) => reply({ id: request.id, failure: String(error) }),
    );
  });
}

serve(workerData);
