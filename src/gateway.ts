import { type AlertRunner, createAlertRunner } from "./admin/alert-rules/runner.ts";
import { adminEndpoints } from "./admin/endpoints.ts";
import { createEvalRunner, type EvalRunner } from "./admin/evals/runner.ts";
import { createLogExportRunner, type LogExportRunner } from "./admin/log-exports/runner.ts";
import { metricsPath } from "./admin/metrics.ts";
import type { FirstKeys } from "./auth/first-start.ts";
import { consoleEndpoints } from "./console/endpoints.ts";
import type { ConnectionInfo, Services } from "./context.ts";
import type { Database } from "./db/client.ts";
import { AlertRuleStore } from "./db/stores/alert-rules.ts";
import { toErrorReply, UnavailableError } from "./errors.ts";
import { joinOwner, serveCrew } from "./gateway/crew.ts";
import { openData } from "./gateway/data.ts";
import { defaultAlerts } from "./gateway/limit-store.ts";
import { type OwnHandle, ownHandle } from "./gateway/operator.ts";
import { type GatewayOptions, retentionDaysOf, warnOf } from "./gateway/options.ts";
import { createServices } from "./gateway/services.ts";
import { followSnapshot } from "./gateway/snapshot/follow.ts";
import { createSurfaces, type EndpointList, requireFreePath } from "./gateway/surfaces.ts";
import { startTimers } from "./gateway/timers.ts";
import { type Handle, withFixedHeaders } from "./handler.ts";
import { type BatchRunner, type BatchRunnerSettings, createBatchRunner } from "./inference/batches/runner.ts";
import { inferenceEndpoints, passthroughEndpoints } from "./inference/routes/endpoints.ts";
import { createVectorRunner, type VectorRunner } from "./inference/vectors/runner.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import { toResponse } from "./lib/reply.ts";
import type { LogWriter } from "./logs/writer.ts";
import { mcpEndpoints } from "./mcp/endpoints.ts";
import { AbortReason } from "./providers/core/call.ts";

/** A gateway. */
export interface Gateway {
  /** Handles one request. Never rejects. */
  fetch(request: Request, connection?: ConnectionInfo): Promise<Response>;
  /**
   * Opens the database and prepares to serve; the first request does so, too.
   *
   * @returns The keys of the first start, once; undefined for a database that is not new.
   * @throws If the database or the settings are unusable.
   */
  start(): Promise<FirstKeys | undefined>;
  /**
   * Handles requests of the process itself with the rights of an organisation's admin key.
   *
   * @param organisation Its id or slug. Default: the only one.
   */
  asOrganisation(organisation?: string): Promise<OwnHandle>;
  /** Stops being ready, waits for running requests for at most so many milliseconds, then ends the others. */
  drain(timeoutMs: number): Promise<void>;
  /** Stores what is still buffered. Call once, after the last request. */
  close(): Promise<void>;
}

/** Created once the database is open. */
interface RunningGateway {
  database: Database;
  /** Stores the rows of all finished requests. */
  closeQueue(): Promise<void>;
  writer: LogWriter;
  services: Services;
  handle: Handle;
  batchRunner: BatchRunner;
  vectorRunner: VectorRunner;
  exportRunner: LogExportRunner;
  alertRunner: AlertRunner;
  evalRunner: EvalRunner;
  firstKeys: FirstKeys | undefined;
  stopTimers(): void;
  /** Ends what keeps the last known state of the database. */
  stopSnapshot(): void;
  /** Ends what it shares with other processes of the gateway, before its log closes. */
  leave(): Promise<void>;
}

/** All endpoints, in the order of matching. */
function listEndpoints({ metrics, console }: GatewayOptions): EndpointList {
  const all = [...inferenceEndpoints, ...adminEndpoints, ...mcpEndpoints, ...(console ? consoleEndpoints : [])];
  const own = metrics === false ? all.filter(({ path }) => path !== metricsPath) : all;
  return { own, forwarding: passthroughEndpoints };
}

/** Counts running requests, so that a drain knows when all have finished. */
function createActivity() {
  let running = 0;
  let idle: (() => void) | undefined;
  return {
    begin: () => void running++,
    end() {
      if (--running === 0) idle?.();
    },
    /** Resolves when nothing runs, or at the time limit. */
    async settle(isIdle: () => boolean, timeoutMs: number): Promise<void> {
      const deadline = performance.now() + timeoutMs;
      while ((running > 0 || !isIdle()) && performance.now() < deadline) {
        await new Promise<void>((resolve) => {
          idle = resolve;
          setTimeout(resolve, 50);
        });
      }
    },
  };
}

const wait = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));

/** Time for each kind of request to end once it is made to. */
const endMs = 1_000;

/** Ends streams with an error event, and waits a moment for them. */
async function endStreams({ streams }: Pick<Services, "streams">): Promise<void> {
  for (const stream of [...streams]) stream.end();
  const deadline = performance.now() + endMs;
  while (streams.size > 0 && performance.now() < deadline) await wait(10);
}

/** Aborts the calls that still run, and waits a moment until their requests have ended. */
async function abortCalls(
  { streams, calls }: Pick<Services, "streams" | "calls">,
  activity: ReturnType<typeof createActivity>,
): Promise<void> {
  for (const call of [...calls]) call.abort(new AbortReason("shutdown", "Cannot respond: the gateway is stopping"));
  await activity.settle(() => streams.size === 0, endMs);
}

/** Default settings of batches. */
const defaultBatches: BatchRunnerSettings = {
  pauseMs: 5_000,
  atOnce: 4,
  lookEveryMs: 5_000,
  statusCheckMs: 10_000,
};
/** Time for running batch calls when the gateway closes. */
const batchCloseMs = 5_000;
/** Time for running hooks when the gateway closes. */
const hooksCloseMs = 5_000;
/** Time to end sessions at MCP servers when the gateway closes. */
const sessionsCloseMs = 2_000;
/** Time for alerts that are being delivered when the gateway closes. */
const alertsCloseMs = 5_000;

const unknownConnection: ConnectionInfo = {};

/** The response to a request that a gateway without a database cannot handle. */
function refuseUnready(cause: unknown): Response {
  const message = "Cannot serve: the database cannot be opened";
  const error = new UnavailableError(message, { cause, code: "not_ready", retryAfterSeconds: 1 });
  return toResponse(withFixedHeaders(toErrorReply(error), { id: crypto.randomUUID() }));
}

/** A runner of a process that leaves the work to its owner. */
const idle = { stop: async () => {} };

/** Starts what works in the background, in the process that owns the database. */
function startRunners(
  options: GatewayOptions,
  { services, database }: Pick<RunningGateway, "services" | "database">,
): Pick<RunningGateway, "batchRunner" | "vectorRunner" | "exportRunner" | "alertRunner" | "evalRunner"> {
  if (options.owner) {
    return { batchRunner: idle, vectorRunner: idle, exportRunner: idle, alertRunner: idle, evalRunner: idle };
  }
  const warn = warnOf(options);
  services.limitAlerts.start();
  return {
    batchRunner: createBatchRunner({ ...defaultBatches, ...options.batches, services, warn }),
    vectorRunner: createVectorRunner({ services, warn }),
    exportRunner: createLogExportRunner({ services, warn }),
    evalRunner: createEvalRunner({ services, warn }),
    alertRunner: createAlertRunner({
      services,
      store: new AlertRuleStore(database),
      settings: { ...defaultAlerts, ...options.alerts },
      warn,
    }),
  };
}

/** Connects a process to the others of its gateway. The result ends that. */
async function joinProcesses(
  { owner, crew }: GatewayOptions,
  parts: { services: Services; writer: LogWriter },
): Promise<() => Promise<void>> {
  if (owner) {
    await joinOwner(owner, parts.services);
    return async () => owner.close();
  }
  return crew ? serveCrew(crew, parts) : async () => {};
}

/** Ends everything of a running gateway, in the order in which one part needs another. */
async function closeRunning(open: RunningGateway, activity: ReturnType<typeof createActivity>): Promise<void> {
  open.services.logTail.close();
  open.services.copies.stop();
  open.services.limitQueues.drain(0);
  // their rows are written before the log closes
  await endStreams(open.services);
  const stops = [open.batchRunner.stop(batchCloseMs), open.evalRunner.stop(batchCloseMs)];
  await Promise.all([...stops, open.vectorRunner.stop(0), open.alertRunner.stop(0)]);
  await abortCalls(open.services, activity);
  await open.exportRunner.stop();
  open.stopTimers();
  await open.services.control.mcpSync.close();
  await open.services.limitAlerts.close(alertsCloseMs);
  await open.services.guardrails.close(hooksCloseMs);
  await Promise.race([open.services.mcp.pool.close(), wait(sessionsCloseMs)]);
  await open.services.control.writeRefusals({ all: true }).catch(() => {});
  await open.closeQueue();
  await open.leave();
  await open.writer.close();
  await open.services.limitStore.close();
  open.stopSnapshot();
  await open.database.close();
}

/** What the gateway knows of itself before it runs. */
interface GatewayParts {
  clock: Clock;
  activity: ReturnType<typeof createActivity>;
  isReady(): boolean;
}

/** Opens the database and starts everything. */
async function openRunning(options: GatewayOptions, own: GatewayParts): Promise<RunningGateway> {
  retentionDaysOf(options); // refuses times that do not fit together
  requireFreePath(options.basePath ?? "", listEndpoints(options));
  const { clock, activity, isReady } = own;
  const data = await openData(options, clock);
  const parts = { ...data, clock, isReady, handle: (...asked: Parameters<Handle>) => handle(...asked) };
  const { recover, startLooks, ...made } = await createServices(options, parts);
  const { services, writer } = made;
  const stopTimers = startTimers({ services, writer, startLooks }, options);
  const stopSnapshot = followSnapshot(options, { ...data, control: services.control, recover });
  const handle = createSurfaces(listEndpoints(options), options.serverMode ?? "unified", { services, activity });
  const runners = startRunners(options, { services, database: data.database });
  const leave = await joinProcesses(options, { services, writer });
  const { database, installation } = data;
  return { ...made, ...runners, database, handle, stopTimers, stopSnapshot, leave, firstKeys: installation.firstKeys };
}

/**
 * Creates a gateway. Nothing is opened before `start` or the first request.
 *
 * @throws {TypeError} At start, for unusable settings.
 */
export function createGateway(options: GatewayOptions = {}): Gateway {
  const clock = options.clock ?? systemClock;
  const activity = createActivity();
  let draining = false;
  let running: RunningGateway | undefined;
  let starting: Promise<RunningGateway> | undefined;

  const open = async (): Promise<RunningGateway> => {
    const isReady = () => running !== undefined && !draining;
    running = await openRunning(options, { clock, activity, isReady });
    return running;
  };
  const ensureRunning = (): Promise<RunningGateway> => {
    if (starting) return starting;
    const attempt = open();
    starting = attempt;
    // a failed start is retried by the next request
    attempt.catch(() => {
      if (starting === attempt) starting = undefined;
    });
    return attempt;
  };
  /** Handles the first requests, which wait for the database. */
  const answerFirst = async (request: Request, connection: ConnectionInfo): Promise<Response> => {
    activity.begin();
    try {
      const { handle } = await ensureRunning();
      return await handle(request, connection);
    } catch (cause) {
      return refuseUnready(cause);
    } finally {
      activity.end();
    }
  };

  return {
    fetch: (request, connection = unknownConnection) => (running?.handle ?? answerFirst)(request, connection),
    start: async () => (await ensureRunning()).firstKeys,
    asOrganisation: async (organisation) => ownHandle(await ensureRunning(), organisation),
    async drain(timeoutMs) {
      draining = true;
      running?.services.copies.stop();
      // they never end by themselves
      running?.services.logTail.close();
      running?.services.limitQueues.drain(timeoutMs);
      const streams = running?.services.streams;
      await Promise.all([
        running?.batchRunner.stop(timeoutMs),
        running?.evalRunner.stop(timeoutMs),
        running?.vectorRunner.stop(0),
        activity.settle(() => (streams?.size ?? 0) === 0, timeoutMs),
      ]);
      if (!running) return;
      await endStreams(running.services);
      await abortCalls(running.services, activity);
    },
    async close() {
      draining = true;
      const open = await starting?.catch(() => undefined);
      if (!open) return;
      await closeRunning(open, activity);
    },
  };
}
