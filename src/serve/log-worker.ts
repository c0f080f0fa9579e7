import { workerData } from "node:worker_threads";
import { openDatabase } from "../db/client.ts";
import { createIndexStores } from "../db/stores/log-index.ts";
import { createLogTailStore } from "../db/stores/log-tail.ts";
import { createLogStore } from "../db/stores/logs.ts";
import { createLogTelemetry } from "../gateway/telemetry.ts";
import { createAddressGuard } from "../lib/address.ts";
import { createOutbound } from "../lib/outbound.ts";
import { createIndexedLog } from "../log-index/indexed-log.ts";
import { readTailPage, type TailPage } from "../log-tail/page.ts";
import { createRedactor } from "../logs/redact.ts";
import { sealBatch } from "../logs/seal.ts";
import type { WorkerRequest, WorkerSettings } from "./log-thread.ts";
import { createLateTransport } from "./runtime-transport.ts";
import { zstdCodec } from "./text-codec.ts";
import { serveThread } from "./thread.ts";

/** A writer with a separate connection. The schema must be up to date. */
async function openWriter({ location, redaction, telemetry }: WorkerSettings) {
  const database = await openDatabase(location);
  const log = createIndexedLog(createLogStore(database, zstdCodec), createIndexStores(database), Date.now);
  // it only masks text: headers that need a digest are already hidden
  const redactor = createRedactor({ ...redaction, mac: () => "" });
  // no caller or tenant names an address here
  const outbound = createOutbound({
    transport: createLateTransport(),
    guard: createAddressGuard({ trustedHosts: [] }),
  });
  const warn = (message: string, error: unknown) => console.error(message, error ?? "");
  return {
    database,
    log,
    tail: createLogTailStore(database),
    redactor,
    telemetry: createLogTelemetry(telemetry, { outbound, warn }),
  };
}

const opened = openWriter(workerData);
opened.catch(() => {}); // reported to the first message

serveThread(async (request: WorkerRequest): Promise<number | string | TailPage> => {
  const { database, log, tail, redactor, telemetry } = await opened;
  if (request.kind === "tail") return readTailPage(tail, request.request);
  if (request.kind === "index") return Number(await log.index());
  if (request.kind === "purge") return Number(await log.purge(request.times));
  if (request.kind === "metrics") return telemetry.toText();
  if (request.kind === "append") {
    const batches = request.batches.map((batch) => sealBatch(batch, redactor));
    await log.append(batches);
    telemetry.observe(batches);
  } else {
    await log.close();
    await telemetry.close();
    await database.close();
  }
  return 0;
});
