import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { median } from "./measure.ts";
import {
  createFolder,
  findPort,
  gatewayCommand,
  keys,
  projectRoot,
  type Runtime,
  removeFolder,
  type Spawned,
  spawnLogged,
  stopChild,
  toolPath,
  wait,
} from "./processes.ts";

/** What can be started. */
export type Startable = Runtime | "binary";

/** Times from the start of the process to its first answer to a chat request, in milliseconds. */
export interface StartupTimes {
  medianMs: number;
  allMs: number[];
}

/** Start-up of one program. */
export interface StartupResult {
  program: Startable;
  /** In an empty folder: database, keys and master key are made. */
  first: StartupTimes;
  /** With the data of the start before. */
  again: StartupTimes;
}

const runs = 7;
const pollMs = 2;
const limitMs = 20_000;

const body = JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] });
const request = [
  "POST /v1/chat/completions HTTP/1.1",
  "host: 127.0.0.1",
  "content-type: application/json",
  `content-length: ${body.length}`,
  `x-gateway-api-key: ${keys.workspace}`,
  "x-gateway-provider: echo",
  "connection: close",
  "",
  body,
].join("\r\n");

/** Sends a chat request; the answer's first line, or undefined when nobody listens. */
function ask(port: number): Promise<string | undefined> {
  return new Promise((answer) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(request));
    socket.setTimeout(limitMs, () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (!text.includes('"chat.completion"')) return;
      answer(text.split("\r\n", 1)[0]);
      socket.destroy();
    });
    socket.on("error", () => answer(undefined));
    socket.on("close", () => answer(undefined));
  });
}

/** Starts the program and waits for its first answer. */
async function startOnce(program: Startable, folder: string): Promise<{ spawned: Spawned; elapsedMs: number }> {
  const port = await findPort();
  const command = gatewayCommand(program, folder, port);
  const startedAt = performance.now();
  const spawned = spawnLogged(command, folder);
  while (performance.now() - startedAt < limitMs) {
    const line = await ask(port);
    if (line?.startsWith("HTTP/1.1 200")) return { spawned, elapsedMs: performance.now() - startedAt };
    if (spawned.child.exitCode !== null) break;
    await wait(pollMs);
  }
  spawned.child.kill("SIGKILL");
  throw new Error(`Cannot start ${program}: no answer\n${spawned.output()}`);
}

function timesOf(allMs: number[]): StartupTimes {
  return { medianMs: median(allMs), allMs };
}

/** Starts a program seven times in a new folder, and each time once more with the data it made. */
export async function measureStartup(program: Startable): Promise<StartupResult> {
  const first: number[] = [];
  const again: number[] = [];
  for (let number = 0; number < runs; number++) {
    const folder = createFolder("start");
    for (const times of [first, again]) {
      const { spawned, elapsedMs } = await startOnce(program, folder);
      times.push(elapsedMs);
      await stopChild(spawned.child);
    }
    removeFolder(folder);
  }
  return { program, first: timesOf(first), again: timesOf(again) };
}

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Whether the binary is there and newer than every source it is made from. */
function isCurrent(file: string): boolean {
  if (!existsSync(file)) return false;
  const sources = readdirSync(join(projectRoot, "src"), { recursive: true, encoding: "utf8" });
  const inputs = ["mod.ts", "package-lock.json", "scripts/compile.ts", ...sources.map((name) => join("src", name))];
  return Math.max(...inputs.map((name) => changedAt(join(projectRoot, name)))) < changedAt(file);
}

/** Makes the binary where it is missing or old. Returns why it cannot be measured, or undefined. */
export function ensureBinary(): string | undefined {
  const file = join(projectRoot, "dist/gateway");
  if (isCurrent(file)) return undefined;
  console.error("Compiling dist/gateway ...");
  const options = { cwd: projectRoot, encoding: "utf8", timeout: 180_000 } as const;
  const result = spawnSync(toolPath("bun"), ["scripts/compile.ts"], options);
  if (result.status === 0 && existsSync(file)) return undefined;
  const message = result.error?.message ?? `${result.stdout}${result.stderr}`;
  return `npm run compile failed: ${message.trim().slice(0, 500)}`;
}
