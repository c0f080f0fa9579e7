import { totalmem } from "node:os";
import process from "node:process";
import type { ProcessStats } from "../observability/settings.ts";

const startedAt = Date.now() - process.uptime() * 1_000;

/** Share of the memory that the process may use from which on requests are refused. */
const memoryShare = 0.85;

/** Resident bytes from which on requests are refused: a share of the machine's memory, or of the container's. */
export function memoryMark(): number {
  const machine = totalmem();
  // absent on some runtimes; 0 or beyond the machine's without a container
  const container = process.constrainedMemory?.() ?? 0;
  return Math.floor((container > 0 ? Math.min(container, machine) : machine) * memoryShare);
}

/** The marks of one of several processes that share the machine: its part of the memory. */
export function marksOfProcess<Marks extends { memoryBytes?: number | undefined }>(marks: Marks, processes = 1): Marks {
  const { memoryBytes } = marks;
  return memoryBytes === undefined ? marks : { ...marks, memoryBytes: Math.floor(memoryBytes / processes) };
}

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
