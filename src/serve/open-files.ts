import { readFileSync } from "node:fs";
import { readConcurrencyLimits } from "../context/concurrency.ts";
import type { GatewayOptions } from "../gateway/options.ts";

/** A request has the caller's connection and one to a provider. */
const perRequest = 2;
/** What the process has open besides: the database, threads, other connections. */
const besides = 256;

/** How many files and connections the process may have open; undefined where only the system knows. */
function readLimit(): number | undefined {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const found = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined; // only Linux has the file
  }
}

/** Warns if as many requests as may run at a time would need more open files than the process may have. */
export function checkOpenFiles(
  { concurrency }: Pick<GatewayOptions, "concurrency">,
  warn: (message: string) => void,
): void {
  const limit = readLimit();
  const { total } = readConcurrencyLimits(concurrency);
  const needed = total * perRequest + besides;
  if (limit === undefined || limit >= needed) return;
  warn(
    `The process may have ${limit} files open, and ${total} requests (MAX_CONCURRENT_REQUESTS) need ${needed}: raise the limit (ulimit -n), or lower MAX_CONCURRENT_REQUESTS`,
  );
}
