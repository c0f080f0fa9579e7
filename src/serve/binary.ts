// Entry of the compiled program. It runs before the gateway's modules are loaded, which makes a restart cheap.

import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/** The program unpacks its native library into the temporary folder when it starts. */
function requireTemporaryFolder(): void {
  const folder = tmpdir();
  try {
    rmdirSync(mkdtempSync(join(folder, "gateway-")));
  } catch {
    console.error(
      `Cannot write the temporary folder ${folder}: the program unpacks a library there; set TMPDIR to a folder that the user of this process can write`,
    );
    process.exit(1);
  }
}

const args = process.argv.slice(2);
// commands call no providers
if (args.length === 0) liftFetchLimit(args);
requireTemporaryFolder();
const { main } = await import("./host.ts");
await main(args);
