import { workerData } from "node:worker_threads";
import { createObjectStore } from "../control/object-store.ts";
import { isRefusedStatement, openDatabase } from "../db/client.ts";
import { describeDatabase } from "../db/open-failure.ts";
import { createIndexStores } from "../db/stores/log-index.ts";
import { openLogSpill } from "../db/stores/log-spill.ts";
import { createLogTailStore } from "../db/stores/log-tail.ts";
import { createLogStore } from "../db/stores/logs.ts";
import { createLogTelemetry } from "../gateway/telemetry.ts";
import { createAddressGuard } from "../lib/address.ts";
import { DatabaseAwayError } from "../lib/database-away.ts";
import { createOutbound } from "../lib/outbound.ts";
import { OwnBatches } from "../logs/follow/own-batches.ts";
import { readTailPage, type TailPage } from "../logs/follow/page.ts";
import { createIndexedLog } from "../logs/index/indexed-log.ts";
import { createRedactor } from "../logs/redact.ts";
import { sealBatch } from "../logs/seal.ts";
import { createSpillingLog, type SpillingLog, type SpillState } from "../logs/spill.ts";
import type { LogBatch } from "../schemas/logs.ts";
import { forgetUnused } from "./forget.ts";
import type { WorkerRequest, WorkerSettings } from "./log-thread.ts";
import { processLogOfThread } from "./process-log.ts";
import { createLateTransport } from "./runtime-transport.ts";
import { zstdCodec } from "./text-codec.ts";
import { serveThread } from "./thread.ts";

const { warn, info } = processLogOfThread();

type Store = (batches: readonly LogBatch[]) => Promise<void>;

/** The log with its file for outages; without the file if that cannot be used. */
async function openSpilling({ spill }: WorkerSettings, store: Store): Promise<SpillingLog | undefined> {
  if (!spill) return undefined;
  try {
    return createSpillingLog({
      file: await openLogSpill(spill, zstdCodec),
      store,
      isPermanent: isRefusedStatement,
      warn,
      log: info,
      patienceMs: spill.patienceMs,
    });
  } catch (error) {
    const path = describeDatabase(spill.location.url);
    const reason = error instanceof Error ? error.message : error;
    warn(
      `Cannot use ${path} (LOG_SPILL_FILE): log rows wait in memory while the database is away; if it is damaged, move it away: ${reason}`,
    );
    return undefined;
  }
}

/** A writer with a separate connection. The schema must be up to date once the writer may use the database. */
async function openWriter(settings: WorkerSettings) {
  const { location, redaction, telemetry } = settings;
  const gate = { isOpen: settings.waitsForRecover !== true };
  const database = await openDatabase(location);
  // it only masks text: headers that need a digest are already hidden
  const redactor = createRedactor({ ...redaction, mac: () => "" });
  // no caller or tenant names an address here
  const outbound = createOutbound({
    transport: createLateTransport(),
    guard: createAddressGuard({ trustedHosts: [] }),
  });
  const objects = settings.objects && createObjectStore(settings.objects, { outbound, clock: Date });
  const log = createIndexedLog(createLogStore(database, zstdCodec), createIndexStores(database), Date.now, objects);
  const append: Store = async (batches) => {
    if (!gate.isOpen) throw new DatabaseAwayError(new Error("The database is not back yet"));
    await log.append(batches);
  };
  const spilling = await openSpilling(settings, append);
  return {
    gate,
    database,
    log,
    spilling,
    append: spilling?.append.bind(spilling) ?? append,
    tail: createLogTailStore(database),
    own: new OwnBatches(),
    redactor,
    telemetry: createLogTelemetry(telemetry, { outbound, warn }),
  };
}

type Opened = Awaited<ReturnType<typeof openWriter>>;

/** Stores batches; returns whether their rows are stored as they were when followers were asked about them. */
async function appendBatches(
  { append, own, redactor, telemetry }: Opened,
  { batches, foreseen }: Extract<WorkerRequest, { kind: "append" }>,
): Promise<boolean> {
  const sealed = batches.map((batch) => sealBatch(batch, redactor));
  const isForeseen =
    foreseen !== undefined && sealed.every(({ details }, place) => details === batches[place]?.details);
  if (!foreseen) own.clear();
  try {
    await append(sealed);
  } catch (error) {
    // they may be stored nevertheless, and the next attempt may put them together otherwise
    if (foreseen) own.add(sealed, undefined);
    throw error;
  }
  if (isForeseen) own.add(sealed, foreseen);
  telemetry.observe(sealed);
  return isForeseen;
}

const opened = openWriter(workerData);
opened.catch(() => {}); // reported to the first message

serveThread(async (request: WorkerRequest): Promise<number | string | TailPage | SpillState> => {
  const { gate, database, log, spilling, tail, own, telemetry } = await opened;
  if (request.kind === "append") return Number(await appendBatches(await opened, request));
  if (request.kind === "tail") return readTailPage({ store: tail, own }, request.request);
  if (request.kind === "index") return Number(gate.isOpen && (await log.index()));
  if (request.kind === "offload") return Number(gate.isOpen && (await log.offload?.()));
  if (request.kind === "purge") return Number(gate.isOpen && (await log.purge(request.times)));
  if (request.kind === "metrics") return telemetry.toText();
  if (request.kind === "waiting") return (await spilling?.state()) ?? { rows: 0, bytes: 0, lostRows: 0 };
  if (request.kind === "recover") {
    gate.isOpen = true;
    await spilling?.recover();
  } else if (request.kind === "hooks") telemetry.observeHooks(request.hooks);
  else {
    await spilling?.close();
    await log.close();
    await telemetry.close();
    await database.close();
    await forgetUnused();
  }
  return 0;
});
