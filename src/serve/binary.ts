// Entry of the compiled program. It runs before the gateway's modules are loaded, which makes a restart cheap.

import process from "node:process";
import { fetchLimitVariable, largestFetchLimit } from "./fetch-limit-variable.ts";

/**
 * Restarts the program in the same process with Bun's `fetch` limit lifted: Bun reads the variable only at
 * start. Where a process cannot replace itself, calls beyond the limit use sockets.
 */
function liftFetchLimit(args: readonly string[]): void {
  if (process.env[fetchLimitVariable] !== undefined || process.execve === undefined) return;
  try {
    const environment = { ...process.env, [fetchLimitVariable]: String(largestFetchLimit) };
    process.execve(process.execPath, [process.execPath, ...args], environment);
  } catch {
    // the gateway works without it
  }
}

const args = process.argv.slice(2);
// commands call no providers
if (args.length === 0) liftFetchLimit(args);
const { main } = await import("./host.ts");
await main(args);
