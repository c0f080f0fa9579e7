import type { Outcome } from "./command.ts";
import { place } from "./place.ts";

/** Longest wait for the answer. */
const timeoutMs = 4_000;

/** Where a process that listens on an address is reached from this machine. */
function reachable(hostname: string): string {
  if (hostname === "0.0.0.0") return "127.0.0.1";
  if (hostname === "::") return "[::1]";
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

/** Asks the gateway of this machine whether it serves. */
export async function checkHealth(): Promise<Outcome> {
  const { hostname, port } = place();
  const url = `http://${reachable(hostname)}:${port}/health`;
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) }).catch((cause: unknown) => {
    throw new Error(`Cannot reach ${url}`, { cause });
  });
  if (!response.ok) throw new Error(`Cannot use ${url}: it answers ${response.status}`);
  return { lines: [`${url} answers`] };
}
