import type { Services } from "../context.ts";
import type { LateHookQueue } from "../logs/late-hooks.ts";
import type { LogQueue } from "../logs/queue.ts";
import type { LogWriter } from "../logs/writer.ts";
import { RefusedRequests, toProcessMetrics } from "../observability/process-metrics.ts";
import { defaultRequestMetrics, type RequestMetricsSettings } from "../observability/settings.ts";
import type { QueueState } from "../policies/queue/wait-counts.ts";
import type { GatewayOptions } from "./options.ts";

/** How metrics of requests are made; null without metrics. */
export function requestMetricsOf({ metrics = {} }: GatewayOptions): RequestMetricsSettings | null {
  if (metrics === false) return null;
  const { token, isOpen, push, ...settings } = metrics;
  const startsWhenRead = token === undefined && !isOpen && push === undefined;
  return { ...defaultRequestMetrics, startsWhenRead, ...settings };
}

/** Where the figures of metrics come from. */
interface MetricsSources {
  queue: LogQueue;
  lateHooks: Pick<LateHookQueue, "lost">;
  writer: LogWriter;
  logTail: Pick<Services["logTail"], "state">;
  routing: Services["routing"];
  unpriced: Services["unpriced"];
  pressure: Services["pressure"];
  copies: Pick<Services["copies"], "counts">;
  concurrency: Services["concurrency"];
  dependencies: Services["dependencies"];
  /** The organisation whose admin keys read metrics. */
  organisationId: string | undefined;
}

/**
 * The metrics of a gateway, and who reads them.
 *
 * @param waits Figures of requests that wait for room in limits.
 */
export function createMetrics(
  options: GatewayOptions,
  sources: MetricsSources,
  waits: () => QueueState,
): Services["metrics"] {
  const { queue, lateHooks, writer, logTail, routing, unpriced, organisationId } = sources;
  const { pressure, concurrency, dependencies, copies } = sources;
  const refused = new RefusedRequests();
  const { token, isOpen = false } = options.metrics || {};
  return {
    token,
    isOpen,
    organisationId,
    refused,
    async toText() {
      const waiting = await writer.waiting?.();
      const ofProcess = toProcessMetrics({
        followers: logTail.state(),
        queue: queue.state(),
        lostHookResults: lateHooks.lost(),
        spill: waiting ?? { rows: 0, bytes: 0, lostRows: 0 },
        refused,
        unpriced: unpriced.counts(),
        load: { ...pressure.state(), running: concurrency.running },
        dependencies: { ...dependencies.state(), admittedByShares: dependencies.admittedByShares() },
        copies: copies.counts(),
        waits: waits(),
        openBreakers: routing.breakers.countOpen(),
        health: routing.health.counts(),
        stats: options.processStats?.(),
      });
      return (await writer.metrics()) + ofProcess;
    },
  };
}
