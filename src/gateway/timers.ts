import type { Services } from "../context.ts";
import { startAuditHeadLog } from "../control/audit-heads.ts";
import { followEveryMs } from "../control/follower.ts";
import { dayMs } from "../lib/periods.ts";
import type { LogWriter } from "../logs/writer.ts";
import type { RetentionTimes } from "../schemas/log-segments.ts";
import { probeHost } from "./balancing.ts";
import { type GatewayOptions, logOf, retentionDaysOf, warnOf } from "./options.ts";

/** How often old log rows are removed, and how many at a time. */
const purgeEveryMs = 60_000;
const purgeRows = 1_000;
/** Between two steps of removing log rows: other writes come in between. */
const purgePauseMs = 5;
/** How often it is looked whether rows can be indexed, and whether contents can be moved to the object store. */
const indexEveryMs = 1_000;
const offloadEveryMs = 5_000;

/** Work in steps that is due again and again. */
interface SteppedWork {
  /** Takes one step; returns whether there may be more to do. */
  step(): Promise<boolean>;
  everyMs: number;
  /** Called with the first of several failures in a row. */
  warn(error: unknown): void;
}

/** Takes steps regularly; as long as there is more to do, as fast as it can. The result stops it. */
function startSteps({ step, everyMs, warn }: SteppedWork): () => void {
  let [isRunning, isStopped, isFailing] = [false, false, false];
  const work = async () => {
    let isIdle = true;
    while (!isStopped && (await step())) isIdle = false;
    // a step that does nothing may only be waiting after a failure
    if (!isIdle) isFailing = false;
  };
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    work()
      .catch((error) => {
        if (!isFailing) warn(error);
        isFailing = true;
      })
      .finally(() => {
        isRunning = false;
      });
  }, everyMs);
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}

/** What is removed of the log now. An organisation may keep its rows for a shorter time than the operator. */
async function readRetention(services: Services, options: GatewayOptions): Promise<RetentionTimes> {
  const { rows, contents, statistics } = retentionDaysOf(options);
  const now = services.steadyTime();
  const organisations = await services.control.stores.organisations.listLogRetention();
  return {
    rows: now - rows * dayMs,
    contents: now - contents * dayMs,
    statistics: now - statistics * dayMs,
    organisations: organisations
      .filter(({ days }) => days < rows)
      .map(({ organisationId, days }) => ({ organisationId, time: now - days * dayMs })),
  };
}

/** Removes old log rows, one step after the other; `run` does nothing while it runs already. */
function startRetention({ services, writer }: { services: Services; writer: LogWriter }, options: GatewayOptions) {
  let [isRunning, isStopped] = [false, false];
  const removeAll = async () => {
    const times = await readRetention(services, options);
    while (!isStopped && (await writer.purge(times))) await new Promise((go) => setTimeout(go, purgePauseMs));
    while (!isStopped && (await services.feedback.purge(times.statistics, purgeRows)) === purgeRows);
  };
  return {
    async run() {
      if (isRunning) return;
      isRunning = true;
      await removeAll().finally(() => {
        isRunning = false;
      });
    },
    stop() {
      isStopped = true;
    },
  };
}

/** Starts periodic work: idle streams and sessions, old rows, other nodes' changes. The result stops it. */
export function startTimers(
  { services, writer, startLooks }: { services: Services; writer: LogWriter; startLooks(): () => void },
  options: GatewayOptions,
): () => void {
  const warn = warnOf(options);
  const everySecond = setInterval(() => {
    services.steadyTime(); // it notices jumps of the clock when it is read
    services.mcp.pool.clean();
    services.routing.measureExchange?.run();
    services.routing.health.run((url, timeoutMs) => probeHost(url, timeoutMs, services.outbound));
    // while the database is away the rows wait
    services.control.writeRefusals({ all: false }).catch(() => {});
    if (services.streams.size === 0) return;
    const now = services.clock.monotonic();
    for (const stream of [...services.streams]) stream.tick(now);
  }, 1_000);
  const stopLooks = startLooks();
  const stopUpkeep = options.owner ? () => {} : startUpkeep({ services, writer }, options);
  let following = true;
  const follow = setInterval(() => {
    services.control.follower.look().then(
      () => {
        following = true;
      },
      (error) => {
        if (following) warn("Cannot read the changes of other nodes", error);
        following = false;
      },
    );
  }, followEveryMs);
  return () => {
    clearInterval(everySecond);
    stopLooks();
    stopUpkeep();
    clearInterval(follow);
    services.timers.close();
  };
}

/** Starts the work of the owner of a database: old rows, the index, what expires. The result stops it. */
function startUpkeep(
  { services, writer }: { services: Services; writer: LogWriter },
  options: GatewayOptions,
): () => void {
  const warn = warnOf(options);
  const retention = startRetention({ services, writer }, options);
  const { offload } = writer;
  const stops = [
    startSteps({
      step: () => writer.index(),
      everyMs: indexEveryMs,
      warn: (error) => warn("Cannot index log rows: lists become slower", error),
    }),
    offload
      ? startSteps({
          step: offload,
          everyMs: offloadEveryMs,
          warn: (error) =>
            warn("Cannot move contents of the log to the object store: they stay in the database", error),
        })
      : () => {},
  ];
  const purge = setInterval(() => {
    retention.run().catch((error) => warn("Cannot remove old log rows", error));
    services.limitCounters
      .purge(services.steadyTime() - dayMs)
      .catch((error) => warn("Cannot remove old counters of limits", error));
    services.limitAlerts
      .purge(services.clock.now() - dayMs)
      .catch((error) => warn("Cannot remove old alerts of budgets", error));
    services.files.cleanUp().catch((error) => warn("Cannot remove the content of old files", error));
    services.vectorStores.cleanUp().catch((error) => warn("Cannot remove the content of old vector stores", error));
    services.cache.cleanUp().catch((error) => warn("Cannot remove old responses of the cache", error));
    services.responses.cleanUp().catch((error) => warn("Cannot remove old responses", error));
    services.oauth.cleanUp().catch((error) => warn("Cannot remove old codes and tokens of OAuth", error));
    services.control.cleanUp().catch((error) => warn("Cannot update expired keys", error));
  }, purgeEveryMs);
  const stopHeadLog = startAuditHeadLog(services.control.stores, { log: logOf(options), warn });
  return () => {
    stopHeadLog();
    for (const stop of stops) stop();
    retention.stop();
    clearInterval(purge);
  };
}
