import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { repository } from "./source-files.ts";

const folder = join(repository, "tests/agents/node_modules");

/** Why a test of an agent cannot run here; false where it can. To be given to `test` as `skip`. */
export function agentMissing(name: string): string | false {
  return existsSync(join(folder, name)) ? false : `${name} is not installed: npm ci --prefix tests/agents`;
}

/** What a program that ended has printed. */
export interface AgentRun {
  code: number | null;
  output: string;
}

/** Runs an agent's program to its end, at most two minutes, with an environment of its own. */
export function runAgent(
  program: string,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<AgentRun> {
  const { PATH = "" } = process.env;
  const child = spawn(join(folder, ".bin", program), args, {
    ...{ cwd, env: { PATH, NO_COLOR: "1", ...env }, timeout: 120_000, killSignal: "SIGKILL" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}
