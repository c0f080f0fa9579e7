import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { repository } from "./source-files.ts";

/** How an agent ended, and what it printed. */
export interface AgentEnd {
  code: number | null;
  output: string;
}

const agentTimeMs = 55_000;

/** The program of an agent's package for this machine; undefined where it is not installed (`npm ci --prefix tests/agents`). */
export function findAgent(scope: string, name: string, program: string): string | undefined {
  const folder = `${name}-${process.platform}-${process.arch}`;
  const path = join(repository, "tests/agents/node_modules", scope, folder, program);
  return existsSync(path) ? path : undefined;
}

/** Runs an agent to its end, with nothing of the test's own environment but what programs need to run at all. */
export function runAgent(
  program: string,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<AgentEnd> {
  const { PATH = "" } = process.env;
  const child = spawn(program, args, { cwd, env: { PATH, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      output += text;
    });
  }
  const timer = setTimeout(() => child.kill("SIGKILL"), agentTimeMs);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, output });
    });
  });
}
