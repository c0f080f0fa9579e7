import type { Services } from "../context.ts";
import { startAuditHeadLog } from "../control/audit-heads.ts";
import { followEveryMs } from "../control/follower.ts";
import { dayMs } from "../lib/periods.ts";
import type { LogWriter } from "../logs/writer.ts";
import type { RetentionTimes } from "../schemas/log-segments.ts";
import { type GatewayOptions, logOf, retentionDaysOf, warnOf } from "./options.ts";

/** How often old log rows are removed, and how many at a time. */
const purgeEveryMs = 60_000;
const purgeRows = 1_000;
/** Between two steps of removing log rows: other writes come in between. */
const purgePauseMs = 5;
/** How often it is looked whether rows can be indexed. */
const indexEveryMs = 1_000;

/** Looks regularly whether rows can be indexed; after a burst goes on as fast as it can. The result stops it. */
function startIndexing(writer: LogWriter, warn: (message: string, error: unknown) => void): () => void {
  let [isRunning, isStopped, isFailing] = [false, false, false];
  const indexAll = async () => {
    while (!isStopped && (await writer.index()));
    isFailing = false;
  };
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    indexAll()
      .catch((error) => {
        if (!isFailing) warn("Cannot index log rows: lists become slower", error);
        isFailing = true;
      })
      .finally(() => {
        isRunning = false;
      });
  }, indexEveryMs);
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

/** Starts periodic work: idle streams, old rows, other nodes' changes. The result stops it. */
export function startTimers(
  { services, writer }: { services: Services; writer: LogWriter },
  options: GatewayOptions,
): () => void {
  const warn = warnOf(options);
  const everySecond = setInterval(() => {
    services.steadyTime(); // it notices jumps of the clock when it is read
    if (services.streams.size === 0) return;
    const now = services.clock.monotonic();
    for (const stream of [...services.streams]) stream.tick(now);
  }, 1_000);
  const retention = startRetention({ services, writer }, options);
  const stopIndexing = startIndexing(writer, warn);
  const purge = setInterval(() => {
    retention.run().catch((error) => warn("Cannot remove old log rows", error));
    services.limitCounters
      .purge(services.steadyTime() - dayMs)
      .catch((error) => warn("Cannot remove old counters of limits", error));
    services.limitAlerts
      .purge(services.clock.now() - dayMs)
      .catch((error) => warn("Cannot remove old alerts of budgets", error));
    services.files.cleanUp().catch((error) => warn("Cannot remove the content of old files", error));
    services.responses.cleanUp().catch((error) => warn("Cannot remove old responses", error));
    services.control.cleanUp().catch((error) => warn("Cannot update expired keys", error));
  }, purgeEveryMs);
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
  const stopHeadLog = startAuditHeadLog(services.control.stores, { log: logOf(options), warn });
  return () => {
    stopHeadLog();
    clearInterval(everySecond);
    stopIndexing();
    retention.stop();
    clearInterval(purge);
    clearInterval(follow);
    services.timers.close();
  };
}
