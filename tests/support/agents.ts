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

/** Milliseconds an agent may take. */
const agentTimeMs = 55_000;

/** A file below a folder of the repository; undefined where it is not installed. */
export function findInstalled(folder: string, ...path: readonly string[]): string | undefined {
  const file = join(repository, folder, ...path);
  return existsSync(file) ? file : undefined;
}

/** The program of an agent's package for this machine; undefined where it is not installed (`npm ci --prefix tests/agents`). */
export function findAgent(scope: string, name: string, program: string): string | undefined {
  return findInstalled("tests/agents/node_modules", scope, `${name}-${process.platform}-${process.arch}`, program);
}

/** Platform names in the folder of Codex's program. */
const codexSystems: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
};

/** The program of Codex; undefined where it is not installed. */
export function findCodex(): string | undefined {
  const system = codexSystems[`${process.platform}-${process.arch}`] ?? "";
  return findAgent("@openai", "codex", `vendor/${system}/bin/codex`);
}

/** Runs an agent to its end, with nothing of the test's own environment but what programs need to run at all. */
export function runAgent(
  program: string,
  args: readonly string[],
  { cwd, env, timeMs = agentTimeMs }: { cwd: string; env: Readonly<Record<string, string>>; timeMs?: number },
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
  const timer = setTimeout(() => child.kill("SIGKILL"), timeMs);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, output });
    });
  });
}
