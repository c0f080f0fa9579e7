import { parentPort, workerData } from "node:worker_threads";
import type { DatabaseLocation } from "../db/client.ts";
import { openLogWriter } from "../db/log-writer.ts";
import type { WorkerReply, WorkerRequest } from "./log-thread.ts";

/** The thread that writes log rows: each request gets one reply, in order. */
function serve(location: DatabaseLocation): void {
  const writer = openLogWriter(location);
  const run = async (request: WorkerRequest): Promise<number> => {
    const { append, purge, close } = await writer;
    if (request.kind === "close") await close();
    else if (request.kind === "purge") return purge(request.time, request.limit);
    else await append(request.batches);
    return 0;
  };
  writer.catch(() => {}); // told to whoever asks first
  parentPort?.on("message", (request: WorkerRequest) => {
    const reply = (message: WorkerReply) => parentPort?.postMessage(message);
    run(request).then(
      (count) => reply({ id: request.id, count }),
      (error: unknown) => reply({ id: request.id, failure: String(error) }),
    );
  });
}

serve(workerData);
