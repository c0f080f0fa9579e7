import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { findTool } from "../scripts/lib.mjs";
import { createMasterKeyText } from "../src/auth/master-keys.ts";
import { staticAnswers } from "./scenarios.ts";

/** Where the project is. */
export const projectRoot: string = resolve(import.meta.dirname, "..");

/** Runtimes the gateway can be measured on. */
export const runtimes = ["bun", "deno", "node"] as const;
/** What can run the gateway's sources. */
export type Runtime = (typeof runtimes)[number];

/** A program the benchmark started. */
export interface Running {
  readonly pid: number;
  readonly port: number;
  /** What it wrote to its standard output and error. */
  output(): string;
  /** Asks it to end and waits. Returns whether it ended in order. */
  stop(): Promise<boolean>;
}

/** Keys of the gateway under test: open to anyone, and useless anywhere else. */
export const keys = {
  admin: "bench-fake-admin-key-0000000000",
  workspace: "bench-fake-workspace-key-0000000",
  provider: "sk-fake-bench-000000000000000000000000",
};

const children = new Set<ChildProcess>();
const folders = new Set<string>();
/** Longest a program may take to end after it was asked to. */
const stopLimitMs = 60_000;
const startLimitMs = 20_000;

/** Makes sure a child is ended with the benchmark. Returns what to call when it is over. */
export function trackChild(child: ChildProcess): () => void {
  children.add(child);
  const release = () => void children.delete(child);
  child.once("exit", release);
  return release;
}

/** A new folder that goes with the benchmark. */
export function createFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `gateway-bench-${name}-`));
  folders.add(folder);
  return folder;
}

/** Removes a folder made by `createFolder`. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

/** Ends every child still running and removes every folder. */
export function cleanUp(): void {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
  for (const folder of [...folders]) removeFolder(folder);
}

/** Runs a bench as a program: an error fails it, and a signal ends it. Nothing that it started is left behind. */
export async function runMain(main: () => Promise<void>): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      cleanUp();
      process.exit(1);
    });
  }
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  } finally {
    cleanUp();
  }
}

/** A port nobody listens on. */
export function findPort(): Promise<number> {
  return new Promise((resolvePort, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolvePort(port));
    });
  });
}

/** Waits this long. */
export const wait = (delayMs: number) => new Promise<void>((resume) => setTimeout(resume, delayMs));

function canConnect(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      answer(true);
    });
    socket.once("error", () => answer(false));
  });
}

/** How a program is started. */
export interface Command {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/** A program and the file its output goes to. */
export interface Spawned {
  child: ChildProcess;
  output(): string;
}

/** Starts a program with its output in a file of the folder `logs`. */
export function spawnLogged({ command, args, cwd, env }: Command, logs: string): Spawned {
  const file = join(logs, "output.log");
  const output = openSync(file, "a");
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", output, output] });
  closeSync(output);
  trackChild(child);
  return { child, output: () => readFileSync(file, "utf8") };
}

/** Asks a child to end; after a minute ends it. Returns whether it ended in order. */
export async function stopChild(child: ChildProcess): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null) return false;
  const ended = new Promise<void>((resume) => child.once("exit", () => resume()));
  const limit = setTimeout(() => child.kill("SIGKILL"), stopLimitMs);
  child.kill("SIGTERM");
  await ended;
  clearTimeout(limit);
  return child.signalCode !== "SIGKILL" && (child.exitCode === 0 || child.signalCode === "SIGTERM");
}

async function start(name: string, command: Command, port: number, logs: string): Promise<Running> {
  const { child, output } = spawnLogged(command, logs);
  const { promise: failed, reject } = Promise.withResolvers<never>();
  child.once("error", reject);
  const deadline = Date.now() + startLimitMs;
  const listening = async () => {
    while (!(await canConnect(port))) {
      if (child.exitCode !== null)
        throw new Error(`Cannot start ${name}: it ended with ${child.exitCode}\n${output()}`);
      if (Date.now() > deadline) throw new Error(`Cannot start ${name}: it does not listen\n${output()}`);
      await wait(10);
    }
  };
  await Promise.race([listening(), failed]);
  failed.catch(() => undefined);
  return { pid: child.pid ?? 0, port, output, stop: () => stopChild(child) };
}

/**
 * The program of a pinned tool.
 *
 * @throws {Error} When this platform has none.
 */
export function toolPath(name: Runtime): string {
  const path = findTool(name);
  if (path === undefined) throw new Error(`Cannot find ${name}: run npm install`);
  return path;
}

/** The environment every child starts from: nothing of the gateway's settings leaks in. */
function plainEnvironment(): Record<string, string> {
  const kept = ["PATH", "HOME", "TMPDIR", "LANG"];
  return Object.fromEntries(kept.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

function nginxConfig(folder: string, port: number): string {
  const quoted = (text: string) => `"${text.replace(/["\\]/g, "\\$&")}"`;
  const locations = staticAnswers.map(
    // "mirror" makes nginx read the request's body first; its static files answer POST with 405, which becomes 200
    ({ path, contentType }) => `    location = ${path} {
      mirror /bench-read-body;
      default_type ${contentType};
      error_page 405 =200 $uri;
    }`,
  );
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `  ${name}_temp_path temp/${name};`,
  );
  return `daemon off;
master_process off;
worker_processes 1;
pid nginx.pid;
error_log stderr error;
events { worker_connections 2048; }
http {
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 3600s;
  client_body_buffer_size 512k;
  client_max_body_size 16m;
${temporary.join("\n")}
  sendfile on;
  etag off;
  open_file_cache max=64 inactive=1h;
  open_file_cache_valid 1h;
  server {
    listen 127.0.0.1:${port} backlog=1024;
    root ${quoted(join(folder, "answers"))};
${locations.join("\n")}
    location = /bench-read-body { internal; return 204; }
  }
}
`;
}

function hasNginx(): boolean {
  return spawnSync("nginx", ["-v"], { stdio: "ignore" }).error === undefined;
}

/** Starts the static upstream: nginx where it is installed, else one on Bun. */
export async function startUpstream(): Promise<Running & { kind: "nginx" | "bun" }> {
  const folder = createFolder("upstream");
  const port = await findPort();
  const env = plainEnvironment();
  if (!hasNginx()) {
    console.error("nginx is not installed: a Bun upstream takes its place, which is slower (apt-get install nginx)");
    const args = [join(projectRoot, "bench/upstream.ts"), String(port)];
    return {
      ...(await start("upstream", { command: toolPath("bun"), args, cwd: folder, env }, port, folder)),
      kind: "bun",
    };
  }
  mkdirSync(join(folder, "temp"));
  for (const { path, body } of staticAnswers) {
    const file = join(folder, "answers", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, body);
  }
  writeFileSync(join(folder, "nginx.conf"), nginxConfig(folder, port));
  const args = ["-p", folder, "-c", "nginx.conf", "-e", "stderr"];
  return { ...(await start("nginx", { command: "nginx", args, cwd: folder, env }, port, folder)), kind: "nginx" };
}

/** Starts the upstream that writes its events one by one. */
export async function startEventUpstream(): Promise<Running> {
  const folder = createFolder("events");
  const port = await findPort();
  const args = [join(projectRoot, "bench/event-upstream.ts"), String(port)];
  const command = { command: toolPath("bun"), args, cwd: folder, env: plainEnvironment() };
  return start("event upstream", command, port, folder);
}

/**
 * Starts the upstream that answers agents.
 *
 * @param pace Pieces of text of an answer, and how many it writes a second; 0: as fast as possible.
 */
export async function startAgentUpstream(pace: { pieces: number; perSecond: number }): Promise<Running> {
  const folder = createFolder("agents");
  const port = await findPort();
  const args = [
    join(projectRoot, "bench/agent-upstream.ts"),
    String(port),
    String(pace.pieces),
    String(pace.perSecond),
  ];
  const command = { command: toolPath("bun"), args, cwd: folder, env: plainEnvironment() };
  return start("agent upstream", command, port, folder);
}

/** Starts the bare proxy. */
export async function startBareProxy(upstreamPort: number): Promise<Running> {
  const folder = createFolder("bare");
  const port = await findPort();
  const args = [join(projectRoot, "bench/bare-proxy.ts"), String(port), `http://127.0.0.1:${upstreamPort}`];
  return start("bare proxy", { command: toolPath("bun"), args, cwd: folder, env: plainEnvironment() }, port, folder);
}

/** One for the whole run: a second start needs the keys of the first. */
const masterKeys = createMasterKeyText();

/** What is started. */
interface GatewaySources {
  /** Where the sources of the gateway are, for Bun and Node. Default: this project. */
  readonly root?: string;
  /** A module that Bun runs before them. */
  readonly preload?: string;
}

/** How the gateway is started with its data in `folder`. */
export function gatewayCommand(
  runtime: Runtime | "binary",
  folder: string,
  port: number,
  { root = projectRoot, preload }: GatewaySources = {},
): Command {
  const env: Record<string, string> = {
    ...plainEnvironment(),
    PORT: String(port),
    BOOTSTRAP_ADMIN_KEY: keys.admin,
    BOOTSTRAP_WORKSPACE_KEY: keys.workspace,
    TRUSTED_CUSTOM_HOSTS: "127.0.0.1",
    DRAIN_SECONDS: "5",
  };
  const entry = join(root, "mod.ts");
  if (runtime === "binary") return { command: join(projectRoot, "dist/gateway"), args: [], cwd: folder, env };
  const command = toolPath(runtime);
  if (runtime === "bun") {
    const args = preload === undefined ? ["run", entry] : ["run", "--preload", preload, entry];
    return { command, args, cwd: folder, env };
  }
  if (runtime === "node") return { command, args: [entry], cwd: folder, env };
  // Deno reads its settings where it runs
  mkdirSync(join(folder, "data"), { recursive: true });
  env.DATABASE_URL = `file:${databaseFile(folder)}`;
  env.GATEWAY_MASTER_KEYS = masterKeys;
  const args = ["serve", "-A", "--port", String(port), "--host", "127.0.0.1", "mod.ts"];
  return { command, args, cwd: projectRoot, env };
}

/** Where the gateway started in `folder` keeps its rows. */
export function databaseFile(folder: string): string {
  return join(folder, "data/gateway.db");
}

/**
 * Starts the gateway in a new folder.
 *
 * @param env Variables besides those it always gets.
 */
export async function startGateway(
  runtime: Runtime,
  env: Readonly<Record<string, string>> = {},
  sources: GatewaySources = {},
): Promise<Running & { folder: string }> {
  const folder = createFolder("gateway");
  const port = await findPort();
  const command = gatewayCommand(runtime, folder, port, sources);
  const running = await start("gateway", { ...command, env: { ...command.env, ...env } }, port, folder);
  return { ...running, folder };
}
