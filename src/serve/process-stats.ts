import process from "node:process";
import type { ProcessStats } from "../observability/settings.ts";

const startedAt = Date.now() - process.uptime() * 1_000;

/** What the runtime reports about the process. */
export function readProcessStats(): ProcessStats {
  const { rss, heapUsed, heapTotal } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return {
    residentBytes: rss,
    heapUsedBytes: heapUsed,
    heapTotalBytes: heapTotal,
    cpuUserSeconds: user / 1e6,
    cpuSystemSeconds: system / 1e6,
    startedAt,
  };
}
