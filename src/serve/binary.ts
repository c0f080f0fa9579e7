// The compiled program's entry. It starts before the gateway's modules are loaded, so that starting again costs little.

import process from "node:process";
import { fetchLimitVariable, largestFetchLimit } from "./fetch-limit-variable.ts";

/**
 * Starts the program again, in the same process, with the bound of Bun's `fetch` lifted: Bun reads the variable once, when it
 * starts. Where a process cannot be replaced, calls beyond the bound use sockets.
 */
function liftFetchLimit(args: readonly string[]): void {
  if (process.env[fetchLimitVariable] !== undefined || process.execve === undefined) return;
  try {
    const environment = { ...process.env, [fetchLimitVariable]: String(largestFetchLimit) };
    process.execve(process.execPath, [process.execPath, ...args], environment);
  } catch {
    // the gateway serves all the same
  }
}

const args = process.argv.slice(2);
// commands send nothing to providers
if (args.length === 0) liftFetchLimit(args);
const { main } = await import("./host.ts");
await main(args);
