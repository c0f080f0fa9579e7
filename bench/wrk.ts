import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { trackChild } from "./processes.ts";

/** A request `wrk` sends again and again. */
export interface WrkTarget {
  url: string;
  /** Connections it keeps busy. */
  connections: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** What one run of `wrk` found. */
export interface WrkResult {
  requests: number;
  seconds: number;
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  bytes: number;
  /** Answers with a status above 399. */
  badStatuses: number;
  /** Failed connects, reads and writes, and answers slower than `wrk` waits. */
  socketErrors: { connect: number; read: number; write: number; timeout: number };
}

const marker = "RESULT ";

const doneScript = `
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '${marker}{"requests":%d,"microseconds":%d,"bytes":%d,"p50":%d,"p99":%d,"max":%d,' ..
    '"status":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d}\\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99), latency.max,
    e.status, e.connect, e.read, e.write, e.timeout))
end
`;

const programMissing = (name: string) => spawnSync(name, ["-v"], { stdio: "ignore" }).error !== undefined;

/**
 * Installs `wrk` where it is missing and this process may.
 *
 * @throws {Error} Saying what to install.
 */
export function ensureWrk(): void {
  if (!programMissing("wrk")) return;
  const byRoot = process.getuid?.() === 0 && !programMissing("apt-get");
  if (!byRoot) throw new Error("Cannot find wrk: install it (Debian, Ubuntu: sudo apt-get install wrk)");
  console.error("Installing wrk (apt-get) ...");
  const options = {
    stdio: "ignore",
    timeout: 180_000,
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  } as const;
  const install = () => spawnSync("apt-get", ["install", "-y", "--no-install-recommends", "wrk"], options).status === 0;
  if (!install()) {
    spawnSync("apt-get", ["update"], options);
    install();
  }
  if (programMissing("wrk")) throw new Error("Cannot install wrk: apt-get install wrk failed");
}

/** A long bracket of Lua that the text does not close. */
function luaText(text: string): string {
  let level = "=";
  while (text.includes(`]${level}]`)) level += "=";
  // Lua drops the first line end after the opening bracket
  return `[${level}[\n${text}]${level}]`;
}

/** Writes the script of a request into a folder and returns its path. */
export function writeWrkScript(folder: string, name: string, { headers, body }: WrkTarget): string {
  const file = join(folder, `${name}.lua`);
  const lines = Object.entries(headers).map(([key, value]) => `wrk.headers[ ${luaText(key)} ] = ${luaText(value)}`);
  writeFileSync(file, `wrk.method = "POST"\n${lines.join("\n")}\nwrk.body = ${luaText(body)}\n${doneScript}`);
  return file;
}

function readResult(output: string): WrkResult {
  const line = output.split("\n").find((text) => text.startsWith(marker));
  if (line === undefined) throw new Error(`Cannot read what wrk printed:\n${output}`);
  // the script above wrote it
  const found = JSON.parse(line.slice(marker.length)) as Record<string, number>;
  const { requests = 0, microseconds = 1, bytes = 0, p50 = 0, p99 = 0, max = 0, status = 0 } = found;
  const { connect = 0, read = 0, write = 0, timeout = 0 } = found;
  const seconds = microseconds / 1_000_000;
  return {
    requests,
    seconds,
    requestsPerSecond: requests / seconds,
    bytes,
    p50Ms: p50 / 1_000,
    p99Ms: p99 / 1_000,
    maxMs: max / 1_000,
    badStatuses: status,
    socketErrors: { connect, read, write, timeout },
  };
}

/** Answers that were not what they should be. */
export function countFailures({ badStatuses, socketErrors }: WrkResult): number {
  const { connect, read, write, timeout } = socketErrors;
  return badStatuses + connect + read + write + timeout;
}

/** Runs `wrk` with one thread for whole seconds. */
export async function runWrk(target: WrkTarget, script: string, seconds: number): Promise<WrkResult> {
  const args = ["-t1", `-c${target.connections}`, `-d${seconds}s`, "--latency", "-s", script, target.url];
  const child = spawn("wrk", args, { stdio: ["ignore", "pipe", "pipe"] });
  const release = trackChild(child);
  const limit = setTimeout(() => child.kill("SIGKILL"), (seconds + 20) * 1_000);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", () => resolve());
    });
  } finally {
    clearTimeout(limit);
    release();
  }
  return readResult(output);
}
