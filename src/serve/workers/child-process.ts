import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { runtime } from "../runtime-transport.ts";
import { type Role, roleVariable } from "./role.ts";

/** Program and arguments that run this program once more. */
function ownCommand(): [program: string, ...args: string[]] {
  const { execPath, execArgv, argv } = process;
  const [, file = ""] = argv;
  // a compiled program has its files within itself
  if (!existsSync(file)) return [execPath];
  if (runtime !== "deno") return [execPath, ...execArgv, file];
  const config = join(dirname(file), "deno.json");
  // `.js` in the npm package
  const entry = fileURLToPath(new URL(`./entry${extname(import.meta.url)}`, import.meta.url));
  // Deno shares ports only with the flag
  return [execPath, "run", "-A", "--unstable-net", ...(existsSync(config) ? ["--config", config] : []), entry];
}

/** Starts this program once more. It writes to the output of this process. */
export function startChild(role: Role): ChildProcess {
  const [program, ...args] = ownCommand();
  const environment = { ...process.env, [roleVariable]: JSON.stringify(role) };
  return spawn(program, args, { env: environment, stdio: ["ignore", "inherit", "inherit"] });
}
