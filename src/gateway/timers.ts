import type { Services } from "../context.ts";
import { startAuditHeadLog } from "../control/audit-heads.ts";
import { followEveryMs } from "../control/follower.ts";
import { dayMs } from "../lib/periods.ts";
import type { LogWriter } from "../logs/writer.ts";
import { type GatewayOptions, logOf, warnOf } from "./options.ts";

/** How often old log rows are removed, and how many at a time. */
const purgeEveryMs = 60_000;
const purgeBatches = 16;
const purgeRows = 1_000;
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
  const keepMs = (options.logRetentionDays ?? 30) * dayMs;
  const purgeOld = async () => {
    const time = services.steadyTime() - keepMs;
    while ((await writer.purge(time, purgeBatches)) === purgeBatches);
    while ((await services.feedback.purge(time, purgeRows)) === purgeRows);
  };
  const stopIndexing = startIndexing(writer, warn);
  const purge = setInterval(() => {
    purgeOld().catch((error) => warn("Cannot remove old log rows", error));
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
    clearInterval(purge);
    clearInterval(follow);
    services.timers.close();
  };
}
